"""The operator that a statement with subscripts is, where no declared one says the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b

from morello.checking.operators import check_operator
from morello.ir.operators import Operator
from morello.language import ast
from morello.language.diagnostics import Collector
from morello.language.indices import written
from morello.language.unparse import unparse
from morello.records import replace

DIGEST = 6
"""Bytes of the digest that an operator's name has."""


def statement_operator(
    inputs: Sequence[ast.TensorParameter],
    output: ast.TensorParameter,
    statement: ast.Statement,
    stated: Mapping[str, int],
    name: str = "",
    collector: Collector | None = None,
) -> Operator:
    """A statement as an operator; without a name it has one that follows from all else.

    Args:
        inputs: What it reads.
        output: What it computes.
        statement: The statement, in names of these.
        stated: Sizes of dimensions that nothing else tells.
        name: A name for errors.
        collector: Takes the errors, where there may be any.
    """
    span = statement.span

    def size(dim: str) -> ast.Expr:
        asked = ast.Call("size", (ast.Name(dim, span=span),), span=span)
        return ast.Binary("==", asked, ast.Number(stated[dim], span=span), span=span)

    text = f"{unparse(statement.target)} {statement.update} {unparse(statement.value)}"
    if statement.elsewhere is not None:
        text += f" elsewhere {unparse(statement.elsewhere)}"
    heads = [f"{p.name}: {p.dtype}[{written(p.indices)}]" for p in (*inputs, output)]
    sizes = [*map(size, stated)]
    exact = "; ".join([text, *heads, *map(unparse, sizes)])
    digest = blake2b(exact.encode(), digest_size=DIGEST).hexdigest()
    declaration = ast.OperatorDecl(
        name=name or f"statement_{digest}",
        name_span=statement.target.span,
        doc=text,
        inputs=tuple(inputs),
        scalars=(),
        output=output,
        statements=(statement,),
        sizes=tuple(sizes),
        span=span,
    )
    return replace(check_operator(declaration, collector or Collector()), text=text)
