"""What is measured: sizes of matrix products, and how they are written on a command line."""

from __future__ import annotations

from dataclasses import dataclass

import click


@dataclass(frozen=True, slots=True)
class Case:
    """An f32 product of an m x k by a k x n matrix."""

    m: int
    k: int
    n: int

    def __str__(self) -> str:
        return f"{self.m}x{self.k}x{self.n}"

    @property
    def flops(self) -> int:
        """Additions and multiplications."""
        return 2 * self.m * self.k * self.n

    @property
    def defines(self) -> dict[str, int]:
        """Parameters of `SPEC`."""
        return {"M": self.m, "K": self.k, "N": self.n}


SPEC = """target {target}

spec matmul(M, K, N) threads {threads} {{
  input  a: f32[M, K]
  input  b: f32[K, N]
  output c: f32[M, N]
  c = matmul(a, b)
}}
"""

CASES = (
    Case(64, 64, 64),
    Case(128, 128, 128),
    Case(256, 256, 256),
    Case(512, 512, 512),
    Case(1024, 1024, 1024),
    Case(100, 100, 100),
    Case(401, 401, 401),
    Case(1, 1000, 1000),
    Case(1, 1024, 1024),
    Case(37, 53, 71),
    Case(7, 1, 3),
    Case(128, 768, 3072),
)
"""Powers of two, a round size that is none, a prime, vectors times matrices, remainders everywhere,
next to nothing, and a layer of a network."""


def spec_text(target: str, threads: int) -> str:
    """The spec whose parameters a case gives."""
    return SPEC.format(target=target, threads=threads)


def parse_cases(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[Case, ...]:
    """Cases of an option's text: ``64,100x200x300`` is M x K x N, or one size for all three.

    Raises:
        click.BadParameter: Some part of it is neither.
    """
    return tuple(_case(text.strip()) for text in value.split(",")) if value else ()


def _case(text: str) -> Case:
    numbers = text.split("x")
    if len(numbers) not in (1, 3) or not all(n.isdecimal() and int(n) for n in numbers):
        raise click.BadParameter(f"'{text}' is neither MxKxN nor one size")
    m, k, n = [int(number) for number in numbers] * (3 // len(numbers))
    return Case(m, k, n)


sizes_option = click.option(
    "--sizes", callback=parse_cases, metavar="MxKxN,...", help="Default: those of the table."
)
