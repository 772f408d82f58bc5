"""Nodes of the syntax tree of a spec that is being built, and where in Python they are from."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from morello.building.values import (
    NO_PLACE,
    DTypeLike,
    Shape,
    dtype_name,
    extents,
    identifier,
    whole,
    whole_numbers,
)
from morello.errors import MorelloError, UsageError
from morello.language import ast, spec_ast
from morello.language.parse import parse_spec
from morello.language.source import Source
from morello.language.traverse import children, with_children
from morello.records import replace


def declaration(
    role: str,
    name: str,
    dtype: DTypeLike | None,
    shape: Shape | None,
    layout: Sequence[int] | None = None,
    panels: ast.Panel | None = None,
    stride: Shape | None = None,
) -> spec_ast.TensorDecl:
    """The declaration of a tensor; type and shape may both be left to what computes it.

    Raises:
        UsageError: Something is not what it has to be.
    """
    if (dtype, shape, layout, panels, stride) == (None,) * 5:
        return spec_ast.TensorDecl(role, name, None, (), None, None, span=NO_PLACE)
    if dtype is None or shape is None:
        raise UsageError(
            f"'{name}' has {'no dtype' if dtype is None else 'no shape'}",
            help="give both of them",
        )
    return spec_ast.TensorDecl(
        role=role,
        name=name,
        dtype=dtype_name(dtype),
        shape=extents(shape, name),
        order=None if layout is None else whole_numbers(layout, f"the layout of '{name}'"),
        panel=None if panels is None else _panel(panels, name),
        strides=None if stride is None else extents(stride, name, "stride"),
        span=NO_PLACE,
    )


def _panel(panels: ast.Panel, name: str) -> ast.Panel:
    """Width, or height and width."""
    if not isinstance(panels, Sequence) or isinstance(panels, str):
        return whole(panels, f"the width of the panels of '{name}'")
    if len(panels) != 2:
        raise UsageError(
            f"the panels of '{name}' are {panels!r}; expected their width, or height and width",
            help="such as 4 or (16, 4)",
        )
    height, width = panels
    return whole(height, f"the height of the panels of '{name}'"), whole(
        width, f"the width of the panels of '{name}'"
    )


def target(name: str | None) -> ast.Name | None:
    """The name of a target.

    Raises:
        UsageError: It is none.
    """
    if name is None:
        return None
    for part in str(name).split("."):
        identifier(part, f"a part of the target '{name}'")
    return ast.Name(name, span=NO_PLACE)


def site() -> str:
    """File and line of the caller outside of this package."""
    frame = sys._getframe(1)
    package = __name__.partition(".")[0]
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


_RESULT = "result"
"""Of a text that begins with subscripts, until it gets a name."""


def statement(text: str) -> spec_ast.Statement:
    """A statement with subscripts, of which the text does not name the result.

    Raises:
        UsageError: The text is none.
    """
    try:
        source = Source("<statement>", f"spec s() {{ {_RESULT}{text} }}")
        [spec] = parse_spec(source).specs
        [node] = spec.uses
    except (MorelloError, ValueError):
        spec, node = None, None
    if spec is None or spec.tensors or not isinstance(node, spec_ast.Statement):
        raise UsageError(
            f"{text!r} is no statement with subscripts",
            help="it begins with those of the result: [m, n] += x[m, k] * w[n, k]",
        )
    return node


def renamed(node: spec_ast.Statement, result: str, names: Mapping[str, str]) -> spec_ast.Statement:
    """A statement on other tensors."""

    def of(expr: ast.Expr) -> ast.Expr:
        if isinstance(expr, ast.Subscripted):
            inner = tuple(map(of, expr.subscripts))
            return replace(expr, tensor=names[expr.tensor], subscripts=inner)
        return with_children(expr, tuple(map(of, children(expr))))

    target = replace(node.target, tensor=result)
    return replace(node, target=target, value=of(node.value))
