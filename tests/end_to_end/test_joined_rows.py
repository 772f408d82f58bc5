"""Images whose rows follow each other in memory are one row; others are done row by row."""

from __future__ import annotations

import re

import pytest

import morello

from .kernels import to_run

IMAGES = "f32[N, C, H, W]"

CASES: dict[str, tuple[str, str, str]] = {
    "a bias for each channel": (
        f"input x: {IMAGES} input b: f32[C]",
        f"output y: {IMAGES}",
        "y[n, c, h, w] = max(x[n, c, h, w] + b[c], 0)",
    ),
    "a factor for each row": (
        f"input x: {IMAGES} input b: f32[H]",
        f"output y: {IMAGES}",
        "y[n, c, h, w] = x[n, c, h, w] * b[h]",
    ),
    "a factor for each column": (
        f"input x: {IMAGES} input b: f32[W]",
        f"output y: {IMAGES}",
        "y[n, c, h, w] = x[n, c, h, w] * b[w]",
    ),
    "without the first row": (
        "input x: f32[N, C, H + 1, W]",
        f"output y: {IMAGES}",
        "y[n, c, h, w] = tanh(x[n, c, h + 1, w])",
    ),
    "without the first column": (
        "input x: f32[N, C, H, W + 1]",
        f"output y: {IMAGES}",
        "y[n, c, h, w] = tanh(x[n, c, h, w + 1])",
    ),
    "another type": (
        "input x: bf16[N, C, H, W]",
        f"output y: {IMAGES}",
        "y[n, c, h, w] = x[n, c, h, w]",
    ),
    "sums": (f"input x: {IMAGES}", "output y: f32[N, C]", "y[n, c] += x[n, c, h, w]"),
    "largest": (f"input x: {IMAGES}", "output y: f32[N, C]", "y[n, c] max= x[n, c, h, w]"),
}

SIZES = [(1, 1, 1, 1), (2, 3, 7, 7), (1, 5, 17, 17), (2, 2, 5, 1), (1, 4, 33, 2)]


def _spec(name: str) -> str:
    return "\n  ".join(("spec images(N, C, H, W) {", *CASES[name])) + "\n}"


@pytest.mark.sample(12)
@pytest.mark.parametrize("target", ["x86.avx2", "x86.avx512"])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", CASES)
def test_they_equal_the_reference(name: str, sizes: tuple[int, ...], target: str) -> None:
    defines = dict(zip("NCHW", sizes, strict=True))
    kernel = to_run(morello.compile, _spec(name), defines=defines, target=target)
    assert kernel.verify().elements > 0


@pytest.mark.parametrize(
    ("name", "rows"),
    [("a bias for each channel", "vector_x8"), ("sums", "reduce_x8")],
)
def test_an_image_is_one_row(name: str, rows: str) -> None:
    """No row of 17 has a part of a vector at its end."""
    defines = {"N": 1, "C": 64, "H": 17, "W": 17}
    kernel = morello.compile(_spec(name), defines=defines, target="x86.avx2")
    last = kernel.plan.render().splitlines()[-1]
    assert rows in last
    assert re.search(r"\w+=17 \w+=17\]", last)
