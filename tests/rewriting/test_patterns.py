"""What a kernel's pattern says of an operand of which not all is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import permutations, product

import pytest

from morello.ir.dtypes import BF16, DTYPES, F32, S8, DType
from morello.ir.target import Level, Target
from morello.language import target_ast
from morello.rewriting.matching import match_kernel
from morello.rewriting.patterns import (
    IN_MEMORY,
    NO_ROWS,
    PartialOperand,
    operand_refusal,
    operator_refusal,
)
from tests.search.goals import elementwise, matmul
from tests.search.machines import context, installed
from tests.search.machines import target as machine

RANKS = range(5)


def _patterns(target: Target) -> set[target_ast.KernelOperand]:
    return {pattern for kernel in target.kernels for pattern in kernel.match.operands}


def _places(target: Target) -> Iterator[tuple[Level, int]]:
    for level in target.levels:
        yield from ((level, vector) for vector in level.vectors or (IN_MEMORY,))


def _accepts(pattern: target_ast.KernelOperand, target: Target, known: PartialOperand) -> bool:
    return not operand_refusal(pattern, target, known, "X")


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", sorted(installed().targets))
def test_it_is_refused_if_no_operand_that_it_may_be_is_accepted(name: str) -> None:
    """Types alone, types and places, types and orders: each against all operands that there are."""
    target = machine(name)
    places = list(_places(target))
    orders = [order for rank in RANKS for order in permutations(range(rank))]
    several: list[Sequence[DType]] = [*((d,) for d in DTYPES.values()), (BF16, F32), (S8, F32)]
    for pattern in _patterns(target):
        whole = {
            (dtype, place, order)
            for dtype, place, order in product(DTYPES.values(), places, orders)
            if _accepts(pattern, target, PartialOperand((dtype,), *place, order))
        }
        for dtypes in map(tuple, several):
            of_types = {(place, order) for dtype, place, order in whole if dtype in dtypes}
            assert _accepts(pattern, target, PartialOperand(dtypes)) == bool(of_types)
            for place in places:
                known = PartialOperand(dtypes, *place)
                assert _accepts(pattern, target, known) == (place in {p for p, _ in of_types})
            for order in orders:
                known = PartialOperand(dtypes, order=order)
                assert _accepts(pattern, target, known) == (order in {o for _, o in of_types})


def test_what_an_operator_is_refused_for_is_a_refusal_of_each_of_its_families() -> None:
    """By kernels for other operators by name, and by those for reductions, which neg is not."""
    known = context("x86.avx2")
    families = [
        wanted.spec(known.target).family
        for wanted in (matmul(3, 2, 2), matmul(3, 2, 2, "bf16"), elementwise("neg", 3))
    ]
    refused: Counter[str] = Counter()
    for kernel, family in product(known.target.kernels, families):
        why = operator_refusal(kernel, family.operation.operator)
        refused[why] += 1
        if why:
            assert why == match_kernel(kernel, known.target, family)
    assert refused.keys() >= {"", "it implements 'matmul'", "it implements 'copy'", NO_ROWS}
