"""From a goal, as a user states it, to Specs with their context, and to a program's tensors."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from morello.codegen.lower import Names, in_sequence, lower_plan, whole
from morello.definitions import Definitions
from morello.ir.goal import Computation, Goal, GoalTensor
from morello.ir.graphs.composition import composition_of
from morello.ir.layout import Axis, packing_by_strides
from morello.ir.operators import Operator
from morello.ir.passes import GAP_PANELS
from morello.ir.programs.tree import Affine, Lookup, Node, Origin, Tensor, View
from morello.ir.spec import Family, Operand, Spec
from morello.ir.target import Target
from morello.language.traverse import children, subexpressions
from morello.records import replace
from morello.rewriting.context import Context, shared_context
from morello.search.results.reconstruct import PlanNode

SHARED = "shared"
"""Whom a program names as the origin of a buffer that several computations need."""


def context_for(definitions: Definitions, target: Target) -> Context:
    """What the search may use."""
    return shared_context(target, definitions.operators, definitions.rules)


def goal_specs(target: Target, goal: Goal) -> tuple[Spec, ...]:
    """The Spec of each computation: operands whole, where calls find them, nothing in use."""
    return tuple(_spec(target, goal, computation) for computation in goal.computations)


def _spec(target: Target, goal: Goal, computation: Computation) -> Spec:
    operands = tuple(
        Operand(
            t.dtype,
            target.home((t.whole or t).bytes),
            t.layout.order,
            weight=_packed_ahead(goal, t),
        )
        for t in computation.operands
    )
    family = Family(computation.operation, operands, goal.threads)
    packing = tuple(_packing(target, t) for t in computation.operands)
    return Spec(family, computation.sizes, (0,) * len(target.bounded), packing)


def _packing(target: Target, tensor: GoalTensor) -> int:
    if tensor.whole is None and not tensor.layout.stated:
        return tensor.layout.packing(tensor.shape)
    page = target.page // tensor.dtype.bytes
    return packing_by_strides(tensor.layout.order, tensor.shape, tensor.strides, page)


def _packed_ahead(goal: Goal, tensor: GoalTensor) -> bool:
    """Whether a tensor may be packed ahead of all calls: a weight that is one operand of all.

    Of a graph that reads it in several places, too: then these have one layout. Computations that
    are searched for themselves would want as many.
    """
    operands = [operand for computation in goal.computations for operand in computation.operands]
    looked_up = any(lookup.table == tensor for lookup in goal.lookups)
    return tensor.role == "weight" and operands.count(tensor) == 1 and not looked_up


def arguments_of(target: Target, goal: Goal) -> tuple[Tensor, ...]:
    """The function's arguments, inputs in order and then outputs."""
    arguments = [t for t in goal.tensors if t.role not in ("local", "positions")]
    ordered = sorted(arguments, key=lambda tensor: tensor.role == "output")
    return tuple(_in_memory(target, tensor) for tensor in ordered)


def positions_of(target: Target, goal: Goal) -> tuple[Tensor, ...]:
    """Rows of whole numbers that the function has itself."""
    return tuple(_in_memory(target, t) for t in goal.tensors if t.role == "positions")


def _in_memory(target: Target, tensor: GoalTensor) -> Tensor:
    t, role = tensor, "buffer" if tensor.role == "local" else tensor.role
    return Tensor(t.name, t.dtype, t.shape, t.layout, target.home(t.bytes).name, 0, role)


def lower_goal(target: Target, goal: Goal, plans: tuple[PlanNode, ...]) -> Node:
    """The program of a plan for each computation: one after the other.

    What several of them read and is no argument is a buffer.
    """
    tensors = {tensor: _in_memory(target, tensor) for tensor in goal.tensors}
    names = Names({tensor.name: 1 for tensor in goal.tensors})
    page = target.page if GAP_PANELS in target.passes else None
    steps: list[tuple[Tensor, Node]] = []
    for lookup in goal.lookups:
        table, indices, output = (
            whole(tensors[t]) for t in (lookup.table, lookup.indices, lookup.output)
        )
        steps.append((output.tensor, Lookup(output, table, indices, lookup.axis)))
    for computation, plan in zip(goal.computations, plans, strict=True):
        operands = tuple(_view(tensors, tensor) for tensor in computation.operands)
        lowered = lower_plan(plan, operands, names, page)
        steps.append((operands[-1].tensor, lowered))
    return in_sequence(steps, Origin(SHARED, goal.declaration))


def _view(tensors: Mapping[GoalTensor, Tensor], tensor: GoalTensor) -> View:
    """All of a tensor, or the part that it is."""
    if tensor.whole is None:
        return whole(tensors[tensor])
    every, offsets = tensors[tensor.whole], tuple(map(Affine, tensor.lows))
    same = tensor.axes == tuple(map(Axis, range(len(every.shape))))
    axes = None if same else tensor.axes
    return replace(whole(every), offsets=offsets, sizes=tensor.shape, axes=axes)


def as_written(goal: Goal) -> str:
    """What is computed in the words of the spec, a statement a line."""
    return "\n".join(goal.written) or title(goal)


def title(goal: Goal) -> str:
    """One line that says what is computed, by which operations: it tells goals apart."""
    known: set[GoalTensor] = set()
    rows = [f"{x.output} = {x.table} at {x.indices}" for x in goal.lookups]
    for lookup in goal.lookups:
        known.update((lookup.output, lookup.table, lookup.indices))
    return "; ".join([*rows, *(_formula(c, known) for c in goal.computations)])


def _formula(computation: Computation, known: set[GoalTensor]) -> str:
    """What one operation computes, with the types of tensors that are not known; now they are."""
    texts = [t.name if t in known else str(t) for t in computation.operands]
    news = [str(t) for t in dict.fromkeys(computation.inputs) if t not in known]
    known.update(computation.operands)
    *inputs, output = texts
    operator = computation.operation.operator
    composition = composition_of(operator)
    if composition is None:
        return f"{output} = {operator.label}({', '.join(inputs)})"
    operands = zip(computation.operation.names, computation.operands, strict=True)
    formula = composition.graph.formula(tensors={n: t.name for n, t in operands})
    return ", ".join([f"{output} = {formula}", *news])


def arithmetic(goal: Goal) -> int:
    """Operations of all statements, as they are declared: a function, or a choice, is one."""
    return sum(map(_arithmetic, goal.computations))


def _arithmetic(computation: Computation) -> int:
    operation = computation.operation
    composition = composition_of(operation.operator)
    if composition is None:
        return _arithmetic_of(operation.operator) * prod(computation.sizes)
    sizes = dict(zip(operation.dims, computation.sizes, strict=True))
    return sum(
        _arithmetic_of(node.operation.operator)
        * prod(sizes[dim] for dim in composition.dims[node.output])
        for node in composition.graph.nodes
    )


def _arithmetic_of(operator: Operator) -> int:
    """Of one iteration."""
    value = operator.statement.value
    count = sum(bool(children(part)) for part in subexpressions(value))
    return count + (operator.reduction is not None)
