"""Compares results with the reference, within the bound of its running error analysis.

Integers must be equal, and so must what is only moved or converted: a conversion has one right
result. What is computed may be off by what rounding every operation makes of it, in any order of
summation and with any use of fused multiply-add (`morello.reference.errors`).

Infinities and NaN must be in the same places, with two exceptions. Where a value on the way may be
beyond the range of the type, some orders of summation overflow and others do not: either is
accepted. And a ``max`` or ``min`` reduction over a NaN may give anything, since that depends on the
order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from morello.errors import MorelloError
from morello.ir.dtypes import FLOATING_KINDS, DType
from morello.ir.numeric import Array
from morello.ir.operators import Operation
from morello.reference.bounded import Bounded, kinds
from morello.reference.composed import executable
from morello.reference.errors import Errors


class MismatchError(MorelloError):
    """A result is not what the reference says.

    Attributes:
        index: Where the worst element is.
        actual: Its value.
        expected: What it should be.
        bound: How far off it may be; 0 for integers.
    """

    def __init__(
        self,
        name: str,
        index: tuple[int, ...],
        values: tuple[float, float],
        bound: float,
        count: str,
    ) -> None:
        self.index, (self.actual, self.expected), self.bound = index, values, bound
        near = f", off by at most {bound:.3g}" if bound else " exactly"
        super().__init__(
            f"{name}{list(index)} is {self.actual!r}; expected {self.expected!r}{near} ({count})"
        )


def reference(
    operation: Operation,
    sizes: Sequence[int],
    inputs: Sequence[Array | Bounded],
    dtype: DType,
    old_output: Array | Bounded | None = None,
    *,
    flushes: bool = False,
) -> Bounded:
    """The result of an operation with its bound; other arguments as in `meaning.execute`.

    Inputs may have bounds themselves: the results of other operations. Arrays are exact.
    ``flushes``: subnormal numbers may have been taken for 0.
    """
    meaning = executable(operation, dtype, partial(Errors, flushes=flushes))
    result: Bounded = meaning.execute(sizes, inputs, old_output)
    return result


def check_close(
    actual: Array,
    expected: Bounded,
    *,
    name: str = "output",
    selection: Sequence[Array] | None = None,
) -> None:
    """Demand that an array is a result within its bound.

    Args:
        actual: The array.
        expected: What it should be.
        name: What it is called.
        selection: Along each axis the indices in the whole result, where these are some elements.

    Raises:
        MismatchError: It is not; the worst element is named.
        MorelloError: Its shape or dtype is wrong.
    """
    values = expected.rounded()
    if actual.shape != values.shape or actual.dtype != values.dtype:
        raise MorelloError(
            f"{name} is {actual.dtype} of shape {actual.shape}; "
            f"expected {values.dtype} of shape {values.shape}"
        )
    with np.errstate(all="ignore"):
        excess = _excess(actual, values, expected)
    wrong = int(np.count_nonzero(excess))
    if not wrong:
        return
    index = tuple(int(i) for i in np.unravel_index(np.argmax(excess), excess.shape))
    pair = _number(actual[index]), _number(values[index])
    count = f"{wrong} of {actual.size} elements are wrong"
    bound = float(np.broadcast_to(expected.error, values.shape)[index])
    place = index
    if selection is not None:
        place = tuple(int(along[i]) for along, i in zip(selection, index, strict=True))
    raise MismatchError(name, place, pair, bound, count)


def _number(element: np.generic) -> int | float:
    return float(element) if element.dtype.kind in FLOATING_KINDS else int(element)


def _excess(actual: Array, values: Array, expected: Bounded) -> Array:
    """How far off an element is, in multiples of its bound; 0 where it is right."""
    off = np.abs(actual.astype(np.float64) - expected.values.astype(np.float64))
    if not expected.dtype.floating:  # they wrap around
        off = np.minimum(off, 2.0 ** (8 * expected.dtype.bytes) - off)
    special = kinds(actual.astype(np.float64))
    same = (actual == values) | (np.isnan(actual) & np.isnan(values))
    inside = (off <= expected.error) | np.isinf(expected.error)
    right = same | np.where(special == 0, inside, special & expected.specials != 0)
    ratio = off / np.maximum(expected.error, np.finfo(np.float64).tiny)
    return np.asarray(np.where(right, 0.0, np.nan_to_num(ratio, nan=np.inf, posinf=np.inf)))
