"""Coarser targets: what goes first, what stays, and that the last one is still a target."""

from __future__ import annotations

from itertools import pairwise

import pytest

from morello.ir.dtypes import F32, U8
from morello.ir.target import Target
from morello.memo.fingerprint import Fingerprints
from morello.records import replace
from morello.search.planning.coarsening import FEWEST_CAPACITY_UNITS, changes, coarser
from tests.search.goals import matmul
from tests.search.machines import CACHED, TINY, context, load_target, with_capacities

SHIPPED = ("x86.scalar", "x86.avx2", "x86.avx512")


def _ladder(target: Target) -> list[Target]:
    return [target, *coarser(target, [F32])]


@pytest.mark.parametrize("name", [*SHIPPED, *TINY])
def test_every_step_keeps_only_what_was_there(name: str) -> None:
    """Fewer tile sizes of the same, and no more bytes of any level than before."""
    for before, after in pairwise(_ladder(context(name).target)):
        assert before != after
        assert set(after.sizes) <= set(before.sizes)
        assert list(after.sizes) == sorted(after.sizes)
        for fine, coarse in zip(before.levels, after.levels, strict=True):
            assert coarse.capacity_unit % fine.capacity_unit == 0
            assert (coarse.capacity or 0) * coarse.capacity_unit <= (
                fine.capacity or 0
            ) * fine.capacity_unit
        rest = replace(after, sizes=before.sizes, levels=before.levels)
        assert before == rest


@pytest.mark.parametrize("name", SHIPPED)
def test_what_every_program_needs_stays(name: str) -> None:
    """Size 1, the lanes of the vectors, sizes that kernels ask for, and registers, one by one."""
    target = context(name).target
    coarsest = _ladder(target)[-1]
    lanes = {v // 4 for level in target.levels for v in level.vectors}
    assert {1, *lanes, *_asked(target)} == set(coarsest.sizes)
    for fine, coarse in zip(target.levels, coarsest.levels, strict=True):
        if not fine.addressable:
            assert fine == coarse
        elif fine.capacity is not None:
            assert FEWEST_CAPACITY_UNITS <= (coarse.capacity or 0) < 2 * FEWEST_CAPACITY_UNITS


def _asked(target: Target) -> set[int]:
    """Sizes of kernels that are for no others."""
    patterns = (pattern for kernel in target.kernels for pattern in kernel.match.operands)
    return {size for pattern in patterns for size in pattern.shape if isinstance(size, int)}


def test_vectors_of_narrow_types_are_kept_for_them() -> None:
    target = context("x86.avx512").target
    coarsest = list(coarser(target, [F32, U8]))[-1]
    assert {1, 4, 16, 64, *_asked(target)} == set(coarsest.sizes)


def test_what_goes_in_which_order() -> None:
    ladder = _ladder(context("x86.scalar").target)
    l1 = [target.level_by_name["l1"].capacity for target in ladder]
    assert [16, 8, 4] == l1[:3]
    assert {4} == set(l1[3:])
    gone = [set(fine.sizes) - set(coarse.sizes) for fine, coarse in pairwise(ladder)]
    assert [set(), set(), {3}, {6}, {12}, {24}] == gone[:6]
    assert [{4096}, {1024}, {256}, {64}, {16}, {4}, {48}] == gone[6:13]
    assert [{2048}, {128}, {8}, {512}, {2}, {32}] == gone[13:]


def test_sizes_that_kernels_name_stay() -> None:
    """A kernel for tiles of two rows is of no use without tiles of two."""
    target = replace(context("tiny.flat").target, sizes=(1, 2, 3, 4, 6))
    assert (1, 2) == _ladder(target)[-1].sizes


def test_levels_that_kernels_ask_for_and_fixed_ones_keep_their_units() -> None:
    target = with_capacities(context("tiny.cached").target, {"near": 32})
    coarse = [changes(target, other, 9) for other in coarser(target, [F32])]
    assert [("near in 16 units",), ("near in 8 units",), ("near in 4 units",)] == coarse
    assert [] == list(coarser(target, [F32], {"near"}))
    asking = load_target(CACHED.replace("where  free(reg) >= 1", "where  free(near) >= 1"))
    assert [] == list(coarser(with_capacities(asking, {"near": 32}), [F32]))


def test_changes_are_said_as_far_as_they_matter() -> None:
    """A tile as large as the goal, or larger, would not have been tried anyway."""
    full = context("x86.scalar").target
    coarsest = _ladder(full)[-1]
    levels = ("l1 in 4 units", "l2 in 6 units")
    assert (*levels, "no tiles of 2 3 4 6") == changes(full, coarsest, 8)
    assert levels == changes(full, coarsest, 2)
    assert () == changes(full, full, 8)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_memo_keeps_them_apart(name: str) -> None:
    known = context(name)
    family = matmul(3, 4, 5).spec(known.target).family
    ladder = _ladder(known.target)
    found = {Fingerprints(replace(known, target=target)).of(family) for target in ladder}
    assert len(ladder) == len(found)
