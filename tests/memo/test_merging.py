"""Merging in C gives the boxes that numpy finds, in the same order and types."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given

from morello.memo import merging
from morello.memo.boxes import Boxes
from morello.memo.compression import compress, merged_by_numpy
from morello.memo.merging import KNOWN, CompiledMerging, compiled_merging, known
from tests.memo.tables import Table, tables, tiled
from tests.search.budget import examples
from tests.toolchain.sanitized import run_sanitized


@pytest.fixture(scope="module")
def compiled() -> CompiledMerging:
    """The library as a memo gets it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MORELLO_SOLVER", "compiled")
        found = compiled_merging()
    assert found is not None
    return found


def _same(expected: Boxes, found: Boxes) -> None:
    pairs = zip(_arrays(expected), _arrays(found), strict=True)
    for one, other in pairs:
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_array_equal(one, other)


def _arrays(boxes: Boxes) -> tuple[npt.NDArray[np.integer], ...]:
    return boxes.low, boxes.high, boxes.value


@examples(300)
@given(table=tables((np.int32,)))
def test_random_tables(compiled: CompiledMerging, table: Table) -> None:
    _same(merged_by_numpy(table), compiled.merged(table))


@pytest.mark.parametrize("shape", [(12, 9, 7), (1, 300, 2, 3), (70_000,), (4, 1, 6, 1, 5, 2)])
def test_tables_like_those_of_a_search(compiled: CompiledMerging, shape: tuple[int, ...]) -> None:
    table = tiled(*shape).astype(np.int32)
    _same(merged_by_numpy(table), compiled.merged(table))
    _same(merged_by_numpy(table), compiled.merged(np.asfortranarray(table)))


def test_what_is_known_is_what_numpy_finds() -> None:
    assert crc32(b"".join(a.tobytes() for a in _arrays(merged_by_numpy(known())))) == KNOWN


def test_it_is_used_unless_numpy_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    table = known()
    expected = compress(table)
    monkeypatch.setattr("morello.memo.compression.merged_by_numpy", None)
    _same(expected, compress(table))
    monkeypatch.setenv("MORELLO_SOLVER", "numpy")
    with pytest.raises(TypeError, match="not callable"):
        compress(table)


SANITIZED = """
import ctypes, sys
import numpy as np
from hypothesis import given
from morello.memo.merging import CompiledMerging
from tests.memo.tables import tables
from tests.search.budget import examples
compiled = CompiledMerging(ctypes.CDLL(sys.argv[1]))

@examples(100)
@given(table=tables((np.int32,)))
def check(table):
    compiled.merged(table)

check()
print("done")
"""


def test_under_sanitizers(tmp_path: Path) -> None:
    run_sanitized(Path(merging.__file__).with_name("runs.c"), SANITIZED, tmp_path)
