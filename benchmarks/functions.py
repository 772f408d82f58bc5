"""Cycles that functions of a target take, for the coefficients in its files.

``python -m benchmarks.functions`` compiles each operator that is one function for a target, for
numbers that L1 holds, and prints the cycles of one register of them beyond those of a copy. After
that, the cycles of one register's conversion between element types, with its load and its store.
"""

from __future__ import annotations

from statistics import median, quantiles

import click
import numpy as np

import morello
from morello.calibration.measuring import chain, cycles_by_turns
from morello.ir.primitives import FUNCTION_ULPS
from morello.runtime.timing import contender

SIZE = 2048
"""Numbers in one call: 8 KiB of them, and as much of results."""

ROUNDS = 41
COPY = "copy"
ROUNDINGS = ("floor", "round")
TYPES = ("f32", "s32", "bf16", "u8", "s8")


@click.command(help=__doc__)
@click.option("--target", default="native", show_default=True)
def main(target: str) -> None:
    """Print a line for each function: the median, and half of the runs."""
    kernels = {name: _kernel(name, target) for name in (COPY, *FUNCTION_ULPS, *ROUNDINGS)}
    x = np.random.default_rng(0).uniform(0.01, 4, SIZE).astype(np.float32)  # all have a logarithm
    programs = {name: contender(k.function, [x, np.empty_like(x)]) for name, k in kernels.items()}
    runs = cycles_by_turns(programs, chain(), ROUNDS)
    lanes = _lanes(kernels[COPY])
    copy = median(runs.pop(COPY))
    click.echo(f"copy: {copy * lanes / SIZE:.2f} cycles for {lanes} numbers; beyond that:")
    for name, cycles in runs.items():
        low, middle, high = quantiles(((c - copy) * lanes / SIZE for c in cycles), n=4)
        click.echo(f"{name}: {middle:.2f} ({low:.2f} to {high:.2f})")

    _conversions(target)


def _conversions(target: str) -> None:
    pairs = [(a, b) for a in TYPES for b in TYPES if a != b]
    kernels = {f"{b} of {a}": _kernel(COPY, target, a, b) for a, b in pairs}
    programs = {n: contender(k.function, k.random_arguments()) for n, k in kernels.items()}
    lanes = _lanes(next(iter(kernels.values())))
    for name, cycles in cycles_by_turns(programs, chain(), ROUNDS).items():
        low, middle, high = quantiles((c * lanes / SIZE for c in cycles), n=4)
        click.echo(f"{name}: {middle:.2f} ({low:.2f} to {high:.2f})")


def _lanes(kernel: morello.Kernel) -> int:
    """Numbers of four bytes in a register of the kernel's target."""
    return max(w for level in kernel.program.target.levels for w in level.vectors) // 4


def _kernel(operator: str, target: str, given: str = "f32", wanted: str = "f32") -> morello.Kernel:
    text = (
        f"spec s() {{ input x: {given}[{SIZE}]\n output y: {wanted}[{SIZE}]\n y = {operator}(x) }}"
    )
    return morello.compile(text, target=target)


if __name__ == "__main__":
    main()
