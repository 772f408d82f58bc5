"""The value of an operation with its constants in place, and what they make worked out.

Scalars are known once a spec uses an operator, and so are sizes of its dimensions. Then
``x * (1 / size(n))`` is a product with a number, not a quotient for every element: for what it
costs, for the C that is written of it, and for the bound of its rounding errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from morello.errors import MorelloError
from morello.ir.conversion import convert_number
from morello.ir.dtypes import DTYPES, DType
from morello.ir.operators import Operation
from morello.language import ast
from morello.language.folding import constant
from morello.language.traverse import children, with_children
from morello.records import replace


def value_of(operation: Operation, dtype: DType) -> ast.Expr:
    """The value that an operation's statement assigns, computed in this element type.

    Numbers and scalars are converted to the type. In a floating one, what depends on them alone is
    one number, computed in float64; arithmetic of integers is left as it is, since it wraps around.

    Raises:
        MorelloError: A scalar has no value.
    """
    return _in_place(operation.operator.statement.value, operation.exact_scalars, dtype)


def elsewhere_of(operation: Operation, dtype: DType) -> float | None:
    """The value, in this element type, of elements of the output that no index reaches."""
    expr = operation.operator.statement.elsewhere
    if expr is None:
        return None
    found = constant(_in_place(expr, operation.exact_scalars, dtype))
    assert found is not None
    return convert_number(found, dtype)


@lru_cache(maxsize=4096)
def _in_place(
    expr: ast.Expr, scalars: tuple[tuple[str, float, bool], ...], dtype: DType
) -> ast.Expr:
    return _converted(expr, {name: value for name, value, _ in scalars}, dtype)


def _converted(expr: ast.Expr, scalars: Mapping[str, float], dtype: DType) -> ast.Expr:
    match expr:
        case ast.Number(value=value):
            return _number(value, dtype, expr)
        case ast.Name(id=name):
            if name not in scalars:
                raise MorelloError(f"scalar '{name}' has no value", help="give it in the Spec")
            return _number(scalars[name], dtype, expr)
        case ast.Computed(value=value, dtype=own):
            return replace(expr, value=_converted(value, scalars, DTYPES[own]))
    parts = tuple(_converted(part, scalars, dtype) for part in children(expr))
    result = with_children(expr, parts)
    if not parts or not dtype.floating or not all(isinstance(p, ast.Number) for p in parts):
        return result
    found = constant(result)
    return ast.Number(found, span=expr.span) if isinstance(found, np.float64) else result


def _number(value: float, dtype: DType, node: ast.Expr) -> ast.Number:
    """A number of this type; of a floating one as numpy computes with it, which has infinities."""
    converted = convert_number(value, dtype)
    return ast.Number(np.float64(converted) if dtype.floating else converted, span=node.span)
