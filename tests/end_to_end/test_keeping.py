"""A product that keeps what it reads of B, as the search finds it."""

from __future__ import annotations

import pytest

import morello
from tests.end_to_end.kernels import memo, to_run

PRODUCT = """spec product() {
  input  a: f32[130, 257]
  input  b: f32[257, 260]
  output c: f32[130, 260]
  c = matmul(a, b)
}"""


@pytest.mark.slow
def test_a_product_keeps_b() -> None:
    """B is not copied before: rows of C that come first do so."""
    kernel = to_run(morello.compile, PRODUCT, target="x86.zen5", memo=memo())
    assert "kept_ = " in kernel.c_source.source
    kernel.verify()


BATCH = """spec batch() {
  input  a: f32[5, 8, 3]
  input  b: f32[5, 17, 3] layout (2, 1, 0)
  output c: f32[5, 8, 17]
  c = matmul_nt(a, b)
}"""


def test_nothing_is_kept_whose_rows_have_gaps() -> None:
    """The batch is the fastest dimension of B: neighbours of a row are five elements apart."""
    kernel = to_run(morello.compile, BATCH, target="x86.avx512", memo=memo())
    kernel.verify()
