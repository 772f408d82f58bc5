"""What is measured: sizes of matrix products, and how they are written on a command line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import exp, log
from random import Random

import click

ELEMENTS: Mapping[str, tuple[str, str, str]] = {
    "f32": ("f32", "f32", "f32"),
    "bf16": ("bf16", "bf16", "f32"),
    "f32bf16": ("f32", "bf16", "f32"),
    "u8s8": ("u8", "s8", "s32"),
}
"""Element types of A, B and C, by the name that they have together."""


@dataclass(frozen=True, slots=True)
class Case:
    """A product of an m x k by a k x n matrix. ``dtypes`` is one of `ELEMENTS`."""

    m: int
    k: int
    n: int
    dtypes: str = "f32"

    def __str__(self) -> str:
        sizes = f"{self.m}x{self.k}x{self.n}"
        return sizes if self.dtypes == "f32" else f"{self.dtypes}:{sizes}"

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
  input  a: {a}[M, K]
  {role} b: {b}[K, N]
  output c: {c}[M, N]
  c = matmul(a, b)
}}
"""

CASES = (
    Case(64, 64, 64),
    Case(128, 128, 128),
    Case(256, 256, 256),
    Case(512, 512, 512),
    Case(1024, 1024, 1024),
    Case(2048, 2048, 2048),
    Case(100, 100, 100),
    Case(401, 401, 401),
    Case(1000, 1000, 1000),
    Case(128, 768, 3072),
    Case(6, 4096, 16),
    Case(1, 2048, 16384),
    Case(1, 2048, 16384, "bf16"),
    Case(512, 512, 512, "bf16"),
    Case(1024, 1024, 1024, "bf16"),
    Case(512, 512, 512, "u8s8"),
    Case(1024, 1024, 1024, "u8s8"),
)
"""Powers of two, round sizes that are none, a prime, a layer of a network, a product that is nearly
all reduction, and a vector times a matrix that no cache holds."""


_SMALL = (1, 2, 3, 4, 5, 7, 8, 12, 16, 24)
_LONG, _NARROW = (1000, 4000), range(2, 9)


def narrow(count: int, seed: int) -> tuple[Case, ...]:
    """So many products that are small in every dimension, or in all but one.

    They are drawn without replacement from the 1,294 whose sizes all are of `_SMALL`, or one, in
    any position, of `_LONG` and two of `_NARROW`: half of either kind.
    """
    small = list(product(_SMALL, repeat=3))
    long = [
        sizes
        for one in product(_LONG, _NARROW, _NARROW)
        for sizes in (one, (one[1], one[0], one[2]), one[::-1])
    ]
    drawn = Random(seed)
    chosen = [*drawn.sample(small, min(count // 2, len(small)))]
    chosen += drawn.sample(long, min(count - len(chosen), len(long)))
    return tuple(Case(m, k, n) for m, k, n in sorted(chosen))


WORK = (3e4, 3e8)
"""Multiplications of a product that is `drawn`."""


def drawn(count: int, seed: int) -> tuple[Case, ...]:
    """So many products that nobody chose: the logarithms of sizes are uniform.

    Every other one is of f32, the rest of the other types that libraries multiply.
    """
    numbers, types = Random(seed), ("f32", "bf16", "f32", "u8s8")
    cases: list[Case] = []
    while len(cases) < count:
        m, k, n = (round(exp(numbers.uniform(0, log(most)))) for most in (512, 4096, 4096))
        if WORK[0] <= m * k * n <= WORK[1]:
            cases.append(Case(m, k, n, types[len(cases) % len(types)]))
    return tuple(cases)


def spec_text(target: str, threads: int, dtypes: str = "f32", role: str = "input") -> str:
    """The spec whose parameters a case gives. ``role`` of B: ``weight`` is packed ahead."""
    types = dict(zip("abc", ELEMENTS[dtypes], strict=True))
    return SPEC.format(target=target, threads=threads, role=role, **types)


def parse_cases(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[Case, ...]:
    """Cases of an option's text: ``64,100x200x300,bf16:512``.

    Each is M x K x N, or one size for all three; before it may stand what `ELEMENTS` has.

    Raises:
        click.BadParameter: Some part of it is neither.
    """
    return tuple(_case(text.strip()) for text in value.split(",")) if value else ()


def _case(text: str) -> Case:
    match = re.fullmatch(r"(?:(\w+):)?(\d+)(?:x(\d+)x(\d+))?", text, re.ASCII)
    if not match or "0" in match.groups():
        raise click.BadParameter(f"'{text}' is neither MxKxN nor one size")
    dtypes, m, k, n = match.groups()
    if dtypes is not None and dtypes not in ELEMENTS:
        raise click.BadParameter(f"'{dtypes}' is none of: {', '.join(ELEMENTS)}")
    return Case(int(m), int(k or m), int(n or m), dtypes or "f32")


sizes_option = click.option(
    "--sizes", callback=parse_cases, metavar="MxKxN,...", help="Default: those of the table."
)
