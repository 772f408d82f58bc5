"""How far elementary functions are from their values, over all numbers of f32.

``python -m benchmarks.ulp`` tries all 2^32 numbers, or every so many with ``--stride``, on each
target that this machine runs, and prints the largest error in units in the last place with the
argument that has it. What is right is worked out in float64 by numpy and Python's `math`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import click
import numpy as np

import morello
from morello.language.evaluate import ARITHMETIC
from morello.spec.primitives import FUNCTION_ULPS

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
        found = sweep(function, targets, stride)
        if as_json:
            click.echo(json.dumps({"function": function, "stride": stride, "worst": found}))
        else:
            cells = [f"{ulps:.3f} at {argument:.9g}" for ulps, argument in found.values()]
            click.echo(f"| `{function}` | {' | '.join(cells)} |")


def sweep(function: str, targets: Sequence[str], stride: int) -> dict[str, tuple[float, float]]:
    """By target: the largest error, in ulp, and the argument that has it."""
    text = f"spec s() {{ input x: f32[{SIZE}]\n output y: f32[{SIZE}]\n y = {function}(x) }}"
    kernels = {target: morello.compile(text, target=target) for target in targets}
    worst = dict.fromkeys(targets, (0.0, 0.0))
    for x in numbers(stride):
        with np.errstate(all="ignore"):
            exact = np.asarray(ARITHMETIC[function](x.astype(np.float64)))
        for target, kernel in kernels.items():
            errors = ulps(np.asarray(kernel(x)), exact)
            at = int(np.argmax(errors))
            worst[target] = max(worst[target], (float(errors[at]), float(x[at])))
    return worst


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
    wrong = np.isnan(errors) | (np.isinf(exact) & (results != exact))
    return np.asarray(np.where(both, 0.0, np.where(wrong, np.inf, errors)))


if __name__ == "__main__":
    main()
