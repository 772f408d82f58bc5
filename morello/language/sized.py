"""Which expressions depend on the sizes of a Spec, and which on its family alone."""

from __future__ import annotations

from collections.abc import Collection

from morello.language import ast
from morello.language.functions import FUNCTIONS
from morello.language.traverse import subexpressions


def is_sized(expr: ast.Expr, sized_names: Collection[str]) -> bool:
    """Whether an expression needs sizes: by a function, or by a name that stands for a size."""
    return any(
        (isinstance(e, ast.Call) and FUNCTIONS[e.function].sized)
        or (isinstance(e, ast.Name) and e.id in sized_names)
        for e in subexpressions(expr)
    )


def levels_asked(expr: ast.Expr) -> frozenset[str]:
    """Names of levels whose free capacity an expression asks for."""
    return frozenset(
        a.id
        for e in subexpressions(expr)
        if isinstance(e, ast.Call) and e.function == "free"
        for a in e.args
        if isinstance(a, ast.Name)
    )
