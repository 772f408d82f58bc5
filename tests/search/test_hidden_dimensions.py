"""Graphs with dimensions that index only what they compute on the way: no volume counts those."""

from __future__ import annotations

from math import prod

import pytest

import morello
from morello.memo.memo import Memo

PAD = "top = 1, bottom = 0, left = 0, right = 1, value = 0"
CONVOLUTION = "stride = 1, dilation = 1"
SPEC = f"""target x86.scalar
spec block(H = 3, W = 2) {{
  input  x: f32[1, H, W, 1]
  input  v: f32[2, 2, 1, 1]
  input  w: f32[2, 2, 1, 1]
  output y: f32[1, H, W, 1]
  h = conv2d_nhwc(pad2d_nhwc(x, {PAD}), v, {CONVOLUTION})
  y = add(conv2d_nhwc(pad2d_nhwc(h, {PAD}), w, {CONVOLUTION}), x)
}}
"""


def test_what_the_search_predicts_is_what_the_program_costs() -> None:
    (tree,) = morello.compile(SPEC, memo=Memo(alone=True)).plan.trees
    composition = tree.root.spec.family.operation.operator.composition
    assert composition is not None
    assert composition.hidden
    predicted = tree.answers.intensity(tree.root.spec) * prod(tree.root.spec.sizes)
    assert tree.root.cycles == pytest.approx(predicted, rel=1e-5)
