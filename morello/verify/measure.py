"""The measure that every rewrite decreases, of Specs: `morello.rewriting.progress` in numbers."""

from __future__ import annotations

from collections.abc import Mapping

from morello.ir.spec import Spec
from morello.rewriting.progress import statements


def decreases(before: Spec, after: Spec, ranks: Mapping[str, int]) -> bool:
    """Whether a sub-Spec is smaller than the Spec that it came from.

    Args:
        before: The Spec that a rule was applied to.
        after: A Spec of its result.
        ranks: Rank of every operator, see `morello.rewriting.progress.operator_ranks`.
    """
    smaller, larger = _orderless(after, ranks), _orderless(before, ranks)
    if smaller != larger:
        return smaller < larger
    pairs = list(zip(after.sizes, before.sizes, strict=True))
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def _orderless(spec: Spec, ranks: Mapping[str, int]) -> tuple[int, ...]:
    """All but the sizes, compared one after the other, as `morello.rewriting.progress` has them."""
    family = spec.family
    operation = family.operation
    return (
        ranks.get(operation.operator.name, len(ranks)),
        statements(operation.operator),
        family.threads,
        sum(operand.level.distance for operand in family.operands),
        int(not operation.accumulating),
        sum(operand.weight for operand in family.operands),
        len(spec.sizes),
    )
