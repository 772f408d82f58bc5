"""The table of operators, and how a use of one is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from string import ascii_letters, ascii_uppercase
from typing import Any

import numpy as np

from .bounds import Floats, Integers, Value
from .formats import FORMATS, Array, rounded

V = Any
"""A `Value`: operators take floating tensors and those of integers alike."""

Function = Callable[..., V]

ORACLE: dict[str, Function] = {}
"""What each operator computes, of operands in the element type of its result."""


def operator(function: Function) -> Function:
    """Enter a function as the operator of its name; ``_`` at the end hides no builtin."""
    ORACLE[function.__name__.rstrip("_")] = function
    return function


def result_of(
    name: str,
    operands: Sequence[Value],
    scalars: Mapping[str, float],
    dtype: str,
    shape: tuple[int, ...],
) -> Value:
    """What a use of an operator gives, in an element type.

    Args:
        name: The operator.
        operands: Its operands, each in its own type.
        scalars: By name.
        dtype: Of the result; operands are converted to it first.
        shape: Of the result, for an operator without operands.

    Raises:
        ValueError: The operands do not fit together.
    """
    taken = [operand.converted(dtype) for operand in operands]
    if name == "fill":
        return filled(scalars["value"], dtype, shape)
    result: Value = ORACLE[name](*taken, **scalars)
    return result.converted(dtype)


def filled(value: float, dtype: str, shape: tuple[int, ...]) -> Value:
    """One number everywhere."""
    one: Value
    if dtype in FORMATS:
        one = Floats.exactly(rounded(np.asarray(float(value)), FORMATS[dtype]))
    else:
        one = Integers.exactly(np.asarray(int(value)), dtype)
    return one.moved(lambda v: np.broadcast_to(v, shape))


def like(x: V, value: float) -> V:
    """A scalar in the kind of a tensor."""
    if isinstance(x, Integers):
        return Integers.exactly(np.asarray(int(value)), x.dtype)
    return Floats.number(value)


def added(x: V, z: V) -> V:
    """The sum, rounded."""
    return x.added(z).widened()


def less(x: V, z: V) -> V:
    """The difference, rounded."""
    return added(x, z.negated())


def times(x: V, z: V) -> V:
    """The product, rounded."""
    return x.times(z).widened()


def over(x: V, z: V, units: float = 1.0) -> V:
    """The quotient, or the product with 1 / z, both rounded."""
    return x.over(z).widened(units)


def rows(x: V) -> V:
    """One number for each row, beside all elements of the row."""
    return x.moved(lambda v: v[..., np.newaxis])


def contracted(form: str, x: V, z: V, roundings: int = 0) -> V:
    """Sums of products, in the notation of `numpy.einsum`; ``...`` may lead everywhere."""
    operands, out = form.split("->")
    left, right = operands.split(",")
    if "..." in form:
        batch = ascii_uppercase[: len(x.shape) - len(left.replace("...", ""))]
        left, right, out = (part.replace("...", batch) for part in (left, right, out))
    _check_sizes((left, x.shape), (right, z.shape))
    summed = "".join(c for c in ascii_letters if c in left + right and c not in out)
    letters = out + summed
    product = _aligned(x, left, letters).times(_aligned(z, right, letters))
    return product.total(range(len(out), len(letters)), 2 + roundings)


def _check_sizes(*operands: tuple[str, tuple[int, ...]]) -> None:
    sizes: dict[str, int] = {}
    for letters, shape in operands:
        if len(letters) != len(shape):
            raise ValueError(f"{letters} has not {len(shape)} dimensions")
        for letter, size in zip(letters, shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise ValueError(f"sizes of {letter} differ")


def _aligned(x: V, letters: str, wanted: str) -> V:
    order = [letters.index(c) for c in wanted if c in letters]

    def move(values: Array) -> Array:
        moved = values.transpose(order)
        sizes = iter(moved.shape)
        return moved.reshape([next(sizes) if c in letters else 1 for c in wanted])

    return x.moved(move)


def windows(
    x: V,
    axes: tuple[int, ...],
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
) -> V:
    """Windows along dimensions: these have the positions, and those at the end the windows.

    Raises:
        ValueError: Windows do not fit, or leave a rest.
    """
    reach = tuple((size - 1) * by + 1 for size, by in zip(sizes, dilations, strict=True))
    for axis, length, stride in zip(axes, reach, strides, strict=True):
        if x.shape[axis] < length or (x.shape[axis] - length) % stride:
            raise ValueError("windows leave a rest")

    def move(values: Array) -> Array:
        found = np.lib.stride_tricks.sliding_window_view(values, reach, axis=axes)
        chosen = [slice(None)] * found.ndim
        for axis, stride in zip(axes, strides, strict=True):
            chosen[axis] = slice(None, None, stride)
        for axis, by in enumerate(dilations, values.ndim):
            chosen[axis] = slice(None, None, by)
        return found[tuple(chosen)]

    return x.moved(move)
