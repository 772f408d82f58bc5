"""What is known of the operators of ONNX."""

from __future__ import annotations

from morello.networks.onnx import (
    elementwise,
    images,
    moves,
    products,
    quantized,
    reductions,
    resizing,
    sequences,
    signals,
)
from morello.networks.translate import Operators

OPERATORS = Operators(
    {
        **elementwise.REWRITES,
        **images.REWRITES,
        **moves.REWRITES,
        **products.REWRITES,
        **quantized.REWRITES,
        **reductions.REWRITES,
        **resizing.REWRITES,
        **sequences.REWRITES,
        **signals.REWRITES,
    },
    cast="Cast",
    weights={"Gemm": 1, "MatMul": 1},
    indices={"Gather": 1},
)
