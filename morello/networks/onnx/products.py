"""Products of matrices in ONNX."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from morello.networks.kinds import Rewrite, Translation, number


def _matmul(t: Translation) -> str:
    a, b = t.inputs
    left, right = t.shape(a), t.shape(b)
    if min(len(left), len(right)) < 2:
        raise t.unsupported("it multiplies a vector without a second dimension")
    if len(right) == 2 and prod(left[:-2]) > 1:  # all rows are those of one matrix
        return t.product(t.view(a, (prod(left[:-1]), left[-1])), b)
    return t.product(a, b)


def _gemm(t: Translation) -> str:
    a, b, *bias = filter(None, t.inputs)
    swapped = {"swap_a": bool(t.attribute("transA", 0)), "swap_b": bool(t.attribute("transB", 0))}
    result = t.product(a, b, **swapped)
    alpha, beta = float(t.attribute("alpha", 1.0)), float(t.attribute("beta", 1.0))
    if alpha != 1:
        result = t.elementwise(f"{{0}} * {number(alpha)}", result)
    if not bias:
        return result
    added = "{1}" if beta == 1 else f"{{1}} * {number(beta)}"
    return t.elementwise(f"{{0}} + {added}", result, bias[0])


REWRITES: Mapping[str, Rewrite] = {"Gemm": _gemm, "MatMul": _matmul}
