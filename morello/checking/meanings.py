"""The expression of a statement: what it may read, and the sizes that it asks for.

Codes ``K...`` are errors of an expression, ``O...`` of how it uses what is declared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from morello.checking.kinds import NUMBER, UNKNOWN, Around, KnownNames, Typed, expect
from morello.ir.operators import Operator, size_name
from morello.language import ast
from morello.language.diagnostics import Collector
from morello.language.functions import ARITHMETIC, SPEC
from morello.language.indices import written
from morello.language.places import within
from morello.language.traverse import children, subexpressions, with_children
from morello.records import replace

SIZE = "size"
"""The function of a dimension that a meaning may use, beside arithmetic."""


def check_value(
    operator: Operator,
    inputs: Mapping[str, ast.TensorParameter],
    collector: Collector,
    around: Around,
) -> bool:
    """Check the expression, which may read ``inputs``; true if something in it was wrong."""
    before = len(collector.diagnostics)

    def element(node: ast.Element) -> Typed:
        return _element(node, operator, inputs, collector)

    def advice(name: str) -> str:
        if name in inputs:
            return f"'{name}' is a tensor: write {name}[{written(inputs[name].indices)}]"
        if name == operator.group:
            return f"'{name}...' stands for any number of dimensions"
        return ""

    # The size of a dimension can be told by any input, also where the statement reads none of it.
    dims = occurrences(operator, (*operator.parameters, *operator.declaration.inputs))
    known = {d: Typed("dim") for d, i in dims if not i.group}
    known |= dict.fromkeys((s.id for s in operator.declaration.scalars), NUMBER)
    functions = {**ARITHMETIC, SIZE: SPEC[SIZE]}
    scope = KnownNames(known, functions, element=element, advice=advice, around=around)
    expect(operator.statement.value, "number", scope, collector, what="the value")
    if len(collector.diagnostics) == before:
        _conditions(operator.statement.value, collector)
    return len(collector.diagnostics) > before


def _conditions(value: ast.Expr, collector: Collector) -> None:
    """A truth decides between numbers; machines hold it in another way than those."""
    for expr in subexpressions(value):
        match expr:
            case ast.Binary(operator="==" | "!=", left=used) if _is_truth(used):
                what = "compared"
            case ast.Conditional(then=used) if _is_truth(used):
                what = "chosen"
            case _:
                continue
        message = f"a truth value is {what} here, which no operator's meaning can do"
        help = "write it with 'and', 'or' and 'not'"
        collector.error("K009", message, used.span, "a truth value", help)


def _is_truth(expr: ast.Expr) -> bool:
    match expr:
        case ast.Unary(operator=operator) | ast.Binary(operator=operator):
            return operator in ("and", "or", "not", "==", "!=", "<", "<=", ">", ">=")
        case ast.Conditional(then=then):
            return _is_truth(then)
        case _:
            return False


def with_sizes(part: Operator) -> Operator:
    """The operator with a scalar for each size that its meaning asks for."""
    value = part.statement.value
    asked = dict.fromkeys(d for e in subexpressions(value) if (d := size_asked(e)) is not None)
    statement = replace(part.statement, value=_sizes_named(value))
    return replace(part, statement=statement, scalars=(*part.scalars, *map(size_name, asked)))


def size_asked(expr: ast.Expr) -> str | None:
    """The dimension whose size an expression is, if it is ``size(dim)``."""
    match expr:
        case ast.Call(function=function, args=(ast.Name(id=dimension),)) if function == SIZE:
            return dimension
    return None


def _sizes_named(expr: ast.Expr) -> ast.Expr:
    dimension = size_asked(expr)
    if dimension is not None:
        return ast.Name(size_name(dimension), span=expr.span)
    return with_children(expr, tuple(map(_sizes_named, children(expr))))


def _element(
    node: ast.Element,
    operator: Operator,
    inputs: Mapping[str, ast.TensorParameter],
    collector: Collector,
) -> Typed:
    name = node.tensor
    parameter = inputs.get(name)
    if parameter is None:
        is_output = name == operator.declaration.output.name
        message = (
            f"'{name}' is {'the output, which cannot be read' if is_output else 'not an input'}"
        )
        label = "this is the output" if is_output else "unknown tensor"
        help = (
            "'+=' and 'max=' accumulate into it"
            if is_output
            else collector.suggestion(name, inputs)
        )
        collector.error("O009", message, within(node.span, name), label, help)
        return UNKNOWN
    form = f"{name}[{written(parameter.indices)}]"
    if len(node.indices) != len(parameter.indices):
        wanted, given = len(parameter.indices), len(node.indices)
        noun = "index" if given == 1 else "indices"
        message = f"'{name}' has {given} {noun} here, but {wanted} where it is declared"
        collector.error("O010", message, node.span, f"{given} {noun}", f"write {form}")
        return UNKNOWN
    if node.indices != parameter.indices:
        message = f"'{name}' is indexed [{written(node.indices)}]; it is declared as {form}"
        help = f"write {form}, or declare it with the indices that are used"
        collector.error("O010", message, node.span, "other indices", help)
        return UNKNOWN
    return NUMBER


def occurrences(
    operator: Operator, parameters: Sequence[ast.TensorParameter]
) -> Iterator[tuple[str, ast.Index]]:
    """The dimensions of parameters, each wherever it occurs, with the index that it is in."""
    scalars = {s.id for s in operator.declaration.scalars}
    for parameter in parameters:
        for index in parameter.indices:
            for dimension, _ in index.terms:
                if dimension not in scalars:  # that is an error of its own
                    yield dimension, index
