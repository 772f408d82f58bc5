"""Sizes, scalars, element types and shapes of a spec, from Python's and numpy's values."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from morello.errors import UsageError
from morello.ir.dtypes import DTYPES
from morello.ir.layout import Order, row_major, strided
from morello.ir.numeric import Array
from morello.language import ast
from morello.language.signed_zero import is_negative_zero
from morello.language.source import Source, Span
from morello.language.unparse import unparse

NO_PLACE = Span(Source("", ""), 0, 0)
"""The span of what has not been written yet."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Size(Struct, frozen=True, eq=False):
    """A named size of a spec, or what is computed from some: ``M``, ``M + 1``, ``S // 16``.

    It has a value when the spec is compiled. ``+ - * / // %`` work as on numbers, and as in a
    ``.mspec`` file; a size of a tensor has to come out as a whole number.
    """

    expr: ast.Expr

    __array_ufunc__ = None  # numpy's numbers leave arithmetic to this class

    def __add__(self, other: Scalar) -> Size:
        return _binary("+", self, other)

    def __radd__(self, other: Scalar) -> Size:
        return _binary("+", other, self)

    def __sub__(self, other: Scalar) -> Size:
        return _binary("-", self, other)

    def __rsub__(self, other: Scalar) -> Size:
        return _binary("-", other, self)

    def __mul__(self, other: Scalar) -> Size:
        return _binary("*", self, other)

    def __rmul__(self, other: Scalar) -> Size:
        return _binary("*", other, self)

    def __truediv__(self, other: Scalar) -> Size:
        return _binary("/", self, other)

    def __rtruediv__(self, other: Scalar) -> Size:
        return _binary("/", other, self)

    def __floordiv__(self, other: Scalar) -> Size:
        return _binary("//", self, other)

    def __rfloordiv__(self, other: Scalar) -> Size:
        return _binary("//", other, self)

    def __mod__(self, other: Scalar) -> Size:
        return _binary("%", self, other)

    def __rmod__(self, other: Scalar) -> Size:
        return _binary("%", other, self)

    def __neg__(self) -> Size:
        return Size(ast.Unary("-", self.expr, span=NO_PLACE))

    def __str__(self) -> str:
        return unparse(self.expr)

    def __repr__(self) -> str:
        return f"<size {self}>"


Extent = int | np.integer | Size
"""A size of a tensor, in elements."""

Scalar = float | np.integer | np.floating | Size
"""The value of an operator's scalar. Python's whole numbers are floats too, to a type checker."""

DTypeLike = str | np.dtype[np.generic] | type[object]
"""An element type: ``"f32"``, or what numpy calls it: ``np.float32``, ``"float32"``."""

Shape = Extent | Sequence[Extent]
"""Sizes; that of a vector may stand alone."""


def _binary(symbol: str, left: Scalar, right: Scalar) -> Size:
    nodes = scalar(left, f"what '{symbol}' takes"), scalar(right, f"what '{symbol}' takes")
    return Size(ast.Binary(symbol, *nodes, span=NO_PLACE))


def scalar(value: object, what: str) -> ast.Expr:
    """The expression of a number; ``what`` it is, for the message.

    Raises:
        UsageError: It is none, or not finite.
    """
    if isinstance(value, Size):
        return value.expr
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        raise UsageError(
            f"{what} is {value!r} ({type(value).__name__}); expected a number",
            help="pass an int, a float, or a size of the spec",
        )
    own = value.item() if isinstance(value, np.number) else value
    if isinstance(own, complex) or not math.isfinite(own):
        raise UsageError(f"{what} is {value!r}; expected a finite number")
    if own < 0 or is_negative_zero(own):
        return ast.Unary("-", ast.Number(-own, span=NO_PLACE), span=NO_PLACE)
    return ast.Number(own, span=NO_PLACE)


def extent(value: object, what: str) -> ast.Expr:
    """The expression of a size.

    Raises:
        UsageError: It is neither a whole number nor made of the spec's sizes.
    """
    if isinstance(value, Size):
        return value.expr
    advice = "pass an int, or a size of the spec: spec.size('M', 512)"
    return scalar(whole(value, what, advice), what)


def whole(value: object, what: str, advice: str = "pass an int") -> int:
    """A whole number.

    Raises:
        UsageError: It is none.
    """
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    raise UsageError(
        f"{what} is {value!r} ({type(value).__name__}); expected a whole number", help=advice
    )


def whole_numbers(values: object, what: str) -> tuple[int, ...]:
    """Several whole numbers.

    Raises:
        UsageError: They are not.
    """
    if isinstance(values, Sequence) and not isinstance(values, str):
        return tuple(whole(value, f"part {i} of {what}") for i, value in enumerate(values, start=1))
    raise UsageError(
        f"{what} is {values!r}; expected the dimensions, the slowest first",
        help="such as (1, 0): the first dimension is the fastest",
    )


def extents(shape: Shape, name: str, what: str = "size") -> tuple[ast.Expr, ...]:
    """The expressions of a tensor's sizes or strides.

    Raises:
        UsageError: One of them is no size.
    """
    sizes = shape if isinstance(shape, Sequence) and not isinstance(shape, str) else (shape,)
    return tuple(extent(s, f"{what} {i} of '{name}'") for i, s in enumerate(sizes, start=1))


def identifier(name: object, what: str) -> str:
    """A name as the language has them; ``what`` it is of, for the message.

    Raises:
        UsageError: It is none.
    """
    if isinstance(name, str) and _NAME.fullmatch(name):
        return str(name)
    raise UsageError(
        f"{what} is {name!r}; expected a name",
        help="a name is letters, digits and underscores, and begins with no digit",
    )


def dtype_name(dtype: DTypeLike) -> str:
    """What the language calls an element type.

    Raises:
        UsageError: It has none of this kind.
    """
    if isinstance(dtype, str) and dtype in DTYPES:
        return dtype
    try:
        wanted = dtype if isinstance(dtype, str) else str(np.dtype(dtype))
    except TypeError:
        wanted = repr(dtype)
    names = {str(known.numpy): name for name, known in DTYPES.items()}
    if wanted in names:
        return names[wanted]
    listed = ", ".join(f"{own} ({theirs})" for theirs, own in names.items())
    raise UsageError(f"there is no element type '{wanted}'", help=f"known: {listed}")


def layout_of(array: Array, name: str) -> tuple[Order | None, Order | None]:
    """The order of the dimensions of an array, or its strides; neither for C's order.

    Raises:
        UsageError: Elements are not next to each other along any dimension, or repeated.
    """
    if array.flags.c_contiguous:
        return None, None
    layout = strided([n // array.itemsize for n in array.strides], array.shape)
    if layout is None or any(n % array.itemsize for n in array.strides):
        raise UsageError(
            f"the array for '{name}' has strides {array.strides} bytes; expected elements that "
            "are next to each other along the fastest dimension",
            help=f"pass like=np.ascontiguousarray({name})",
        )
    if layout.stated:
        return None, layout.stated
    return None if layout == row_major(array.ndim) else layout.order, None
