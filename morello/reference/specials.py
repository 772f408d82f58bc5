"""What becomes of infinities and NaN that may arise: every combination is tried.

Only for elements at which there is one, or may be; they are few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np

from morello.ir.numeric import Array
from morello.reference.bounded import NAN, NEGATIVE, NONE, OUTWARD, POSITIVE, Bounded, kinds

SPECIAL = ((POSITIVE, np.inf), (NEGATIVE, -np.inf), (NAN, np.nan))


def outcomes(
    function: Callable[..., Array],
    operands: Sequence[Bounded],
    values: Array,
    error: Array,
    largest: float,
    *,
    undefined: Array,
) -> tuple[Array, Array]:
    """The error of a result, and the special values that it may be besides the exact ones.

    Args:
        function: What is computed. Between 0 and the ends of an operand's interval it only rises
            or only falls.
        operands: Of what.
        values: The exact results.
        error: How far off they are for operands that are numbers; anything where that is not known.
        largest: The largest finite number.
        undefined: Where operands may be numbers that the function is not defined for.
    """
    places = undefined | ~(np.isfinite(values) & np.isfinite(error))
    for operand in operands:
        if operand.specials is not NONE:
            places = places | (operand.specials != 0)
    if not places.any():
        return error, NONE
    exact = np.asarray(values)[places]
    known = np.broadcast_to(error, places.shape)[places]
    found = np.where(np.isnan(known) | ~np.isfinite(exact), 0.0, known)
    also = np.zeros(exact.shape, np.uint8)
    for possible, arguments in _combinations(operands, places, largest):
        result = function(*arguments)
        off = np.abs(result - exact) * OUTWARD
        off = np.where(possible & np.isfinite(result), np.where(np.isnan(off), np.inf, off), 0.0)
        found = np.maximum(found, off)
        also |= np.where(possible, kinds(result), NONE)
    full = np.array(np.broadcast_to(error, places.shape))
    specials = np.zeros(places.shape, np.uint8)
    full[places], specials[places] = found, also & ~kinds(exact)
    return full, specials


def decided(
    condition: Callable[[Array, Array], Array],
    operands: Sequence[Bounded],
    value: Array,
    certain: Array,
    largest: float,
) -> Array:
    """Where a condition holds or not whatever its operands are.

    ``value``: whether it does for the exact ones; ``certain``: the answer for numbers.
    """
    places = np.broadcast_to(operands[0].specials | operands[1].specials != 0, value.shape)
    if not places.any():
        return certain
    exact = np.asarray(value)[places]
    same = np.broadcast_to(certain, places.shape)[places]
    for possible, arguments in _combinations(operands, places, largest):
        same = same & (~possible | (condition(*arguments) == exact))
    full = np.array(np.broadcast_to(certain, places.shape))
    full[places] = same
    return full


def _combinations(
    operands: Sequence[Bounded], places: Array, largest: float
) -> Iterator[tuple[Array, list[Array]]]:
    """Values of all operands at these places of the result, and where they are possible."""
    chosen = [list(_candidates(_at(operand, places), largest)) for operand in operands]
    for combination in product(*chosen):
        possible: Array = np.logical_and.reduce([where for where, _ in combination])
        if possible.any():
            yield possible, [value for _, value in combination]


def _at(operand: Bounded, places: Array) -> Bounded:
    """What the operand is at some places of the result, to which it broadcasts."""

    def taken(part: Array) -> Array:
        found: Array = np.broadcast_to(part, places.shape)[places]
        return found

    if operand.exact:
        return Bounded(taken(operand.values), operand.error, operand.specials, operand.dtype)
    values, error, specials = map(taken, (operand.values, operand.error, operand.specials))
    return Bounded(values, error, specials, operand.dtype)


def _candidates(operand: Bounded, largest: float) -> Iterator[tuple[Array, Array]]:
    """Values that an operand may have, and where: the ends of what it may be, and what is special.

    Of an operand that is not exact, the sign of 0 is not known.
    """
    everywhere = np.ones(operand.shape, np.bool_)
    yield everywhere, operand.values
    if operand.exact:
        return
    unknown = np.isinf(operand.error)
    low, high = operand.interval()
    low, high = np.where(unknown, -largest, low), np.where(unknown, largest, high)
    yield everywhere, low
    yield everywhere, high
    around = (low <= 0) & (high >= 0)
    for zero in (0.0, -0.0):
        yield around, np.full(operand.shape, zero)
    for bit, value in SPECIAL:
        yield operand.specials & bit != 0, np.full(operand.shape, value)
