"""What a rule's result becomes for one Spec: loops with tails, placements that fit or not."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from morello.ir.layout import pack, packed
from morello.ir.spec import Spec
from morello.records import replace
from morello.rewriting.alternatives import RuleAlternative, choice_text
from morello.rewriting.context import Context
from morello.rewriting.enumeration import alternatives
from morello.rewriting.steps import Placed, Sequence, Step, Tiled, flatten
from morello.search.results.reconstruct import concrete_step, leaf_spec, leaves
from tests.search.goals import Wanted, elementwise, matmul
from tests.search.machines import context


def _step(name: str, wanted: Wanted, rule: str, tile: int | None = None, **choices: str) -> Step:
    """The result of a rule with these choices, by their names, on a whole goal."""
    known = context(name)
    return _apply(known, wanted.spec(known.target), rule, tile, choices)


def _apply(
    known: Context, spec: Spec, rule: str, tile: int | None, choices: Mapping[str, str]
) -> Step:
    for alternative in alternatives(known, spec.family):
        if not isinstance(alternative, RuleAlternative) or alternative.rule.name != rule:
            continue
        texts = {variable: choice_text(value) for variable, value in alternative.choices}
        if choices.items() <= texts.items():
            return concrete_step(known, spec, alternative, tile)
    raise AssertionError(f"{rule} does not apply with {choices}")


def _specs(step: Step) -> list[tuple[Spec, int]]:
    return [(leaf_spec(leaf), count) for leaf, count in leaves(step)]


@pytest.mark.parametrize(
    ("size", "tile", "counts"),
    [(6, 2, [(2, 3)]), (7, 2, [(2, 3), (1, 1)]), (2, 1, [(1, 2)]), (5, 3, [(3, 1), (2, 1)])],
)
def test_full_tiles_then_what_is_left(size: int, tile: int, counts: list[tuple[int, int]]) -> None:
    step = _step("tiny.flat", elementwise("relu", size), "tile_output", tile, d="i0")
    assert isinstance(step, Tiled)
    assert step.guard
    assert counts == [(spec.sizes[0], count) for spec, count in _specs(step)]


@pytest.mark.parametrize("tile", [4, 5, 9])
def test_a_tile_is_smaller_than_what_it_divides(tile: int) -> None:
    step = _step("tiny.flat", elementwise("relu", 4), "tile_output", tile, d="i0")
    assert isinstance(step, Tiled)
    assert not step.guard


@pytest.mark.parametrize(
    ("threads", "tile", "full", "tail"), [(2, 2, 2, 0), (3, 2, 1, 1), (3, 1, 3, None), (2, 4, 1, 0)]
)
def test_the_slowest_thread_counts(threads: int, tile: int, full: int, tail: int | None) -> None:
    """Seven rows: tiles are shared out, and the tail comes on top unless a thread is idle."""
    wanted = matmul(7, 1, 1, threads=threads)
    step = _step("tiny.flat", wanted, "parallel_tile", tile, d="m")
    found = _specs(step)
    assert [n for n in (full, tail) if n is not None] == [count for _, count in found]
    assert all(spec.family.threads == 1 for spec, _ in found)


@pytest.mark.parametrize(
    ("threads", "rows", "parts"), [(2, 7, [(4, 1), (3, 0)]), (3, 6, [(2, 1)]), (4, 6, [(2, 1)])]
)
def test_threads_get_equal_parts(threads: int, rows: int, parts: list[tuple[int, int]]) -> None:
    """As equal as can be: what is left over is less, and takes no longer."""
    step = _step("tiny.flat", matmul(rows, 2, 3, threads=threads), "parallel_share", d="m")
    assert isinstance(step, Tiled)
    assert step.guard
    assert parts == [(spec.sizes[0], count) for spec, count in _specs(step)]
    assert step.threads_used == -(-rows // parts[0][0])


@pytest.mark.parametrize(
    ("shape", "tiles"),
    [
        ((4, 6), {(2, 2): 1}),
        ((5, 6), {(3, 2): 1, (2, 2): 0}),
        ((4, 5), {(2, 2): 1, (2, 1): 0}),
        ((5, 5), {(3, 2): 1, (3, 1): 0, (2, 2): 0, (2, 1): 0}),
    ],
)
def test_threads_get_tiles_of_a_grid(
    shape: tuple[int, int], tiles: dict[tuple[int, int], int]
) -> None:
    """Six of them, in two rows of three; those at the ends take no longer."""
    wanted = matmul(*shape, 7, threads=6)
    step = _step("tiny.flat", wanted, "parallel_grid", d="m", e="n", n="2")
    assert isinstance(step, Tiled)
    assert (step.tiles, step.runs, step.threads_used) == (6, 1, 6)
    found = _specs(step)
    assert tiles == {(spec.sizes[0], spec.sizes[1]): count for spec, count in found}
    assert all(spec.family.threads == 1 for spec, _ in found)


@pytest.mark.parametrize(
    ("threads", "runs", "used"), [(1, 12, 1), (5, 3, 4), (8, 2, 6), (20, 1, 12)]
)
def test_tiles_of_a_grid_are_dealt_out_together(threads: int, runs: int, used: int) -> None:
    """Three rows of four, with the ends; as few threads as it takes."""
    body = Sequence(())
    row = Tiled("n", 2, 3, threads, 1, True, False, True, body, body, inner=True)
    grid = Tiled("m", 2, 2, threads, 1, True, False, True, row, row)
    assert (grid.tiles, grid.runs, grid.threads_used) == (12, runs, used)
    assert (row.runs, row.threads_used) == (1, 1)


@pytest.mark.parametrize(("size", "sums"), [(6, 3), (7, 4)])
def test_threads_wait_for_what_is_done_in_order(size: int, sums: int) -> None:
    """Three tiles for two threads, and a tail: two at once, but each is added in its turn."""
    wanted = matmul(1, 1, size, threads=2)
    step = _step("tiny.flat", wanted, "parallel_sum", 2, d="k", level="reg", vector="8")
    counts: dict[str, int] = {}
    for spec, count in _specs(step):
        name = spec.family.operation.operator.name
        counts[name] = counts.get(name, 0) + count
    assert counts == {"fill": 1, "matmul": 2, "add": sums}


def test_a_part_of_rows_is_no_longer_packed() -> None:
    """Whole rows stay packed together; parts of rows are packed one by one, or alias (8 bytes)."""
    rows = _step("tiny.flat", elementwise("relu", 4, 3), "tile_output", 2, d="i0")
    (spec, _), *_ = _specs(rows)
    assert (packed(2), packed(2)) == spec.packing
    for width, aliasing in ((3, 0), (4, 1)):
        columns = _step("tiny.flat", elementwise("relu", 4, width), "tile_output", 1, d="i1")
        (spec, _), *_ = _specs(columns)
        assert (2 + aliasing, 2 + aliasing) == spec.packing


@pytest.mark.parametrize(("size", "taken", "fits"), [(2, 1, True), (6, 3, True), (7, 4, False)])
def test_a_copy_takes_what_it_fills(size: int, taken: int, fits: bool) -> None:
    """Three registers of two lanes, and no more; what is in use follows."""
    step = _step("tiny.flat", elementwise("relu", size), "move", X="X", level="reg", vector="8")
    assert isinstance(step, Placed)
    assert (taken, fits, True) == (step.taken, step.fits, step.copied)
    assert all((min(taken, 3),) == spec.used for spec, _ in _specs(step))


def test_a_cache_takes_lines_in_units() -> None:
    """Nine elements are five lines of eight bytes, three capacity units of sixteen: too many."""
    for size, taken, fits in ((4, 1, True), (8, 2, True), (9, 3, False)):
        step = _step("tiny.cached", elementwise("relu", size), "cache", X="X", level="near")
        assert isinstance(step, Placed)
        assert (taken, fits, False) == (step.taken, step.fits, step.copied)


@pytest.mark.parametrize(("aliasing", "taken", "fits"), [(0, 1, True), (1, 4, False)])
def test_rows_that_alias_take_whole_pages(aliasing: int, taken: int, fits: bool) -> None:
    """Two rows of a line are one unit; of pages of 32 bytes they leave the same lines unused."""
    known = context("tiny.cached")
    wide = replace(known, target=replace(known.target, page=32))
    spec = elementwise("relu", 2, 1).spec(wide.target)
    rows = replace(spec, packing=(int(pack(1, aliasing)),) * 2)
    step = _apply(wide, rows, "cache", None, {"X": "X", "level": "near"})
    assert isinstance(step, Placed)
    assert (taken, fits) == (step.taken, step.fits)


def test_a_moved_output_is_copied_back() -> None:
    """In after the work; and, where its old contents matter, out before it."""
    target = context("tiny.flat").target
    wanted = matmul(2, 2, 2)
    step = _step("tiny.flat", wanted, "accumulate")
    assert isinstance(step, Sequence)
    names = [str(spec.family.operation) for spec, _ in _specs(step)]
    assert ["fill", "accumulating matmul"] == names
    moved = _step("tiny.flat", elementwise("relu", 2), "move", X="Y", vector="8")
    assert ["relu", "copy"] == [str(spec.family.operation) for spec, _ in _specs(moved)]
    assert all(spec.family.operands[0].level in target.levels for spec, _ in _specs(moved))


def test_flattening_finds_every_leaf_with_its_count() -> None:
    """Also a tail that does not exist, which is not active."""
    for size, expected in ((4, [(2, True), (1, False)]), (5, [(2, True), (1, True)])):
        step = _step("tiny.flat", elementwise("relu", size), "tile_output", 2, d="i0")
        flat = flatten(step)
        assert expected == [(use.count, bool(use.active)) for use in flat.uses]
        assert all(flat.required)


def test_a_copy_that_does_not_fit_is_a_requirement_that_fails() -> None:
    """And the level is consumed by everything inside."""
    step = _step("tiny.flat", elementwise("relu", 7), "move", X="X", level="reg", vector="8")
    assert [False] == [bool(condition) for condition in flatten(step).required]
    assert {"reg"} == set().union(*(use.consumed for use in flatten(step).uses))
