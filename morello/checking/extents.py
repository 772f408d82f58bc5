"""Checks of what an operator's declaration says of sizes: factors, margins, sizes by scalars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from morello.checking.kinds import NUMBER, KnownNames, expect
from morello.ir.operators import Operator
from morello.language import ast
from morello.language.diagnostics import Collector
from morello.language.functions import ARITHMETIC
from morello.language.indices import text_of_index
from morello.language.places import within


def check_index(index: ast.Index, scalars: Collection[str], collector: Collector) -> None:
    """Check the terms of an index in the head of a declaration, O005 and O014."""
    if all(name in scalars for name, _ in index.terms):
        message = f"'{text_of_index(index)}' is made of scalars, so it is no index"
        help = "a dimension is a name that is no scalar"
        collector.error("O014", message, index.span, "no dimension", help)
        return
    for name, factor in (*index.low, *index.terms, *index.high):
        if isinstance(factor, str) and factor not in scalars:
            message = f"the factor '{factor}' of '{name}' is not a scalar"
            place = within(index.span, factor)
            collector.error(
                "O014", message, place, "not a scalar", collector.suggestion(factor, scalars)
            )
        elif isinstance(factor, int) and factor < 1:
            what = "scalar" if name in scalars else "dimension"
            message = f"{what} '{name}' has the factor {factor}; the least is 1"
            collector.error("O005", message, index.span)
    twice = [d for d, n in Counter(d for d, _ in index.terms).items() if n > 1]
    for dimension in twice:
        message = f"dimension '{dimension}' stands twice in one index"
        help = f"write one term with a factor: 2 * {dimension}"
        collector.error("O005", message, index.span, help=help)


def check_output(
    indices: Sequence[ast.Index], sizes: Mapping[str, ast.Factor], collector: Collector
) -> None:
    """Check that no two iterations reach the same element of the output, O007.

    Args:
        indices: Those of the output, or of what a statement computes on the way.
        sizes: What the declaration states of the sizes of dimensions.
        collector: Takes the errors.
    """
    seen: set[str] = set()
    for index in indices:
        if not reaches_each_once(index, sizes):
            message = f"'{text_of_index(index)}' does not reach each element of the output once"
            help = (
                "index it by one dimension, or by rows one after the other: width * i + j, where "
                "size(j) == width"
            )
            collector.error("O007", message, index.span, help=help)
        for dimension in (d for d, _ in index.terms if d in seen):
            message = f"dimension '{dimension}' indexes the output twice"
            collector.error("O007", message, index.span, "second time")
        seen.update(d for d, _ in index.terms)


def reaches_each_once(index: ast.Index, sizes: Mapping[str, ast.Factor]) -> bool:
    """Whether it is one dimension, or several of which each steps over all of those after it."""
    if len(index.terms) > 1 and (index.low or index.high):
        return False
    reach: ast.Factor = 1
    left = dict(index.terms)
    while len(left) > 1:
        found = [d for d, factor in left.items() if factor == reach and d in sizes]
        if not found:
            return False
        inner = min(found, key=lambda d: sizes[d] != 1)  # of size 1: another one may step as far
        size = sizes[inner]
        del left[inner]
        if isinstance(reach, int) and isinstance(size, int):
            reach *= size
        elif reach == 1:
            reach = size
        else:
            return False
    return [*left.values()] == [reach]


def declared_sizes(
    declaration: ast.OperatorDecl, collector: Collector
) -> tuple[tuple[str, ast.Factor], ...]:
    """Dimensions whose size a declaration states, with a number or the name of a scalar."""
    parameters = (*declaration.inputs, declaration.output)
    dims = {d for p in parameters for i in p.indices for d, _ in i.terms if not i.group}
    scalars = {s.id for s in declaration.scalars}
    found: dict[str, ast.Factor] = {}
    for expr in declaration.sizes:
        pair = _size(expr)
        if pair is None:
            message = "this says nothing about a size"
            help = "the size of a dimension is a scalar or a number: size(r) == window"
            collector.error("O015", message, expr.span, "not a size", help)
            continue
        dimension, value = pair
        if dimension not in dims:
            message = f"'{dimension}' is not a dimension of '{declaration.name}'"
            place = within(expr.span, dimension)
            collector.error(
                "O015", message, place, "not a dimension", collector.suggestion(dimension, dims)
            )
        elif dimension in found:
            message = f"the size of dimension '{dimension}' is given twice"
            collector.error("O015", message, expr.span, "again")
        elif isinstance(value, str) and value not in scalars:
            message = f"'{value}' is not a scalar of '{declaration.name}'"
            place = within(expr.span, value)
            collector.error(
                "O015", message, place, "not a scalar", collector.suggestion(value, scalars)
            )
        elif isinstance(value, int) and value < 1:
            message = f"dimension '{dimension}' has size {value}; the least is 1"
            collector.error("O015", message, expr.span)
        else:
            found[dimension] = value
    return tuple(found.items())


def declared_divisions(declaration: ast.OperatorDecl, collector: Collector) -> tuple[str, ...]:
    """Dimensions that a declaration says rules for any operation may divide, O017."""
    parameters = (*declaration.inputs, declaration.output)
    scalars = {s.id for s in declaration.scalars}
    every = {d for p in parameters for i in p.indices for d, _ in i.terms if not i.group} - scalars
    found: list[str] = []
    for name in declaration.tileable:
        if name.id not in every:
            message = f"'{name.id}' is not a dimension of '{declaration.name}'"
            help = collector.suggestion(name.id, every)
            collector.error("O017", message, name.span, "not a dimension", help)
        elif name.id in found:
            collector.error("O017", f"'{name.id}' is named twice", name.span, "again")
        else:
            found.append(name.id)
    return tuple(found)


def _size(expr: ast.Expr) -> tuple[str, ast.Factor] | None:
    """``size(r) == window`` or ``size(r) == 2`` as a pair."""
    match expr:
        case ast.Binary(
            operator="==",
            left=ast.Call(function="size", args=(ast.Name(id=dimension),)),
            right=ast.Name(id=value) | ast.Number(value=int(value)),
        ):
            return dimension, value
    return None


def check_elsewhere(operator: Operator, collector: Collector) -> None:
    """Check that all of the output has a value: what no index reaches has one by ``elsewhere``."""
    statement = operator.statement
    margins = [i for i in operator.output.indices if i.low or i.high]
    if statement.elsewhere is None:
        if margins:
            message = f"'{text_of_index(margins[0])}' leaves elements without a value"
            help = "say which they have: ... = X[i] elsewhere 0"
            collector.error("O016", message, statement.span, "not all are reached", help)
        return
    scalars = (s.id for s in operator.declaration.scalars)
    scope = KnownNames(dict.fromkeys(scalars, NUMBER), ARITHMETIC)
    expect(statement.elsewhere, "number", scope, collector, what="the value elsewhere")
    if not margins:
        message = f"every element of '{operator.output.name}' is reached"
        help = "an index such as low + i + high leaves some out"
        collector.error("O016", message, statement.elsewhere.span, "there is no elsewhere", help)
    elif operator.reduction is not None:
        message = f"'{statement.update}' reduces, so that what it reaches nowhere has no value"
        help = "write '=', and reduce with another operator"
        collector.error("O016", message, statement.elsewhere.span, "not with a reduction", help)
