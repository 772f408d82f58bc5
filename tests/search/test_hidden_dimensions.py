"""Graphs with dimensions that index only what they compute on the way: no volume counts those."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import morello
from morello.ir.graphs.composition import composition_of
from morello.memo.memo import Memo

PAD = "top = 1, bottom = 0, left = 0, right = 1, value = 0"
WINDOWS = f"""target x86.scalar
spec smooth(H = 3, W = 4) {{
  input  x: f32[1, H, W, 1]
  output y: f32[1, H, W, 1]
  p = max_pool2d_nhwc(pad2d_nhwc(x, {PAD}), window = 2, stride = 1)
  y = add(max_pool2d_nhwc(pad2d_nhwc(p, {PAD}), window = 2, stride = 1), x)
}}
"""


def test_a_window_that_only_intermediates_are_read_through_has_its_stated_size() -> None:
    kernel = morello.compile(WINDOWS, memo=Memo())
    x = np.arange(12, dtype=np.float32).reshape(1, 3, 4, 1)
    expected = x
    for _ in range(2):
        framed = np.pad(expected, ((0, 0), (1, 0), (0, 1), (0, 0)))
        windows = sliding_window_view(framed, (2, 2), axis=(1, 2))
        expected = windows.max(axis=(-2, -1))
    np.testing.assert_array_equal(kernel(x), expected + x)


def test_what_the_search_predicts_is_what_the_program_costs() -> None:
    (tree,) = morello.compile(WINDOWS, memo=Memo()).plan.trees
    composition = composition_of(tree.root.spec.family.operation.operator)
    assert composition is not None
    assert composition.hidden
    predicted = tree.solved.intensity(tree.root.spec) * prod(tree.root.spec.sizes)
    assert tree.root.cycles == pytest.approx(predicted, rel=1e-5)
