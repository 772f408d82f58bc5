"""Conversions between element types, as the language defines them.

To a floating type: rounded to nearest. From floating to integer: truncated, saturating at the ends
of the range, and 0 for what is not a number. From integer to integer: modulo 2^bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from morello.language import ast
from morello.spec.dtypes import DType

Array = np.ndarray[Any, np.dtype[Any]]


def convert(values: Array, dtype: DType) -> Array:
    """The values as elements of ``dtype``, in the same shape; not a copy where none is needed."""
    if dtype.floating:
        with np.errstate(over="ignore", invalid="ignore"):
            return values.astype(dtype.numpy, copy=False)
    if values.dtype.kind == "f":
        return _saturate(values, dtype)
    return values.astype(dtype.numpy, copy=False)


def _saturate(values: Array, dtype: DType) -> Array:
    limits = np.iinfo(dtype.numpy)
    wide = np.asarray(values, dtype=np.float64)
    low, high = wide <= limits.min, wide >= limits.max
    inside = np.where(low | high | np.isnan(wide), 0.0, wide)
    result = inside.astype(dtype.numpy)
    result[low], result[high] = limits.min, limits.max
    return result


def convert_number(value: float, dtype: DType) -> int | float:
    """A constant or a scalar as an element of ``dtype``: a Python number."""
    if isinstance(value, int) and not dtype.floating:
        bits = 8 * dtype.bytes
        half = 1 << (bits - 1)
        return (value + half) % (1 << bits) - half
    number: int | float = convert(np.full(1, value, dtype=np.float64), dtype)[0].item()
    return number


def with_constants(expr: ast.Expr, dtype: DType) -> ast.Expr:
    """The expression of an operator's meaning with every constant converted to ``dtype``."""
    match expr:
        case ast.Number(value=value, span=span):
            return ast.Number(convert_number(value, dtype), span=span)
        case ast.Unary(operator=name, operand=operand, span=span):
            return ast.Unary(name, with_constants(operand, dtype), span=span)
        case ast.Binary(operator=name, left=left, right=right, span=span):
            sides = with_constants(left, dtype), with_constants(right, dtype)
            return ast.Binary(name, *sides, span=span)
        case ast.Call(function=function, args=args, span=span):
            return ast.Call(function, tuple(with_constants(a, dtype) for a in args), span=span)
        case ast.Conditional(then=then, condition=condition, otherwise=otherwise, span=span):
            other = None if otherwise is None else with_constants(otherwise, dtype)
            parts = with_constants(then, dtype), with_constants(condition, dtype), other
            return ast.Conditional(*parts, span=span)
        case _:
            return expr
