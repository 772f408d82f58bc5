"""Checks of views in a rule's result: ``matmul(f.X[w, ci], f.W[ci, co], f.out[w, co])``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from morello.checking.extents import reaches_each_once
from morello.ir.operators import OperandIndex, Operation, Operator
from morello.ir.views import view_map
from morello.language import ast
from morello.language.diagnostics import Collector
from morello.language.indices import UNIT_NAME, with_scalars, written
from morello.language.places import within

GROUP_RANK = 1
"""Rank of the matched operator's group at which ranks and dimensions are held together."""


def check_views(
    step: ast.Apply,
    operator: Operator,
    matched: Operator | None,
    buffers: Mapping[str, str],
    collector: Collector,
) -> None:
    """Check the views that an operator is applied to.

    Args:
        step: The application, whose arguments are operands and numbers where they have to be.
        operator: What is applied.
        matched: The operator that the rule matches, if it names one.
        buffers: For each buffer of an operand that the rule names, that name.
        collector: Takes the errors, R024 (a view of one operand), R025 (views that do not fit
            each other), R027 (no dimensions to see by).
    """
    before = len(collector.diagnostics)
    views = [a for a in step.arguments if isinstance(a, ast.View)]
    for view in views:
        _view(view, matched, buffers, collector)
    if matched is not None and len(collector.diagnostics) == before:
        _together(step, operator, matched, buffers, collector)


def _view(
    view: ast.View, matched: Operator | None, buffers: Mapping[str, str], collector: Collector
) -> None:
    if matched is None:
        message = "only operands of an operator that the rule matches by its name can be seen"
        help = "'match f: NAME' says which dimensions there are"
        collector.error("R027", message, view.span, "dimensions unknown", help)
        return
    if matched.parts:
        message = f"operands of '{matched.name}', which has several statements, are seen whole"
        help = f"write {_text_of(view)} without its dimensions"
        collector.error("R027", message, view.span, "a view of a part of a graph", help)
        return
    name = _operand(view, buffers)
    if name is None:
        message = f"nothing says which operand of '{matched.name}' '{_text_of(view)}' is"
        form = f"match f: {matched.name}, X: f.{matched.output.name}"
        help = f"only a buffer of an operand that the rule names can be seen: '{form}'"
        collector.error("R024", message, view.span, "dimensions unknown", help)
        return
    parameter = _parameter(matched, name)
    if parameter is None:
        message = f"'{name}' is a scalar of '{matched.name}', which has no dimensions"
        collector.error("R024", message, view.span, "not an operand")
        return
    taken: dict[ast.Index, ast.Index] = {}
    for index in view.indices:
        if not index.terms:
            continue  # of size 1, whatever is seen
        place = _indexed(index, parameter, matched, collector)
        if place is None:
            continue
        if place in taken and not _is_row(place, index, taken[place], matched):
            message = f"'{written([index])}' and '{written([taken[place]])}' are one dimension"
            help = f"'{parameter.name}' is declared [{written(parameter.indices)}]"
            collector.error("R024", message, index.span, "seen twice", help)
        taken[place] = index


def _is_row(place: ast.Index, index: ast.Index, other: ast.Index, matched: Operator) -> bool:
    """Whether two indices are rows of a declared one, and what is in them: of ``width * i + j``."""
    alone = all(len(i.terms) == 1 and not i.low and not i.high for i in (index, other))
    return alone and index != other and reaches_each_once(place, dict(matched.stated))


def _operand(view: ast.View, buffers: Mapping[str, str]) -> str | None:
    """The name of the operand that is seen, or of which a buffer is; none if nothing tells."""
    seen = view.operand
    return seen.name if isinstance(seen, ast.Attribute) else buffers.get(seen.id)


def _text_of(view: ast.View) -> str:
    seen = view.operand
    return seen.name if isinstance(seen, ast.Attribute) else seen.id


def _parameter(operator: Operator, name: str) -> ast.TensorParameter | None:
    """The operand of this name; ``out`` is the output, whatever it is called."""
    if name == "out":
        return operator.output
    return next((p for p in operator.parameters if p.name == name), None)


def _indexed(
    index: ast.Index, parameter: ast.TensorParameter, matched: Operator, collector: Collector
) -> ast.Index | None:
    """The declared index that an index of a view is all or a part of; none after an error."""
    index = with_scalars(index, matched.scalars)
    dims = [dim for dim, _ in index.terms]
    known = [d for p in matched.parameters for i in p.indices for d, _ in i.terms]
    for dim in dims:
        if dim not in known:
            message = f"'{matched.name}' has no dimension '{dim}'"
            place = within(index.span, dim)
            collector.error(
                "R024", message, place, "not a dimension", collector.suggestion(dim, known)
            )
            return None
    form = f"{parameter.name}[{written(parameter.indices)}]"
    found = [i for i in parameter.indices if {*dims} <= {d for d, _ in i.terms}]
    message = ""
    if len(found) != 1:
        times = "does not index" if not found else "indexes more than one dimension of"
        message = f"'{written([index])}' {times} '{parameter.name}'"
    elif index.group != found[0].group:
        message = f"'{dims[0]}' is {'a group' if found[0].group else 'no group'} of dimensions"
    elif not _is_part(index, found[0]):
        message = f"'{written([index])}' is not a part of '{written(found)}'"
    if not message:
        return found[0]
    help = f"it is declared as {form}"
    collector.error("R024", message, index.span, "not seen like this", help)
    return None


def _is_part(index: ast.Index, declared: ast.Index) -> bool:
    """Whether an index is one dimension of a declared one, or some of its terms."""
    margins = (index.low, index.high)
    if margins not in (((), ()), (declared.low, declared.high)):
        return False
    alone = len(index.terms) == 1 and index.terms[0][1] == 1 and not any(margins)
    return alone or {*index.terms} <= {*declared.terms}


def _together(
    step: ast.Apply,
    operator: Operator,
    matched: Operator,
    buffers: Mapping[str, str],
    collector: Collector,
) -> None:
    """Whether the views make operands of the ranks that the operator has, and dimensions agree."""
    before = _example(matched, GROUP_RANK if matched.group else 0)
    operands = step.arguments[: len(operator.parameters)]
    indices = [_indices(before, operand, buffers) for operand in operands]
    if any(found is None for found in indices):
        return  # a variable may stand for any operand
    seen = [found for found in indices if found is not None]
    rank = operator.group_rank(tuple(map(len, seen)))
    if rank is None:
        ranks = ", ".join(str(len(found)) for found in seen)
        form = ", ".join(f"{p.name}[{written(p.indices)}]" for p in operator.parameters)
        message = f"'{operator.name}' cannot have operands of {ranks} dimensions"
        collector.error("R025", message, step.span, help=f"it has {form}")
        return
    _dimensions(step, _example(operator, rank), seen, collector)


def _example(operator: Operator, rank: int) -> Operation:
    """The operator with some values of its scalars."""
    return Operation(operator, rank, scalars=tuple((name, 1.0) for name in operator.scalars))


def _indices(
    matched: Operation, operand: ast.Expr | ast.View, buffers: Mapping[str, str]
) -> tuple[OperandIndex, ...] | None:
    """How the matched operation's dimensions index an operand; none if it is a variable."""
    if isinstance(operand, ast.View):
        name = _operand(operand, buffers)
    else:
        name = operand.name if isinstance(operand, ast.Attribute) else None
    if name is None:
        return None
    position = len(matched.names) - 1 if name == "out" else matched.names.index(name)
    if not isinstance(operand, ast.View):
        return matched.operands[position]
    return view_map(matched, position, operand.indices).indices


def _dimensions(
    step: ast.Apply,
    operation: Operation,
    seen: list[tuple[OperandIndex, ...]],
    collector: Collector,
) -> None:
    """Whether operands make each dimension of an operation of one of the matched one's.

    A sum is the same sum of others, term by term.
    """
    name = operation.operator.name
    found: dict[str, str] = {}
    for indices, given in zip(operation.operands, seen, strict=True):
        for index, own in zip(indices, given, strict=True):
            for dim, text in _pairs(index, own):
                first = found.setdefault(dim, text)
                if first != text:
                    message = f"dimension '{dim}' of '{name}' would be both '{first}' and '{text}'"
                    collector.error("R025", message, step.span, "two dimensions in one")
                    return
    for dim in (d for d in operation.dims if d not in found):
        message = f"nothing tells the size of dimension '{dim}' of '{name}'"
        help = "see an operand by the same sum: f.X[h + r]"
        collector.error("R025", message, step.span, "no size", help)
        return


def _pairs(index: OperandIndex, own: OperandIndex) -> Iterator[tuple[str, str]]:
    """Dimensions of an index, each with what an operand makes it."""
    if index.alone is not None:
        yield index.alone, _text(own)
    elif len(index.terms) == len(own.terms):
        yield from zip((d for d, _ in index.terms), (d for d, _ in own.terms), strict=True)


def _text(index: OperandIndex) -> str:
    return " + ".join(d if f == 1 else f"{f} * {d}" for d, f in index.terms) or UNIT_NAME
