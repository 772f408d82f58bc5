"""The measure that rules decrease, component by component."""

from __future__ import annotations

import pytest

from morello.definitions import Definitions
from morello.ir.dtypes import F32
from morello.ir.layout import packed
from morello.ir.operators import Operation
from morello.ir.spec import Family, Operand, Spec
from morello.records import replace
from morello.rewriting.progress import operator_ranks
from morello.verify.measure import decreases


@pytest.fixture
def spec(definitions: Definitions) -> Spec:
    """A product of which everything could still be decided."""
    target = definitions.targets["x86.scalar"]
    operation = Operation(definitions.operators["matmul"], 0)
    far = Operand(F32, target.farthest, (0, 1))
    family = Family(operation, (far,) * 3, threads=2)
    return Spec(family, (4, 5, 6), (0,) * len(target.bounded), (packed(2),) * 3)


def test_each_component_comes_before_the_next(spec: Spec, definitions: Definitions) -> None:
    """A Spec that is smaller in one may be larger in those after it, not in those before."""
    ranks = operator_ranks(definitions.operators, definitions.rules)
    target = definitions.targets["x86.scalar"]
    family = spec.family
    near = replace(family.operands[0], level=target.levels[0], vector=4)
    below = [
        replace(spec, sizes=(4, 5, 5)),
        replace(
            spec, family=replace(family, operation=replace(family.operation, accumulating=True))
        ),
        replace(spec, family=family.with_operand(0, near)),
        replace(spec, family=replace(family, threads=1)),
    ]
    chain = [spec, *below]
    for smaller, larger in zip(below, chain, strict=False):
        assert decreases(larger, smaller, ranks)
        assert not decreases(smaller, larger, ranks)


@pytest.mark.parametrize("sizes", [(4, 5, 6), (5, 5, 5), (3, 5, 7), (5, 6, 7)])
def test_no_size_may_grow(sizes: tuple[int, ...], spec: Spec, definitions: Definitions) -> None:
    """Nor may all of them stay."""
    ranks = operator_ranks(definitions.operators, definitions.rules)
    assert not decreases(spec, replace(spec, sizes=sizes), ranks)


def test_another_operator_must_be_of_lower_rank(spec: Spec, definitions: Definitions) -> None:
    """Whatever its sizes are."""
    ranks = operator_ranks(definitions.operators, definitions.rules)
    fill = Operation(definitions.operators["fill"], 2, False, (("value", 0.0),))
    initial = Spec(Family(fill, spec.family.operands[-1:], 2), (99, 99), spec.used, (packed(2),))
    assert decreases(spec, initial, ranks)
    assert not decreases(initial, spec, ranks)
