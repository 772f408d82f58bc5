"""Statements whose operands are seen otherwise: in batches of a declared operation, or turned.

``score[g, h, s, t] += q[s, g * H + h, d] * k[g, t, d]`` is a product for each g and h, where the
heads h of a group share their keys. No declared operator says that: all operands of a batch have
its dimensions, each by itself. So an operand that lies in memory is seen with a dimension for each
that goes through its rows, and with those that it lacks, along which its elements are the same.

``y[b, s, n] += x[b, s, k] * w[n, k]`` is no batch: all rows of x meet the same w. Where b and s lie
together in memory they are seen as one dimension, and it is one product.

``y[c, h, w] = x[h, w, c] / 255`` computes along rows of y, which x has not. So x is seen as one
that has, in another layout: it may be brought into that of y before it is computed with.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise, product

from morello.checking.recognition import MOST_DIMENSIONS
from morello.checking.seen import goes_on, lies_in_memory, seen_along, seen_as_rows
from morello.checking.statement_operators import statement_call, statement_operator
from morello.checking.use import Checked
from morello.ir.goal import GoalTensor
from morello.ir.operators import Operator
from morello.ir.sizes import sizes_from
from morello.language import ast
from morello.language.traverse import children, with_children
from morello.records import replace


def as_batches(
    calls: Sequence[Checked], operators: Mapping[str, Operator], in_parts: Collection[str]
) -> list[Checked]:
    """The calls, with what is a batch of a declared operation as that, and inputs turned.

    Args:
        calls: All of them.
        operators: Those that are declared.
        in_parts: Tensors that are computed in parts.
    """
    return [
        _batch(call, operators, in_parts) or _turned(call, operators, in_parts) or call
        for call in calls
    ]


def _batch(
    call: Checked, operators: Mapping[str, Operator], in_parts: Collection[str]
) -> Checked | None:
    operator = call.operation.operator
    if not operator.text or operator.reduction is None or operator.seen_as is not None:
        return None
    if operator.stated or len(operator.inputs) < 2 or operator.statement.elsewhere is not None:
        return None
    sizes = sizes_from(call.operation, [tensor.shape for tensor in call.tensors])
    joined = _joined(call, sizes, in_parts)
    if joined is not None:
        found = _declared(_as_seen(call, operators, *joined))
        if found is not None:
            return found
    own = call.tensors[-1], None
    for inputs in product(*_views(call, sizes, in_parts)):
        found = _declared(_as_seen(call, operators, sizes, (*inputs, own)))
        if found is not None:
            return found
    return None


def _turned(
    call: Checked, operators: Mapping[str, Operator], in_parts: Collection[str]
) -> Checked | None:
    """The call with its inputs in the order of the result's dimensions; none if all are so."""
    operation, operator = call.operation, call.operation.operator
    if not operator.text or operator.reduction or operator.statement.elsewhere is not None:
        return None
    *inputs, result = call.tensors
    if operator.moves and inputs[0].dtype == result.dtype:
        return None  # a copy of what is seen otherwise (`recognition`)
    wanted = [index.alone for index in operation.operands[-1]]
    sizes = sizes_from(operation, [tensor.shape for tensor in call.tensors])
    seen = list[_Seen]()
    for tensor, read in zip(inputs, operation.operands, strict=False):
        known = [dim for index in read if (dim := index.alone) in wanted and dim is not None]
        order = sorted(known, key=wanted.index)
        view = None
        # Of what is wider than the result, the result is better turned.
        narrow = tensor.dtype.bytes <= result.dtype.bytes
        turned = len(known) == len({*read}) and order != known
        if turned and narrow and lies_in_memory(tensor, in_parts):
            view = seen_along(tensor, read, sizes, order, f"{tensor.name}[{', '.join(known)}]")
        seen.append((tensor, None) if view is None else (view, tuple(order)))
    return _as_seen(call, operators, sizes, (*seen, (result, None)))


_Seen = tuple[GoalTensor, tuple[str, ...] | None]
"""An operand, and the dimensions that it is seen with; none where it is as it was."""


def _joined(
    call: Checked, sizes: Mapping[str, int], in_parts: Collection[str]
) -> tuple[dict[str, int], tuple[_Seen, ...]] | None:
    """Sizes, and all operands, where dimensions that lie together in each are one; none if none do.

    Such a dimension has the name of the innermost.
    """
    accesses = call.operation.operands
    if any(index.alone is None for access in accesses for index in access):
        return None
    named = [[index.dims[0] for index in access] for access in accesses]
    # Of each dimension that is one with the next one of the result, that one.
    inner = {
        first: second
        for first, second in pairwise(named[-1])
        if all((first, second) in pairwise(d) for d in named if {first, second} & {*d})
    }
    if not inner:
        return None
    joined = dict(sizes)
    for first, second in inner.items():  # from the outermost on
        joined[second] *= joined[first]
    found: list[_Seen] = []
    for tensor, dims in zip(call.tensors, named, strict=True):
        kept = tuple(dim for dim in dims if dim not in inner)
        if len(kept) == len(dims):
            found.append((tensor, None))
            continue
        shape = tuple(joined[dim] for dim in kept)
        places = {dims.index(first) for first in inner if first in dims}
        if not lies_in_memory(tensor, in_parts) or not goes_on(tensor, places):
            return None
        found.append((seen_as_rows(tensor, places, shape), kept))
    output, own = found[-1]
    return joined, (*found[:-1], (replace(output, role="part"), own))


def _views(
    call: Checked, sizes: Mapping[str, int], in_parts: Collection[str]
) -> Iterator[list[_Seen]]:
    """How each input could be seen, likely ways first.

    Of the dimensions of the result that an operand lacks one may stay, the longest if that will do.
    """
    *inputs, output = call.operation.operands
    wanted = [d for index in output for d in index.dims]
    for tensor, read in zip(call.tensors, inputs, strict=False):
        options: list[_Seen] = [(tensor, None)]
        own = [d for index in read for d in index.dims]
        lacking = [d for d in wanted if d not in own]
        # A weight of which elements are repeated is taken as it is.
        repeated = tensor.role == "weight" and len(lacking) > 1 and not tensor.layout.panel
        if lies_in_memory(tensor, in_parts) or repeated:
            kept = sorted(lacking, key=lambda d: -sizes[d])
            added = [[d for d in lacking if d != one] for one in kept] or [[]]
            for more in added:
                dims = tuple(sorted({*own, *more}, key=(wanted + own).index))
                plain = not more and len(own) == len(read)
                if plain or len(dims) > MOST_DIMENSIONS:
                    continue
                stars = ", ".join("*" if d in more else ":" for d in dims)
                view = seen_along(tensor, read, sizes, dims, f"{tensor.name}[{stars}]")
                options += [(view, dims)] if view is not None else []
        yield options


def _declared(found: Checked | None) -> Checked | None:
    """The call, if it is of a declared operator."""
    declared = None if found is None else found.operation.operator
    return found if declared and (not declared.text or declared.seen_as is not None) else None


def _as_seen(
    call: Checked,
    operators: Mapping[str, Operator],
    sizes: Mapping[str, int],
    seen: Sequence[_Seen],
) -> Checked | None:
    """The call, its operands seen so; none if all are as they were."""
    if all(dims is None for _, dims in seen):
        return None
    operator = call.operation.operator
    *parameters, result = [
        parameter
        if dims is None
        else replace(
            parameter,
            indices=tuple(ast.Index(((dim, 1),), span=parameter.span) for dim in dims),
        )
        for parameter, (_, dims) in zip(operator.parameters, seen, strict=True)
    ]
    elements = {p.name: ast.Element(p.name, p.indices, span=p.span) for p in parameters}
    value = _with_elements(operator.statement.value, elements)
    target = ast.Element(result.name, result.indices, span=result.span)
    statement = replace(operator.statement, target=target, value=value)
    own = statement_operator(parameters, result, statement, {})
    return statement_call(own, [tensor for tensor, _ in seen], sizes, operators)


def _with_elements(value: ast.Expr, elements: Mapping[str, ast.Element]) -> ast.Expr:
    if isinstance(value, ast.Element):
        return elements[value.tensor]
    return with_children(value, [_with_elements(child, elements) for child in children(value)])
