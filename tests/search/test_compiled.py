"""The solver in C has the costs and choices of the one in numpy, to the last bit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.errors import MorelloError, UsageError
from morello.ir.layout import Layout
from morello.rewriting.bind import Bound, SharedBinding, SharedUse
from morello.search.planning.demand import Task
from morello.search.search import search
from morello.search.solving import compiled
from morello.search.solving.compiled import KNOWN, CompiledSolver, compiled_solver, known
from morello.search.solving.solve import solve_variant
from morello.search.solving.step_plan import StepPlanner
from morello.search.tables.box import Box
from morello.search.tables.gather import Table
from morello.search.tables.scratch import Choices, Scratch
from morello.toolchain import native
from tests.search.budget import examples
from tests.search.goals import Wanted, batched, elementwise, matmul
from tests.search.machines import context
from tests.toolchain.sanitized import run_sanitized

OWN: Any = "own"
OTHER: Any = "other"

GOALS = (
    matmul(13, 1, 40),
    matmul(8, 12, 7, threads=2),
    matmul(6, 7, 5, B=Layout((1, 0), 2)),
    batched(2, 3, 4, 2),
    elementwise("add", 7, 5),
)


@pytest.fixture(scope="module")
def solver() -> CompiledSolver:
    """The solver as a search gets it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MORELLO_SOLVER", "compiled")
        found = compiled_solver()
    assert found is not None
    return found


@st.composite
def tasks(draw: st.DrawFn) -> tuple[Task, dict[Any, Box], Table]:
    """A variant with loops along its sizes, leaves, and alternatives that lead to another one."""
    number = np.random.default_rng(draw(st.integers(0, 1 << 30)))

    def values(low: int, most: int) -> list[int]:
        return draw(st.lists(st.integers(low, 12), min_size=1, max_size=most, unique=True))

    def box(sizes: int, used: int) -> Box:
        axes = [sorted(values(1, 6)) for _ in range(sizes)] + [
            sorted(values(0, 3)) for _ in range(used)
        ]
        closed = [sorted({*axis, *range(1, draw(st.integers(1, 5)))}) for axis in axes[:sizes]]
        return Box(tuple(np.asarray(a, dtype=np.int64) for a in (*closed, *axes[sizes:])), sizes)

    sizes, used = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    own, other = box(sizes, used), box(draw(st.integers(1, 3)), draw(st.integers(0, 2)))
    shape = own.shape

    def array(what: Any, front: int = 1) -> Any:
        """Something that varies along some of the axes."""
        lengths = [n if draw(st.booleans()) else 1 for n in shape]
        if draw(st.booleans()):
            lengths.insert(0, front)
        return np.asarray(what(lengths))

    def weights(lengths: list[int]) -> Any:
        return number.choice([0.0, 0.25, 1.0, 1.0, 3.7], lengths)

    def costs(lengths: list[int]) -> Any:
        return number.choice([0.0, 1.0, 2.5, 7.0], lengths)

    def mask(lengths: list[int]) -> Any:
        return number.random(lengths) < 0.8

    def elsewhere(front: int) -> SharedUse:
        place = tuple(
            array(lambda lengths, axis=axis: number.choice(axis, lengths), front)
            for axis in other.axes
        )
        return SharedUse(0, (), array(weights, front), place)

    bounds: list[Bound] = []
    nothing: Any = None
    for _ in range(draw(st.integers(1, 3))):
        uses = tuple(elsewhere(1) for _ in range(draw(st.integers(0, 2))))
        shared = SharedBinding(array(mask), array(costs), uses, ())
        bounds.append(Bound(nothing, shared, (OTHER,) * len(uses)))
    for _ in range(draw(st.integers(0, 3))):
        axis = draw(st.integers(0, sizes - 1))
        listed = [int(v) for v in own.axes[axis]]
        tiles = tuple(v for v in listed[:-1] if draw(st.booleans()))
        if not tiles:
            continue
        tile = np.asarray(tiles, dtype=np.int64).reshape(-1, *([1] * len(shape)))
        size = own.open_grid[axis]
        rest = np.where(np.isin(size % tile, listed), size % tile, 0)
        parts = [
            SharedUse(
                0,
                (),
                np.where(part > 0, np.where(part == tile, size // tile * tile, part) / size, 0.0),
                tuple(part if i == axis else grid for i, grid in enumerate(own.open_grid)),
            )
            for part in (tile + 0 * size, rest)
        ]
        more = (elsewhere(len(tiles)),) if draw(st.booleans()) else ()
        where = (tile < size) & array(mask, len(tiles))
        shared = SharedBinding(where, array(costs, len(tiles)), (*parts, *more), tiles)
        bounds.append(Bound(nothing, shared, (OWN, OWN, *((OTHER,) * len(more)))))
    table = number.choice([0.0, 0.5, 1.0, 3.0, np.inf], other.cells).astype(np.float32)
    return Task(OWN, own, tuple(bounds), False), {OWN: own, OTHER: other}, other.in_memory(table)


def _empty(box: Box) -> tuple[Table, Choices]:
    return (
        box.in_memory(np.empty(box.cells, np.float32)),
        box.in_memory(np.empty(box.cells, np.int16)),
    )


def _by_numpy(task: Task, boxes: dict[Any, Box], tables: dict[Any, Table]) -> tuple[Table, Choices]:
    costs, choices = _empty(task.box)
    solve_variant(task, boxes, {**tables, task.variant: costs}, choices, StepPlanner(), Scratch())
    return costs, choices


@examples(150)
@given(case=tasks())
def test_random_boxes(solver: CompiledSolver, case: tuple[Task, dict[Any, Box], Table]) -> None:
    task, boxes, table = case
    expected = _by_numpy(task, boxes, {OTHER: table})
    costs, choices = _empty(task.box)
    assert solver.solve(task, boxes, {OTHER: table, OWN: costs}, choices)
    assert np.array_equal(expected[0], costs)
    assert np.array_equal(expected[1], choices)


@pytest.mark.sample(2)
@pytest.mark.parametrize("goal", GOALS, ids=str)
@pytest.mark.parametrize(
    "target", ["tiny.buffered", "x86.scalar", pytest.param("x86.avx2", marks=pytest.mark.slow)]
)
def test_whole_goals(goal: Wanted, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    used = context(target)
    spec = goal.spec(used.target)
    monkeypatch.setenv("MORELLO_SOLVER", "numpy")
    expected = search(used, spec, workers=1)
    monkeypatch.setenv("MORELLO_SOLVER", "compiled")
    # What is not solved by it is solved by numpy: here that would be a failure.
    monkeypatch.setattr("morello.search.search.solve_variant", None)
    found = search(used, spec, workers=1)
    assert expected.solved.keys() == found.solved.keys()
    for variant, table in expected.solved.items():
        assert np.array_equal(table.costs, found.solved[variant].costs)
        assert np.array_equal(table.choices, found.solved[variant].choices)


def test_what_is_known_is_what_numpy_finds() -> None:
    task = known()
    found = _by_numpy(task, {task.variant: task.box}, {})
    assert [crc32(array.tobytes()) for array in found] == KNOWN
    assert np.isinf(found[0]).any()


def test_threads_have_the_same_record_of_a_form(
    solver: CompiledSolver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes second while it is made does not take the first one's away."""
    task, make = known(), compiled._binding_record
    shared = task.bounds[0].shared
    others: list[int] = []

    def meanwhile(shared: SharedBinding, rank: int) -> Any:
        monkeypatch.setattr(compiled, "_binding_record", make)
        others.append(solver._record(shared, task.box))
        return make(shared, rank)

    monkeypatch.setattr(compiled, "_binding_record", meanwhile)
    assert [solver._record(shared, task.box)] == others


def test_a_size_that_is_missing_is_seen(solver: CompiledSolver) -> None:
    """Whoever refers to a Spec that is in no list refers to another one: here, to itself."""
    task = known()
    box = Box((np.asarray([3]), *task.box.axes[1:]), 2)
    shared = task.bounds[2].shared
    nothing: Any = None
    cut = SharedBinding(np.asarray(True), shared.cost[:1, :1], (_first(box),), (9,))
    lost = Task(task.variant, box, (Bound(nothing, cut, (task.variant,)),), False)
    costs, choices = _empty(box)
    assert not solver.solve(lost, {lost.variant: box}, {lost.variant: costs}, choices)


def _first(box: Box) -> SharedUse:
    """The use of the tile, in a box that has none of the sizes of tiles."""
    tile = np.asarray([9], dtype=np.int64).reshape(1, 1, 1, 1)
    return SharedUse(0, (), np.asarray(1.0), (tile, *box.open_grid[1:]))


@pytest.fixture
def anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """No library is loaded, and none is kept in the directory that is given."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("MORELLO_CACHE", raising=False)
    native._library.cache_clear()
    yield tmp_path
    native._library.cache_clear()


def test_it_is_built_once(anew: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compiled_solver() is not None
    native._library.cache_clear()
    monkeypatch.setattr(native, "_build", None)
    assert compiled_solver() is not None


def test_a_library_that_computes_something_else_is_not_used(
    anew: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "KNOWN", [0, 0])
    assert compiled_solver() is None
    monkeypatch.setenv("MORELLO_SOLVER", "compiled")
    with pytest.raises(MorelloError, match="does not compute what it should"):
        compiled_solver()
    assert not list(anew.rglob("solver*"))


@pytest.mark.parametrize(
    ("variable", "value", "why"),
    [("CC", "no-such-compiler", "no-such-compiler"), ("MORELLO_CACHE", "off", "switched off")],
)
def test_without_a_compiler_or_start_up_files_numpy_does_it(
    variable: str, value: str, why: str, anew: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    assert compiled_solver() is None
    monkeypatch.setenv("MORELLO_SOLVER", "compiled")
    with pytest.raises(MorelloError, match=why):
        compiled_solver()


def test_another_solver_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MORELLO_SOLVER", "fast")
    with pytest.raises(UsageError, match="MORELLO_SOLVER is 'fast'"):
        compiled_solver()


SANITIZED = """
import ctypes, sys
import numpy as np
from hypothesis import given
from morello.search.solving.compiled import CompiledSolver
from tests.search.budget import examples
from tests.search.test_compiled import OTHER, OWN, _empty, tasks
library = ctypes.CDLL(sys.argv[1])

@examples(60)
@given(case=tasks())
def check(case):
    task, boxes, table = case
    costs, choices = _empty(task.box)
    assert CompiledSolver(library).solve(task, boxes, {OTHER: table, OWN: costs}, choices)

check()
print("done")
"""


def test_under_sanitizers(tmp_path: Path) -> None:
    run_sanitized(Path(compiled.__file__).with_name("solver.c"), SANITIZED, tmp_path)
