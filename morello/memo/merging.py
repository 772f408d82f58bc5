"""Merging runs in C, handed what `runs.c` reads.

It is used if it compresses a known table exactly; see `morello.toolchain.native`.
"""

from __future__ import annotations

import ctypes
from functools import cache
from zlib import crc32

import numpy as np

from morello.memo.boxes import Boxes, Table
from morello.toolchain.addresses import address_of
from morello.toolchain.native import native

MOST_CELLS = (1 << 31) - 1
"""Flat positions are of 32 bits, and there is one that is no cell."""


def fits(table: Table) -> bool:
    """Whether a table is such as pages have, so that the C can read it."""
    return table.dtype == np.int32 and table.size <= MOST_CELLS


def compiled_merging() -> CompiledMerging | None:
    """What merges runs in C; none where numpy has to do.

    Raises:
        MorelloError: It was asked for, and it cannot be had.
        UsageError: The environment variable that asks for it has another value.
    """
    library = native(__package__, "runs", _merges_what_is_known)
    return None if library is None else _merging(library)


class CompiledMerging:
    """Compresses tables as `morello.memo.compression` does; threads may share it."""

    def __init__(self, library: ctypes.CDLL) -> None:
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        self._merge, self._paint = library.merge_runs, library.paint
        self._merge.argtypes = (pointer, number, number, *[pointer] * 4)
        self._paint.argtypes = (pointer, number, pointer, number, *[pointer] * 6)
        self._merge.restype = self._paint.restype = number

    def merged(self, table: Table) -> Boxes:
        """The boxes of a table that `fits`."""
        table, rank = np.asarray(table, order="C"), table.ndim
        shape, cells = np.array(table.shape, np.int64), table.size
        owner, first, last = np.empty((3, cells), np.uint32)
        places = (address_of(first), address_of(last))
        start = (address_of(table), cells, rank, address_of(shape), address_of(owner))
        count = self._merge(*start, *places)
        keys = np.empty(count, np.uint64)
        low, high = np.empty((2, count + 1, rank), np.uint32)
        value = np.empty(count + 1, np.int32)
        results = map(address_of, (keys, low, high, value))
        kept = self._paint(address_of(table), rank, address_of(shape), count, *places, *results)
        kind = np.min_scalar_type(max(table.shape, default=1))
        return Boxes(low[:kept].astype(kind), high[:kept].astype(kind), value[:kept].copy())


_merging = cache(CompiledMerging)


def known() -> Table:
    """A small table: some values, a staircase, an axis of one cell, and one box in another."""
    grid = np.indices((7, 6, 1, 5), np.int32)
    table = (grid[0] + grid[3]) // 3 % 3 - (grid[1] > 3)
    table[2:5, 1:4] = 7
    return np.asarray(table, np.int32)


KNOWN = 3361995345
"""CRC-32 of the boxes of `known`: first cells, cells behind the last, values."""


def _merges_what_is_known(library: ctypes.CDLL) -> bool:
    found = CompiledMerging(library).merged(known())
    return crc32(b"".join(a.tobytes() for a in (found.low, found.high, found.value))) == KNOWN
