"""Products that keep what they read of B, as the search finds them."""

from __future__ import annotations

import pytest

import morello
from tests.end_to_end.kernels import memo, runnable

PRODUCT = """spec product(M, K, N) threads {threads} {{
  input  a: f32[M, K]
  input  b: f32[K, N]
  output c: f32[M, N]
  c = matmul(a, b)
}}"""


@pytest.mark.parametrize(("threads", "sizes"), [(1, (130, 257, 260)), (2, (260, 257, 260))])
def test_products_keep_b(threads: int, sizes: tuple[int, int, int]) -> None:
    """B is not copied before: rows of C that come first do so, in threads those of each."""
    text = PRODUCT.format(threads=threads)
    defines = dict(zip("MKN", sizes, strict=True))
    kernel = runnable(morello.compile(text, defines=defines, target="x86.avx2", memo=memo()))
    assert "kept_ = " in kernel.c_source.source
    kernel.verify()
