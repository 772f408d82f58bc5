"""Operators declared by hand, so that these tests need no parser."""

from __future__ import annotations

from morello.ir.operators import Operation, Operator
from morello.language import ast
from morello.language.source import Source, Span

SPAN = Span(Source("by hand", ""), 0, 0)


def number(value: float) -> ast.Number:
    return ast.Number(value, span=SPAN)


def name(text: str) -> ast.Name:
    return ast.Name(text, span=SPAN)


def binary(operator: str, left: ast.Expr, right: ast.Expr) -> ast.Binary:
    return ast.Binary(operator, left, right, span=SPAN)


def call(function: str, *args: ast.Expr) -> ast.Call:
    return ast.Call(function, args, span=SPAN)


def element(text: str) -> ast.Element:
    """An element such as ``X[b..., h + r, 2*w]``."""
    tensor, _, rest = text.partition("[")
    parts = [part.strip() for part in rest.rstrip("]").split(",") if part.strip()]
    return ast.Element(tensor, tuple(_index(part) for part in parts), span=SPAN)


def _index(text: str) -> ast.Index:
    if text.endswith("..."):
        return ast.Index(((text.removesuffix("..."), 1),), group=True, span=SPAN)
    terms = []
    for term in text.split("+"):
        factor, _, dim = term.strip().rpartition("*")
        terms.append((dim.strip(), int(factor or 1)))
    return ast.Index(tuple(terms), span=SPAN)


def operator(
    title: str,
    inputs: tuple[str, ...],
    output: str,
    value: ast.Expr,
    update: str = "=",
    *,
    scalars: tuple[str, ...] = (),
) -> Operator:
    """An operator; inputs and output are written as elements, all of one type variable."""
    tensors = [_parameter(text) for text in (*inputs, output)]
    statement = ast.Statement(element(output), update, value, span=SPAN)
    declaration = ast.OperatorDecl(
        title,
        SPAN,
        "",
        tuple(tensors[:-1]),
        tuple(ast.Scalar(s, span=SPAN) for s in scalars),
        tensors[-1],
        (statement,),
        span=SPAN,
    )
    return Operator(title, "", tuple(tensors[:-1]), tensors[-1], scalars, statement, declaration)


def _parameter(text: str) -> ast.TensorParameter:
    parsed = element(text)
    return ast.TensorParameter(parsed.tensor, "T", parsed.indices, span=SPAN)


A, B, X, Z = (
    element("A[b..., m, k]"),
    element("B[b..., k, n]"),
    element("X[i...]"),
    element("Z[i...]"),
)

MATMUL = operator(
    "matmul", ("A[b..., m, k]", "B[b..., k, n]"), "C[b..., m, n]", binary("*", A, B), "+="
)
RELU = operator("relu", ("X[i...]",), "Y[i...]", call("max", X, number(0)))
ADD = operator("add", ("X[i...]", "Z[i...]"), "Y[i...]", binary("+", X, Z))
COPY = operator("copy", ("X[i...]",), "Y[i...]", X)
FILL = operator("fill", (), "Y[i...]", name("value"), scalars=("value",))
ROWMAX = operator("rowmax", ("X[i, j]",), "Y[i]", element("X[i, j]"), "max=")
ROWMIN = operator("rowmin", ("X[i, j]",), "Y[i]", element("X[i, j]"), "min=")
CONV = operator(
    "conv",
    ("X[ci, h + r, 2*w + s]", "W[co, ci, r, s]"),
    "Y[co, h, w]",
    binary("*", element("X[ci, h + r, 2*w + s]"), element("W[co, ci, r, s]")),
    "+=",
)


def operation(declared: Operator, rank: int = 0, *, accumulating: bool = False) -> Operation:
    """An operator at a group rank, with no scalars."""
    return Operation(declared, rank, accumulating)


def fill(value: float, rank: int) -> Operation:
    """Set every element of a tensor of this rank."""
    return Operation(FILL, rank, False, (("value", value),))
