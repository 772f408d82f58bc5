"""What a goal's outputs should be, with their bounds."""

from __future__ import annotations

from collections.abc import Mapping

from morello.ir.goal import Goal
from morello.ir.numeric import Array
from morello.reference.bounded import Bounded
from morello.reference.compare import reference
from morello.reference.interpreter import positions
from morello.reference.meaning import Tensor


def positions_in(goal: Goal) -> dict[str, Array]:
    """The rows of whole numbers that a goal reads, and nobody passes, by name."""
    return {t.name: positions(t.shape, t.dtype) for t in goal.tensors if t.role == "positions"}


def goal_reference(
    goal: Goal, inputs: Mapping[str, Tensor], *, flushes: bool = False
) -> tuple[Bounded, ...]:
    """The outputs in the order of their declaration.

    What one computation reads of another one comes with its bound: all are bounded from the inputs
    on.

    Args:
        goal: What is computed.
        inputs: Inputs and weights by name.
        flushes: Subnormal numbers may have been taken for 0.

    Raises:
        MorelloError: See `morello.reference.meaning.execute`.
    """
    known: dict[str, Tensor] = {**inputs, **positions_in(goal)}
    results: dict[str, Bounded] = {}
    for computation in goal.computations:
        output, operands = computation.output, [known[t.name] for t in computation.inputs]
        results[output.name] = known[output.name] = reference(
            computation.operation, computation.sizes, operands, output.dtype, flushes=flushes
        )
    return tuple(results[tensor.name] for tensor in goal.outputs)
