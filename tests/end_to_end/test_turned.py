"""Dimensions in another order, alone, converted and computed with, against numpy."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import morello
from morello.ir.dtypes import DTYPES

from .kernels import to_run

TARGETS = ("c.scalar", "x86.avx2", "x86.avx512")
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 31, 33, 40)
MOST_ELEMENTS = 20_000
COMPUTED = ("u8", "s8", "f32", "s32")
TYPES = (*COMPUTED, "bf16", "f16")


def _drawn(random: Random) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A shape, and an order of its dimensions that is not its own."""
    while True:
        shape = tuple(random.choice(SIZES) for _ in range(random.choice((2, 3, 3, 4))))
        order = tuple(random.sample(range(len(shape)), len(shape)))
        if np.prod(shape) <= MOST_ELEMENTS and list(order) != sorted(order):
            return shape, order


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("seed", range(24))
def test_what_is_turned_is_what_numpy_says(seed: int, target: str) -> None:
    random = Random(seed)
    shape, order = _drawn(random)
    computed = random.random() < 0.4
    result = random.choice(COMPUTED if computed else TYPES)
    dtype = random.choice((result, result, result, *TYPES))
    dims = "ijkl"[: len(shape)]
    turned = [dims[d] for d in order]
    read, into = f"x[{', '.join(dims)}]", f"y[{', '.join(turned)}]"
    shapes = [", ".join(map(str, s)) for s in (shape, [shape[d] for d in order])]
    text = f"""spec turned() {{
      input x: {dtype}[{shapes[0]}]
      {f"input m: {result}[{shape[0]}]" if computed else ""}
      output y: {result}[{shapes[1]}]
      {into} = {read}{" + m[i]" if computed else ""}
    }}"""
    kernel = to_run(morello.compile, text, target=target)
    values = np.random.default_rng(seed)
    x = values.integers(0, 50, shape).astype(DTYPES[dtype].numpy)
    m = values.integers(0, 50, shape[0]).astype(DTYPES[result].numpy)
    given = {"x": x, "m": m} if computed else {"x": x}
    added = m.reshape(-1, *[1] * (len(shape) - 1)) if computed else np.zeros(1)
    wanted = (x.astype(np.int64) + added.astype(np.int64)).transpose(order)
    assert np.array_equal(kernel(**given).astype(np.int64), wanted)


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [("f32", (16, 192, 9)), ("s32", (64, 96, 16)), ("bf16", (8, 256, 11)), ("u8", (64, 320, 20))],
)
def test_planes_that_are_pages_apart_are_written_row_by_row(
    dtype: str, shape: tuple[int, int, int]
) -> None:
    h, w, c = shape
    text = f"""spec planes() {{
      input x: {dtype}[{h}, {w}, {c}]
      output y: {dtype}[{c}, {h}, {w}]
      y[c, h, w] = x[h, w, c]
    }}"""
    kernel = to_run(morello.compile, text, target="x86.avx2")
    x = np.random.default_rng(h).integers(0, 250, shape).astype(DTYPES[dtype].numpy)
    assert np.array_equal(kernel(x=x), x.transpose(2, 0, 1))
    assert "uint8_t rows_[" in kernel.c_source.source
