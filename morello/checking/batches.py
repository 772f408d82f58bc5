"""Statements that are batches of a declared operation, with an operand that is repeated.

``score[g, h, s, t] += q[g, h, s, d] * k[g, t, d]`` is a product for each g and h, where the heads h
of a group share their keys. No declared operator says that: all operands of a batch have its
dimensions. So an operand that lies in memory is seen with the dimensions that it lacks, along which
its elements are the same ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product

from morello.checking.recognition import recognized, seen_as
from morello.checking.seen import lies_in_memory
from morello.checking.statement_operators import statement_operator
from morello.checking.use import Checked
from morello.ir.goal import GoalTensor
from morello.ir.layout import Axis, Layout
from morello.ir.operators import Operation, Operator, size_name
from morello.ir.sizes import sizes_from
from morello.language import ast
from morello.language.traverse import children, with_children
from morello.records import replace


def as_batches(
    calls: Sequence[Checked], operators: Mapping[str, Operator], in_parts: Collection[str]
) -> list[Checked]:
    """The calls, with what is a batch of a declared operation as that.

    Args:
        calls: All of them.
        operators: Those that are declared.
        in_parts: Tensors that are computed in parts.
    """
    return [_batch(call, operators, in_parts) or call for call in calls]


def _batch(
    call: Checked, operators: Mapping[str, Operator], in_parts: Collection[str]
) -> Checked | None:
    operator = call.operation.operator
    if not operator.text or operator.reduction is None or operator.seen_as is not None:
        return None
    if operator.stated or len(operator.inputs) < 2 or operator.statement.elsewhere is not None:
        return None
    sizes = sizes_from(call.operation, [tensor.shape for tensor in call.tensors])
    for added in _additions(call, sizes, in_parts):
        inputs = [
            replace(parameter, indices=(*_indices(dims, parameter), *parameter.indices))
            for parameter, dims in zip(operator.inputs, added, strict=True)
        ]
        elements = {p.name: ast.Element(p.name, p.indices, span=p.span) for p in inputs}
        value = _with_elements(operator.statement.value, elements)
        wider = statement_operator(
            inputs, operator.output, replace(operator.statement, value=value), {}
        )
        dtypes = [tensor.dtype.name for tensor in call.tensors]
        tensors = [
            _repeated(tensor, [sizes[d] for d in dims])
            for tensor, dims in zip(call.tensors[:-1], added, strict=True)
        ]
        output = call.tensors[-1]
        same = recognized(wider, sizes, dtypes, operators.values())
        if same is not None:
            return Checked(same.operation, (*(tensors[p] for p in same.order), output))
        rule = seen_as(wider, operators.values())
        if rule is not None:
            asked = tuple((size_name(d), float(sizes[d])) for d in wider.sizes)
            wider = replace(wider, seen_as=rule)
            return Checked(Operation(wider, 0, scalars=asked), (*tensors, output))
    return None


def _additions(
    call: Checked, sizes: Mapping[str, int], in_parts: Collection[str]
) -> Iterator[tuple[tuple[str, ...], ...]]:
    """Dimensions that each input could be seen with, likely ones first.

    Of the dimensions of the result that an operand lacks one stays, the longest if that will do.
    """
    *inputs, output = call.operation.operands
    wanted = [d for index in output for d in index.dims]
    options: list[list[tuple[str, ...]]] = []
    for tensor, indices in zip(call.tensors, inputs, strict=False):
        own = {d for index in indices for d in index.dims}
        lacking = [d for d in wanted if d not in own]
        options.append([()])
        if len(lacking) > 1 and lies_in_memory(tensor, in_parts):
            kept = sorted(lacking, key=lambda d: -sizes[d])
            options[-1] += [tuple(d for d in lacking if d != one) for one in kept]
    return (added for added in product(*options) if any(added))


def _indices(dims: Sequence[str], like: ast.TensorParameter) -> tuple[ast.Index, ...]:
    return tuple(ast.Index(((dim, 1),), span=like.span) for dim in dims)


def _with_elements(value: ast.Expr, elements: Mapping[str, ast.Element]) -> ast.Expr:
    if isinstance(value, ast.Element):
        return elements[value.tensor]
    return with_children(value, [_with_elements(child, elements) for child in children(value)])


def _repeated(tensor: GoalTensor, counts: Sequence[int]) -> GoalTensor:
    """A tensor in memory, seen with more dimensions of these sizes before its own."""
    if not counts:
        return tensor
    memory = tensor.whole or tensor
    own = tensor.axes or tuple(map(Axis, range(len(tensor.shape))))
    axes = (*(Axis(memory.layout.order[0], 0) for _ in counts), *own)
    before = range(len(counts))
    order = (*before, *(len(counts) + d for d in tensor.layout.order))
    lows = tensor.lows or (0,) * len(memory.shape)
    shape = (*counts, *tensor.shape)
    name = f"{tensor.name}[{', '.join('*' for _ in counts)}]"
    return GoalTensor(name, "view", tensor.dtype, shape, Layout(order), memory, lows, axes)
