"""Sums of integers wrap around, whatever a compiler makes of the C that it optimises."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

import morello
from morello.toolchain.build import build
from morello.toolchain.machine import Machine

from .kernels import Array, compiler, compilers

FLAGS = (("-O2",), ("-O3", "-mavx2"))
LENGTH = 71
"""So long that there is a loop, and numbers behind it."""

DTYPES = {"s8": np.int8, "u8": np.uint8, "s32": np.int32}
RIGHT = {
    "row_dot(x, x)": lambda x: (x * x).sum(1),
    "row_sum(x)": lambda x: x.sum(1),
    "row_max(x)": lambda x: x.max(1),
}


def _under(
    flags: tuple[str, ...], kind: str, kernel: morello.Kernel, x: Array, path: Path
) -> Array:
    """What the program's C gives for rows, built by this compiler with these flags."""
    source = {"s.c": kernel.source, "s.h": kernel.header}
    library = build(source, compiler(kind), (*kernel.c_source.flags, *flags), path / "s.so")
    found = np.zeros(len(x), x.dtype)
    run = ctypes.CDLL(str(library))[f"{kernel.name}_run"]
    assert run(x.ctypes.data_as(ctypes.c_void_p), found.ctypes.data_as(ctypes.c_void_p)) == 0
    return found


@pytest.mark.sample(4)
@pytest.mark.parametrize("flags", FLAGS, ids="".join)
@pytest.mark.parametrize("kind", compilers())
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("call", RIGHT)
def test_rows_of_integers(
    call: str, dtype: str, kind: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    """Several partial results side by side are all in the result: gcc 12.2 lost some of them."""
    if Machine().lacks(flags):
        pytest.skip("this machine lacks AVX2")
    text = f"spec s() {{ input x: {dtype}[3, {LENGTH}] output y: {dtype}[3] y = {call} }}"
    kernel = morello.compile(text, target="x86.scalar")
    x = (np.arange(3 * LENGTH) * 37 + 11).reshape(3, LENGTH).astype(DTYPES[dtype])
    expected = RIGHT[call](x.astype(np.int64)).astype(x.dtype)
    np.testing.assert_array_equal(_under(flags, kind, kernel, x, tmp_path), expected, strict=True)
