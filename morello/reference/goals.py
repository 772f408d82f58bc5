"""What a goal's outputs should be, with their bounds."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter

from morello.ir.goal import Goal
from morello.ir.numeric import Array
from morello.reference.bounded import Bounded, joined, mapped
from morello.reference.compare import reference
from morello.reference.meaning import Tensor
from morello.reference.partial import Selection
from morello.reference.steps import lookups_in, place_of, positions_in


def goal_reference(
    goal: Goal, inputs: Mapping[str, Array], *, flushes: bool = False
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
    known: dict[str, Tensor] = {**inputs, **positions_in(goal), **lookups_in(goal, inputs)}
    results: dict[str, Bounded] = {}
    parts: dict[str, list[tuple[Selection, Bounded]]] = {}
    for computation in goal.computations:
        output = computation.output
        operands = [
            known[t.name]
            if t.whole is None
            else mapped(itemgetter(place_of(t)), known[t.whole.name])
            for t in computation.inputs
        ]
        result = reference(
            computation.operation, computation.sizes, operands, output.dtype, flushes=flushes
        )
        if output.whole is not None:
            found = parts.setdefault(output.whole.name, [])
            found.append((place_of(output), result))
            output = output.whole
            if sum(part.size for _, part in found) < output.elements:
                continue
            result = joined(output.shape, found)
        results[output.name] = known[output.name] = result
    return tuple(results[tensor.name] for tensor in goal.outputs)
