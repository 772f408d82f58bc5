"""How far elementary functions are from their values, over all numbers of f32.

``python -m benchmarks.ulp`` tries all 2^32 numbers, or every so many with ``--stride``, on each
target that this machine runs, and prints the largest error in units in the last place with the
argument that has it. What is right is worked out in float64 by numpy and Python's `math`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cache
from typing import Any

import click
import numpy as np

import morello
from morello.ir.primitives import FUNCTION_ULPS
from morello.language.evaluate import ARITHMETIC

Array = np.ndarray[Any, np.dtype[Any]]

SIZE = 1 << 20
"""Numbers in one call."""

TARGETS = ("x86.scalar", "x86.avx2")

_BEYOND = 2.0**128
"""What infinity counts as, where the value has no number of f32 beyond it."""


@click.command(help=__doc__)
@click.argument("functions", nargs=-1, type=click.Choice(list(FUNCTION_ULPS)))
@click.option("--target", "targets", multiple=True, default=TARGETS, show_default=True)
@click.option("--stride", type=click.IntRange(1, 1 << 30), default=1, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, no table.")
def main(functions: Sequence[str], targets: Sequence[str], stride: int, as_json: bool) -> None:
    """Print a line for each function."""
    if not as_json:
        click.echo(f"| Function | {' | '.join(targets)} |\n|{' --- |' * (len(targets) + 1)}")
    for function in functions or FUNCTION_ULPS:
        kernels = {target: compiled(function, target) for target in targets}
        found = worst(function, kernels, numbers(stride))
        if as_json:
            errors = {target: astuple(error) for target, error in found.items()}
            click.echo(json.dumps({"function": function, "stride": stride, "worst": errors}))
        else:
            cells = [f"{error.ulps:.3f} at {error.argument:.9g}" for error in found.values()]
            click.echo(f"| `{function}` | {' | '.join(cells)} |")


@dataclass(frozen=True, slots=True)
class Worst:
    """The largest error, in ulp, and the argument that has it."""

    ulps: float
    argument: float


@cache
def compiled(function: str, target: str) -> morello.Kernel:
    """The operator of that name, for `SIZE` numbers."""
    return morello.compile(spec_of(function), target=target)


def spec_of(function: str) -> str:
    """The operator of that name, as a spec."""
    return f"spec s() {{ input x: f32[{SIZE}]\n output y: f32[{SIZE}]\n y = {function}(x) }}"


def worst(
    function: str, kernels: Mapping[str, morello.Kernel], arguments: Iterable[Array]
) -> dict[str, Worst]:
    """The largest error of each of the function's kernels, in parts of at most `SIZE`."""
    found = dict.fromkeys(kernels, Worst(0.0, 0.0))
    for part in arguments:
        x = np.resize(part, SIZE).astype(np.float32)
        exact = values(function, x)
        for target, kernel in kernels.items():
            errors = ulps(kernel(x), exact)
            at = int(np.argmax(errors))
            if errors[at] > found[target].ulps:
                found[target] = Worst(float(errors[at]), float(x[at]))
    return found


def values(function: str, arguments: Array) -> Array:
    """What the function is, in double precision."""
    with np.errstate(all="ignore"):
        return np.asarray(ARITHMETIC[function](arguments.astype(np.float64)))


def numbers(stride: int) -> Iterator[Array]:
    """Every so many of all numbers of f32, by their bits, in parts of `SIZE`."""
    for start in range(0, 1 << 32, SIZE * stride):
        bits = start + stride * np.arange(SIZE, dtype=np.uint64)
        yield bits.astype(np.uint32).view(np.float32)


def ulps(results: Array, exact: Array) -> Array:
    """Errors of results; infinite where one is NaN or infinite and should not be, or vice versa."""
    with np.errstate(all="ignore"):
        wanted, found = (np.clip(a.astype(np.float64), -_BEYOND, _BEYOND) for a in (exact, results))
        exponents = np.frexp(np.abs(wanted))[1] - 1
        spacing = np.ldexp(1.0, np.clip(exponents, -126, 127) - 23)
        errors = np.abs(found - wanted) / np.where(wanted == 0, 2.0**-149, spacing)
    both = np.isnan(exact) & np.isnan(results)
    # An infinite value is no overflow: only the same infinity will do.
    wrong = np.isnan(errors) | (np.isinf(exact) & (results != exact))
    return np.asarray(np.where(both, 0.0, np.where(wrong, np.inf, errors)))


if __name__ == "__main__":
    main()
