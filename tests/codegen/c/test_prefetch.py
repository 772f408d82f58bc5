"""The next tile is fetched while a loop works on this one: which, how much, and from where."""

from __future__ import annotations

import re

import numpy as np
import pytest

from morello.codegen.c.emitter import CEmitter
from morello.codegen.c.operands import COperand
from morello.codegen.c.scope import CScope
from morello.ir.layout import Axis, Layout
from morello.ir.passes import FETCH_TILES, GAP_PANELS, SHARE_ROWS
from morello.ir.programs.emitted import EmitOptions
from morello.ir.programs.tree import Affine, Node, Program, Resident, View

from .build import at, call, loop, origin, program, tensor, view
from .definitions import operation, runnable, with_passes
from .harness import run_everywhere
from .programs import near

ROWS = 64
ADD = {"x86.scalar": "element", "x86.avx2": "vector_x8", "x86.avx512": "vector_x16"}


def _added(
    target: str = "x86.avx512",
    *,
    columns: int = 4096,
    width: int = 32,
    times: int = 4,
    level: str = "mem",
    held: bool = True,
    unrolled: bool = False,
    moving: bool = False,
    passes: tuple[str, ...] = (FETCH_TILES,),
) -> Program:
    """A matrix is added to several that lie one below the other, tile by tile of all its rows.

    Each tile is used as often as there are matrices, or by ``moving`` row by row.
    """
    known = with_passes(target, *passes)
    one = 1 if target == "x86.scalar" else width
    a = tensor("a", (ROWS, columns), level=level, role="input")
    x = tensor("x", (times * ROWS, columns), role="input")
    y = tensor("y", (times * ROWS, columns), role="output")
    column = at("n") if one == width else Affine(0, (("j", 1), ("n", 1)))
    below = Affine(0, (("i", 1), ("r", 1)))
    parts = (
        view(a, [at("i"), column], [1, one]),
        *(view(t, [below, column], [1, one]) for t in (x, y)),
    )
    body: Node = call(known, ADD[target], operation("add", 2), *map(near, parts))
    body = body if one == width else loop("j", width, 1, body)
    rows, matrices = ("i", ROWS, 1), ("r", times, ROWS)
    for variable, count, step in (matrices, rows) if moving else (rows, matrices):
        body = loop(variable, count, step, body, unrolled=unrolled and variable == "r")
    tile = near(view(a, [0, at("n")], [ROWS, width]))
    body = Resident(tile, body, origin("pack")) if held else body
    return program(known, [a, x, y], loop("n", columns // width, width, body))


def _ahead(made: Program) -> list[str]:
    source = CEmitter().emit(made, EmitOptions()).source
    return re.findall(r".*ahead_.*", source)


@pytest.mark.parametrize("name", runnable())
def test_fetching_the_next_tile_changes_no_result(name: str) -> None:
    """The one after the last lies outside of the tensor: it is an integer, and no pointer."""
    made = _added(name)
    assert len(_ahead(made)) == (33 if name != "x86.scalar" else 0)
    a, x = (np.random.default_rng(5).random(t.shape, np.float32) for t in made.arguments[:2])
    expected = np.tile(a, (4, 1)) + x
    code = CEmitter().emit(made, EmitOptions())
    for (found,) in run_everywhere(made, code, [a, x]):
        np.testing.assert_array_equal(found, expected, strict=True)


def test_iterations_share_the_next_tile() -> None:
    """Each of 4 fetches 16 of 64 rows: two lines of the tile 32 columns on, 16 KiB apart."""
    first, *lines = _ahead(_added())
    assert first.strip() == "const uintptr_t ahead_ = (uintptr_t)a + (n + 32) * 4 + r * 4096;"
    offsets = [int(re.findall(r"ahead_ \+ (\d+)", line)[0]) for line in lines]
    assert offsets == [16384 * row + line for row in range(16) for line in (0, 64)]


def test_iterations_beyond_the_last_row_fetch_nothing() -> None:
    """Of 24, each fetches 3 rows, until there are no more after 22."""
    source = CEmitter().emit(_added(times=24), EmitOptions()).source
    assert "if (r < 1408) {\n" in source
    assert len(_ahead(_added(times=24))) == 1 + 3 * 2


def test_more_iterations_than_rows_fetch_one_each() -> None:
    """Steps of 64 do not divide what is between rows of another length: whole iterations count."""
    first, *lines = _ahead(_added(times=100, columns=5008, width=16))
    assert first.strip() == "const uintptr_t ahead_ = (uintptr_t)a + (n + 16) * 4 + r * 313;"
    assert len(lines) == 1
    first, *_ = _ahead(_added(times=100, columns=4097, width=17))
    assert first.strip().endswith("+ r / 64 * 16388;")


@pytest.mark.parametrize(
    "changed",
    [
        {"passes": (GAP_PANELS, SHARE_ROWS)},
        {"held": False},
        {"unrolled": True},
        {"moving": True},
        {"width": 64},
        {"columns": 2048},
        {"level": "l2"},
        {"target": "x86.scalar"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_what_is_not_fetched_ahead(changed: dict[str, int | str]) -> None:
    """What no cache holds; where no loop at run time stays; too much; what L2 holds; by nothing."""
    assert _ahead(_added())
    assert not _ahead(_added(**changed))  # type: ignore[arg-type]


def _several_rows(*, inner: str, rows: int = 4, held: bool = True) -> Program:
    """Rows are doubled, some whole ones at a time: along all of them by turns, or one by one."""
    known = with_passes("x86.avx512", FETCH_TILES)
    x = tensor("x", (ROWS * 64, 1024), role="input")
    y = tensor("y", (ROWS * 64, 1024), role="output")
    row = Affine(0, (("i", 1), ("r", 1)))
    parts = (view(t, [row, at("n")], [1, 16]) for t in (x, x, y))
    body: Node = call(known, "vector_x16", operation("add", 2), *map(near, parts))
    loops = {"rows": ("r", rows, 1), "columns": ("n", 64, 16)}
    outer = next(name for name in loops if name != inner)
    for name in (inner, outer):
        body = loop(*loops[name], body, unrolled=name == "rows")
    tile = near(view(x, [at("i"), 0], [rows, 1024]))
    body = Resident(tile, body, origin("cache")) if held else body
    return program(known, [x, y], loop("i", ROWS * 64 // rows, rows, body))


def test_rows_that_are_gone_through_by_turns_are_fetched_in_order() -> None:
    made = _several_rows(inner="rows")
    code = CEmitter().emit(made, EmitOptions())
    assert "const uintptr_t tile_ = (uintptr_t)x + (i * 1024) * 4;" in code.source
    assert "at_ < 16384; at_ += 64" in code.source
    x = np.random.default_rng(6).random(made.arguments[0].shape, np.float32)
    for (found,) in run_everywhere(made, code, [x]):
        np.testing.assert_array_equal(found, x + x, strict=True)


@pytest.mark.parametrize(
    "changed",
    [{"inner": "columns"}, {"inner": "rows", "rows": 8}, {"inner": "rows", "held": False}],
    ids=("in order", "more than half of the cache", "what no cache holds"),
)
def test_what_is_not_fetched_in_order(changed: dict[str, str | int | bool]) -> None:
    assert "tile_" not in CEmitter().emit(_several_rows(**changed), EmitOptions()).source  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shape", "layout", "sizes", "pieces"),
    [
        ((8, 64), (0, 1), (8, 64), ((512, 1),)),
        ((8, 64), (0, 1), (3, 32), ((3, 64), (32, 1))),
        ((8, 64), (1, 0), (3, 32), ((32, 8), (3, 1))),
        ((8, 64), (0, 1), (1, 1), ()),
        ((), (), (), ()),
        ((100, 64), Layout((0, 1), 16), (100, 48), ((4800, 1),)),
        ((100, 64), Layout((0, 1), 16), (20, 48), ((3, 1600), (320, 1))),
        ((100, 64), Layout((0, 1), 16), (20, 8), ((20, 16), (8, 1))),
    ],
)
def test_pieces_of_a_tile(
    shape: tuple[int, ...],
    layout: tuple[int, ...] | Layout,
    sizes: tuple[int, ...],
    pieces: tuple[tuple[int, int], ...],
) -> None:
    """Those farthest apart first; what touches is one."""
    x = tensor("x", shape, layout=layout)
    part = view(x, [0] * len(shape), sizes)
    assert COperand("X", part, CScope().with_memory(x), reads=True).pieces == pieces


def test_windows_that_overlap_are_one_piece() -> None:
    """3 rows of each of 4 windows, two rows apart, are 9 rows."""
    x = tensor("x", (32, 8))
    part = View(x, (Affine(), Affine()), (4, 3, 8), "mem", (Axis(0, 2), Axis(0), Axis(1)))
    assert COperand("X", part, CScope().with_memory(x), reads=True).pieces == ((72, 1),)


@pytest.mark.parametrize(
    ("loops", "rereads"),
    [
        ("", 1),
        ("m:6:2", 1),
        ("k:8:2", 1),
        ("m:6:2 k:8:2 n:9:3", 1),
        ("k:8:2 m:7:2 n:9:3", 4),
        ("k:8:2 m:6:2 n:9:3 o:10:5", 6),
    ],
)
def test_how_often_a_part_is_read_again(loops: str, rereads: int) -> None:
    """By loops that stay in it, within those that move it: named, how far and by what step."""
    x = tensor("x", (8, 9), role="input")
    scope = CScope().with_memory(x).with_value("unrolled", 3)
    for name, end, step in (one.split(":") for one in loops.split()):
        scope = scope.with_variable(name, name, int(step), int(end))
    offsets = [at(v) if v in scope.variables else Affine() for v in ("k", "n")]
    operand = COperand("X", view(x, offsets, [2, 3]), scope, reads=True)
    assert operand.rereads == rereads
