"""Results that are the matched operation itself, under another operator's name.

Such as a product with a transposed matrix, which is a product of one in another layout: the same
value of the same elements, with all operands seen whole.
"""

from __future__ import annotations

from collections.abc import Mapping

from morello.ir.operators import Operation
from morello.ir.statements import same_value
from morello.rewriting.references import SpecRef
from morello.rewriting.steps import Leaf, Step


def is_renaming(f: SpecRef, step: Step) -> bool:
    """Whether a rule's result is the same operation of another operator."""
    if not isinstance(step, Leaf) or not _is_same(f, step):
        return False
    return all(tensor.view is None or tensor.view.whole for tensor in step.tensors)


def _is_same(f: SpecRef, leaf: Leaf) -> bool:
    """Whether it is of another operator with the same value, on the same operands."""
    before, after = f.family.operation, leaf.family.operation
    if before.operator.composite or after.operator.composite:
        return False  # their statements are not all of their meaning
    if leaf.prepack or leaf.ordered or before.operator.name == after.operator.name:
        return False
    names = dict(zip((tensor.key for tensor in f.tensors), before.names, strict=True))
    if before.accumulating != after.accumulating or any(t.key not in names for t in leaf.tensors):
        return False
    given = (names[tensor.key] for tensor in leaf.tensors)
    return _means_the_same(before, after, dict(zip(after.names, given, strict=True)))


def _means_the_same(before: Operation, after: Operation, names: Mapping[str, str]) -> bool:
    """``names``: for each operand of ``after``, which one of ``before`` it is."""
    if len(set(names.values())) < len(before.names):
        return False
    own, other = before.operator.statement, after.operator.statement
    return same_value(own, other, names, dict(before.scalars), dict(after.scalars))
