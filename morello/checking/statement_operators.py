"""The operator that a statement with subscripts is, where no declared one says the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b

from morello.checking.kinds import NOTHING_AROUND, Around
from morello.checking.operators import check_operator
from morello.checking.recognition import recognized, seen_as
from morello.checking.use import Checked
from morello.ir.goal import GoalTensor
from morello.ir.operators import Operation, Operator, size_name
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
    around: Around = NOTHING_AROUND,
) -> Operator:
    """A statement as an operator; without a name it has one that follows from all else.

    Args:
        inputs: What it reads.
        output: What it computes.
        statement: The statement, in names of these.
        stated: Sizes of dimensions that nothing else tells.
        name: A name for errors.
        collector: Takes the errors, where there may be any.
        around: What the spec has, for the advice of errors.
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
    return replace(check_operator(declaration, collector or Collector(), around), text=text)


def statement_call(
    operator: Operator,
    tensors: Sequence[GoalTensor],
    sizes: Mapping[str, int],
    operators: Mapping[str, Operator],
) -> Checked:
    """The call of a declared operator that computes the same as a statement's, or of its own.

    Args:
        operator: The statement's.
        tensors: Its operands, inputs first.
        sizes: Of its dimensions.
        operators: Those that are declared.
    """
    dtypes = [tensor.dtype.name for tensor in tensors]
    same = recognized(operator, sizes, dtypes, operators.values())
    if same is not None:
        *inputs, output = tensors
        return Checked(same.operation, (*(inputs[place] for place in same.order), output))
    asked = tuple((size_name(d), float(sizes[d])) for d in operator.sizes)
    operator = replace(operator, seen_as=seen_as(operator, operators.values()))
    return Checked(Operation(operator, 0, scalars=asked), tuple(tensors))
