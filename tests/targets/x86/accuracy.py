"""How far functions of f32 are from their values, in units in the last place.

``python -m tests.targets.x86.accuracy x86.avx512 exp`` tries all 2^32 numbers, in some minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import morello
from morello.language.evaluate import ARITHMETIC

Array = np.ndarray[Any, np.dtype[Any]]

SIZE = 1 << 20
"""Numbers in one call."""

BEYOND = 2.0**128
"""What infinity counts as, where the value has no number of f32 beyond it."""


@dataclass(frozen=True, slots=True)
class Worst:
    """The largest error, in ulp, and the argument that has it."""

    ulps: float
    argument: float


@cache
def compiled(function: str, target: str) -> morello.Kernel:
    """The operator of that name, for `SIZE` numbers."""
    text = f"spec s() {{ input x: f32[{SIZE}]\n output y: f32[{SIZE}]\n y = {function}(x) }}"
    return morello.compile(text, target=target)


def worst(function: str, targets: Sequence[str], arguments: Iterable[Array]) -> dict[str, Worst]:
    """The largest error on each target for arguments in parts of at most `SIZE`."""
    found = dict.fromkeys(targets, Worst(0.0, 0.0))
    for part in arguments:
        x = np.resize(part, SIZE).astype(np.float32)
        exact = values(function, x)
        for target in targets:
            errors = ulps(compiled(function, target)(x), exact)
            at = int(np.argmax(errors))
            if errors[at] > found[target].ulps:
                found[target] = Worst(float(errors[at]), float(x[at]))
    return found


def values(function: str, arguments: Array) -> Array:
    """What the function is, in double precision."""
    with np.errstate(all="ignore"):
        return np.asarray(ARITHMETIC[function](arguments.astype(np.float64)))


def ulps(results: Array, exact: Array) -> Array:
    """Errors of results; infinite where one is NaN and should not be, or the other way round."""
    with np.errstate(all="ignore"):
        wanted, found = (np.clip(a.astype(np.float64), -BEYOND, BEYOND) for a in (exact, results))
        exponents = np.frexp(np.abs(wanted))[1] - 1
        spacing = np.ldexp(1.0, np.clip(exponents, -126, 127) - 23)
        errors = np.abs(found - wanted) / np.where(wanted == 0, 2.0**-149, spacing)
    both = np.isnan(exact) & np.isnan(results)
    # An infinite value is no overflow: only the same infinity will do.
    wrong = np.isnan(errors) | (np.isinf(exact) & (results != exact))
    return np.asarray(np.where(both, 0.0, np.where(wrong, np.inf, errors)))


def every_number() -> Iterator[Array]:
    """All floating-point numbers, infinities and NaN, by their bits."""
    for start in range(0, 1 << 32, SIZE):
        yield np.arange(start, start + SIZE, dtype=np.uint32).view(np.float32)


def main(target: str, function: str) -> None:
    """Try all numbers."""
    found = worst(function, [target], every_number())[target]
    print(f"{function} on {target}: {found.ulps:.4f} ulp at {found.argument.hex()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
