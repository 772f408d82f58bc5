"""From a goal, as a user states it, to a Spec with its context, and to a program's arguments."""

from __future__ import annotations

from math import prod

from morello.definitions import Definitions
from morello.program.lower import whole
from morello.program.tree import Tensor, View
from morello.rewriting.alternatives import Context
from morello.spec.goal import Goal
from morello.spec.machine import Target
from morello.spec.spec import Family, Operand, Spec


def context_for(definitions: Definitions, target: Target) -> Context:
    """What the search may use."""
    return Context(target, definitions.operators, definitions.rules)


def goal_spec(target: Target, goal: Goal) -> Spec:
    """The Spec of a goal: all operands whole, where calls find them, nothing in use."""
    operands = tuple(
        Operand(t.dtype, target.home(t.bytes), t.layout.order, weight=_packed_ahead(goal, i))
        for i, t in zip(goal.operand_order, goal.operands, strict=True)
    )
    family = Family(goal.operation, operands, goal.threads)
    packing = tuple(t.layout.packing(t.shape) for t in goal.operands)
    return Spec(family, goal.sizes, (0,) * len(target.bounded), packing)


def _packed_ahead(goal: Goal, tensor: int) -> bool:
    """Whether a tensor may be packed ahead of all calls: a weight that is read in one place.

    One that is read in several would have to be there in as many layouts.
    """
    return goal.tensors[tensor].role == "weight" and goal.operand_order.count(tensor) == 1


def argument_tensors(target: Target, goal: Goal) -> tuple[tuple[Tensor, ...], tuple[View, ...]]:
    """The function's arguments, inputs in order and then outputs, and a view for each operand."""
    tensors = [
        Tensor(t.name, t.dtype, t.shape, t.layout, target.home(t.bytes).name, 0, t.role)
        for t in goal.tensors
    ]
    ordered = sorted(tensors, key=lambda t: t.role == "output")
    views = tuple(whole(tensors[i]) for i in goal.operand_order)
    return tuple(ordered), views


def title(goal: Goal) -> str:
    """One line that says what is computed."""
    *inputs, output = (f"{t.name}: {t.dtype}{list(t.shape)}" for t in goal.operands)
    operator = goal.operation.operator
    if operator.composition is None:
        return f"{output} = {operator.name}({', '.join(inputs)})"
    names = dict(zip(goal.operation.names, (t.name for t in goal.operands), strict=True))
    formula = operator.composition.graph.formula(tensors=names)
    return f"{output} = {formula}, {', '.join(dict.fromkeys(inputs))}"


def iterations(goal: Goal) -> int:
    """Size of the iteration space."""
    return prod(goal.sizes)
