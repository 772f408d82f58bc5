"""The solver in C, handed what `solver.c` reads.

It is used if it solves a small problem to the last bit; see `morello.toolchain.native`. Where it
cannot be had, `morello.search.solving.solve` does the same with numpy.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from morello.ir.numeric import Array, Ints
from morello.ir.spec import Variant
from morello.rewriting.bind import Bound, SharedBinding, SharedUse
from morello.search.planning.demand import Task
from morello.search.tables.box import Box
from morello.search.tables.gather import Table
from morello.search.tables.scratch import Choices
from morello.toolchain.addresses import address_of
from morello.toolchain.native import native


def compiled_solver() -> CompiledSolver | None:
    """A solver for one search; none where numpy has to do.

    Raises:
        MorelloError: It was asked for, and it cannot be had.
        UsageError: The environment variable that asks for it has another value.
    """
    library = native(__package__, "solver", _solves_what_is_known)
    return None if library is None else CompiledSolver(library)


def _solves_what_is_known(library: ctypes.CDLL) -> bool:
    task = known()
    costs = task.box.in_memory(np.empty(task.box.cells, np.float32))
    choices = task.box.in_memory(np.empty(task.box.cells, np.int16))
    done = CompiledSolver(library).solve(
        task, {task.variant: task.box}, {task.variant: costs}, choices
    )
    return done and [crc32(found.tobytes()) for found in (costs, choices)] == KNOWN


class CompiledSolver:
    """Solves the variants of one search; threads may share it."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._solve = library.solve
        self._solve.argtypes = (ctypes.c_void_p, ctypes.c_int64, *[ctypes.c_void_p] * 6)
        self._solve.restype = ctypes.c_int
        self._boxes: dict[Box, _Record] = {}
        self._records: dict[SharedBinding, _Record] = {}

    def solve(
        self,
        task: Task,
        boxes: Mapping[Variant, Box],
        tables: Mapping[Variant, Table],
        choices: Choices,
    ) -> bool:
        """Solve every Spec of a variant's box, as `morello.search.solving.solve` does.

        Returns:
            Whether it could; if not, tables are undefined.
        """
        forms, firsts, below, read = [], [], [], []
        first = 0
        for bound in task.bounds:
            forms.append(self._record(bound.shared, task.box))
            firsts.append(first)
            first += len(bound.tiles) or 1
            for variant in bound.variants:
                below.append(self._box(boxes[variant]))
                read.append(address_of(tables[variant]))
        costs = tables[task.variant]
        words = np.asarray([*forms, *firsts, *below, *read], dtype=np.int64)
        lists = address_of(words)
        status = self._solve(
            self._box(task.box),
            len(forms),
            lists,
            lists + words.itemsize * len(forms),
            lists + words.itemsize * 2 * len(forms),
            lists + words.itemsize * (2 * len(forms) + len(below)),
            address_of(costs),
            address_of(choices),
        )
        return bool(status == 0)

    def _box(self, box: Box) -> int:
        found = self._boxes.get(box)
        if found is None:  # of two threads' records the first stays, and both have its address
            found = self._boxes.setdefault(box, _box_record(box))
        return found.address

    def _record(self, shared: SharedBinding, box: Box) -> int:
        found = self._records.get(shared)
        if found is None:
            found = self._records.setdefault(shared, _binding_record(shared, len(box.axes)))
        return found.address


class _Record:
    """Words that stay where they are, with the arrays that they have addresses of."""

    def __init__(self, words: list[int], arrays: list[Array]) -> None:
        self._words: Ints = np.asarray(words, dtype=np.int64)
        self._arrays = arrays
        self.address = address_of(self._words)


def _box_record(box: Box) -> _Record:
    words = [len(box.axes), box.dimensions]
    arrays: list[Array] = []
    for axis in box.storage:
        values, ranks = np.ascontiguousarray(box.axes[axis]), box.ranks[axis]
        arrays.append(values)
        words += (axis, len(values), address_of(values))
        if ranks is None:
            words += (0, 0)
        else:
            arrays.append(ranks)
            words += (address_of(ranks), len(ranks) - 1)
    return _Record(words, arrays)


def _binding_record(shared: SharedBinding, rank: int) -> _Record:
    tiles = np.asarray(shared.tiles, dtype=np.int64)
    arrays: list[Array] = [tiles]
    words = [
        rank,
        address_of(tiles) if shared.tiles else 0,
        len(shared.tiles) or 1,
        len(shared.uses),
    ]

    def add(array: npt.ArrayLike, dtype: npt.DTypeLike) -> None:
        found = np.asarray(array, dtype=dtype)
        arrays.append(found)
        size = found.itemsize
        steps = [
            step // size if length > 1 else 0
            for step, length in zip(found.strides, found.shape, strict=True)
        ]
        words.append(address_of(found))
        # Arrays broadcast from the last axis backwards: the axes that one lacks are the first.
        words.extend((0,) * (1 + rank - len(steps)))
        words.extend(steps)

    add(shared.mask, np.bool_)
    add(shared.cost, np.float64)
    for use in shared.uses:
        add(use.weight, np.float64)
        words.append(len(use.coordinates))
        for coordinate in use.coordinates:
            add(coordinate, np.int64)
    return _Record(words, arrays)


# ------------------------------------------------------------------------- what is known


def known() -> Task:
    """A small problem: tiles along two dimensions, remainders, memory in use, equal costs."""
    axes = ([1, 2, 3, 4, 7, 8], [1, 2, 3, 6], [0, 1, 5])
    box = Box(tuple(np.asarray(axis, dtype=np.int64) for axis in axes), 2)
    m, n, used = box.open_grid
    leaf = SharedBinding((m <= 2) & (n * used <= 6), 1.5 * m + n + used, (), ())
    other = SharedBinding((m == 1) & (n == 1), np.asarray(3.0), (), ())
    forms = (
        leaf,
        other,
        _tiling(box, 0, (1, 2, 3, 4, 7), used < 5),
        _tiling(box, 1, (1, 2, 3), np.asarray(True)),
    )
    variant: Any = "known"
    nothing: Any = None
    bounds = tuple(Bound(nothing, shared, (variant,) * len(shared.uses)) for shared in forms)
    return Task(variant, box, bounds, False)


def _tiling(box: Box, axis: int, tiles: tuple[int, ...], where: Array) -> SharedBinding:
    """A loop over one dimension, with what remains of it."""
    tile = np.asarray(tiles, dtype=np.int64).reshape(-1, 1, 1, 1)
    size = box.open_grid[axis]
    rest = size % tile

    def use(part: Ints) -> SharedUse:
        coordinates = [part if i == axis else values for i, values in enumerate(box.open_grid)]
        weight = np.where(part == tile, size // tile * tile, part) / size
        return SharedUse(0, (), np.asarray(weight, dtype=np.float64), tuple(coordinates))

    return SharedBinding(
        (tile < size) & where, np.asarray(0.25) * (size // tile), (use(tile), use(rest)), tiles
    )


KNOWN = [224722210, 3418185284]
"""CRC-32 of the costs of `known` and of what attains them, as they lie in memory."""
