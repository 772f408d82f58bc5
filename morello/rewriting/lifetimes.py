"""Lifetimes in reused memory: an input that lies in the output's memory ends where that is written.

A rule may compute what a graph needs on the way where the output will be. What is left of the graph
is then an operation with an *aliased* input (`morello.ir.spec.Operand`). Whatever rule is applied
to it next, two things must hold for every aliased input:

* What writes the output while it reads the input does so element for element: it is done with an
  element of the input before it writes that of the output (`overwrites_as_it_reads`).
* Once any step has written the output, no later step reads the input (`read_too_late`).

Both are told by the structure of a rule's result, so that they are asked once for a family. In a
loop over a dimension that indexes the output, each iteration has an element of its own; in any
other loop, a step comes before itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from morello.ir.graphs.composition import composition_of
from morello.ir.operators import Operation
from morello.rewriting.references import SpecRef, TensorRef
from morello.rewriting.steps import Leaf, Placed, Sequence, Step, Tiled


def places_of(f: SpecRef) -> dict[str, str]:
    """The tensor in whose memory an operand lies, by key, where that is not itself."""
    return {t.key: f.out.key for t in f.tensors[:-1] if t.operand.aliased}


def read_too_late(f: SpecRef, step: Step) -> str | None:
    """The name of an input that a rule's result reads when its memory may hold something else.

    Args:
        f: The matched operation.
        step: What the rule's result becomes, without sizes.
    """
    return _Lifetimes(f).first_late(step)


def overwrites_as_it_reads(leaf: Leaf) -> bool:
    """Whether a sub-Spec is done with each element of an aliased input before it writes it."""
    *inputs, output = leaf.tensors
    return all(
        _sight(tensor) == _sight(output) and may_alias(leaf.family.operation, position)
        for position, tensor in enumerate(inputs)
        if tensor.operand.aliased
    )


def may_alias(operation: Operation, position: int) -> bool:
    """Whether each element of an input is read before that of the output is written."""
    access, written = operation.operands[position], operation.operands[-1]
    composition = composition_of(operation.operator)
    if access != written:
        return False
    if composition is None:
        return operation.operator.reduction is None
    name = operation.names[position]
    return not operation.accumulating and composition.may_be_overwritten(name)


def _sight(tensor: TensorRef) -> object:
    return None if tensor.view is None else tensor.view.view_map


class _Lifetimes:
    """Follows the steps of a result in order. ``ended``: inputs that the output has overwritten."""

    def __init__(self, f: SpecRef) -> None:
        self.out = f.out
        self.names = {t.key: t.name for t in f.tensors[:-1] if t.operand.aliased}
        self.ended: set[str] = set()

    def first_late(self, step: Step) -> str | None:
        """What is read too late first."""
        own = {t: t for t in (*self.names, self.out.key)}
        return self._walk(step, own)

    def _walk(self, step: Step, known: Mapping[str, str]) -> str | None:
        """What is read too late in a step. ``known``: operands by the keys of what shows them."""
        match step:
            case Leaf():
                return self._leaf(step, known)
            case Sequence(steps=steps):
                found = (self._walk(inner, known) for inner in steps)
                return next(filter(None, found), None)
            case Placed(tensor=tensor, source=source, copied=copied, body=body):
                shown = {key: operand for key, operand in known.items() if key != tensor.key}
                if not copied and source.key in known:
                    shown[tensor.key] = known[source.key]
                return self._walk(body, shown)
            case Tiled(dim=dim, full=body):
                # The tail has the same steps. A second round is enough: it begins with all that any
                # iteration ends.
                again = not self.out.indexed_by(dim)
                return self._walk(body, known) or (self._walk(body, known) if again else None)

    def _leaf(self, leaf: Leaf, known: Mapping[str, str]) -> str | None:
        *inputs, output = leaf.tensors
        for tensor in inputs:
            operand = known.get(tensor.key)
            if operand in self.ended:
                return self.names[operand]
        if not overwrites_as_it_reads(leaf):
            return next(t.name for t in inputs if t.operand.aliased)
        if known.get(output.key) == self.out.key:
            self.ended |= self.names.keys()
        return None
