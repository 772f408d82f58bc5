"""What is computed block by block, with what is so far: softmax of long rows, attention.

Rules that do the same otherwise are left out, so that no other program is there to be chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import pytest

import morello
from morello.ir.target import Level, Target
from morello.language.source import Source
from morello.records import replace
from tests.end_to_end.kernels import small_machines, to_run

SCORES = """spec weighted(N, S, D) {
  input  x: f32[N, S]
  input  v: f32[S, D]
  output o: f32[N, D]
  o = matmul(softmax(x), v)
}"""

COMPUTED = """spec attention(N, S, D) threads 2 {
  input  q: f32[N, 3]
  input  k: f32[3, S]
  input  v: f32[S, D]
  output o: f32[N, D]
  o = matmul(softmax(matmul(q, k)), v)
}"""

ROWS = """spec rows(N, S) {
  input  x: f32[N, S]
  output y: f32[N, S]
  y = softmax(x)
}"""


LOGARITHMS = ROWS.replace("softmax", "log_softmax")

OTHERS = {
    "compute_first",
    "softmax_matmul_online",
    "softmax_online",
    "softmax_kept",
    "softmax_pipelined",
    "log_softmax_online",
    "log_softmax_pipelined",
}


@cache
def _kernel(text: str, target: str, rule: str, **sizes: int) -> morello.Kernel:
    definitions = small_machines()
    rules = tuple(r for r in definitions.rules if r.name not in OTHERS - {rule})
    if "pipelined" in rule:
        targets = _with_small_caches(definitions.targets, 4 * sizes["S"])
        definitions = replace(definitions, targets=targets)
    return to_run(
        morello.compile,
        Source("blocks.mspec", text),
        defines=sizes,
        target=target,
        definitions=replace(definitions, rules=rules),
    )


def _with_small_caches(targets: Mapping[str, Target], row: int) -> dict[str, Target]:
    """Arguments of more bytes than one row are in memory."""

    def small(level: Level) -> Level:
        return replace(level, arguments=min(level.arguments, row))

    return {
        name: replace(target, levels=tuple(map(small, target.levels)))
        for name, target in targets.items()
    }


def _identity(value: str | dict[str, int]) -> str:
    """Of a parameter: sizes, the rule's name, or the first line of the spec."""
    if isinstance(value, dict):
        return "x".join(map(str, value.values()))
    return value.partition("(")[0].removeprefix("spec ")


@pytest.mark.sample(3)
@pytest.mark.parametrize("target", ["x86.scalar", "x86.avx2", "x86.avx512"])
@pytest.mark.parametrize(
    ("text", "rule", "sizes"),
    [
        (SCORES, "softmax_matmul_online", {"N": 5, "S": 37, "D": 19}),
        (COMPUTED, "softmax_matmul_online", {"N": 9, "S": 21, "D": 7}),
        (ROWS, "softmax_online", {"N": 3, "S": 131}),
        (ROWS, "softmax_kept", {"N": 3, "S": 131}),
        (ROWS, "softmax_pipelined", {"N": 5, "S": 131}),
        (ROWS, "softmax_pipelined", {"N": 2, "S": 256}),
        (ROWS, "softmax_pipelined", {"N": 3, "S": 1100}),
        (LOGARITHMS, "log_softmax_online", {"N": 3, "S": 131}),
        (LOGARITHMS, "log_softmax_pipelined", {"N": 5, "S": 131}),
        (LOGARITHMS, "log_softmax_pipelined", {"N": 3, "S": 1100}),
        (ROWS.replace("(N, S)", "(N, S) threads 2"), "softmax_pipelined", {"N": 11, "S": 97}),
    ],
    ids=_identity,
)
def test_blocks(text: str, rule: str, sizes: dict[str, int], target: str) -> None:
    """All kinds of inputs, remainders included; ``verify`` has infinities and NaN."""
    kernel = _kernel(text, target, rule, **sizes)
    assert f": {rule}(" in kernel.plan.render()
    kernel.verify()


def test_scores_of_minus_infinity() -> None:
    """Blocks without any score, and rows that have none at all: these are no numbers."""
    kernel = _kernel(SCORES, "x86.scalar", "softmax_matmul_online", N=5, S=37, D=19)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((5, 37), dtype=np.float32)
    v = rng.standard_normal((37, 19), dtype=np.float32)
    x[0, :30] = x[1, 5:] = x[2, 1:36] = -np.inf
    x[3] = -np.inf
    weights = np.exp(x.astype(np.float64) - 5)
    with np.errstate(invalid="ignore"):
        expected = (weights / weights.sum(axis=1, keepdims=True)) @ v
    assert np.isnan(expected[3]).all()
    np.testing.assert_allclose(kernel(x, v), expected, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("target", ["x86.scalar", "x86.avx512"])
def test_rows_of_minus_infinity(target: str) -> None:
    """Blocks of nothing else, in this row and in the next; all of a row, which is no number."""
    kernel = _kernel(ROWS, target, "softmax_pipelined", N=5, S=131)
    x = np.random.default_rng(0).standard_normal((5, 131), dtype=np.float32)
    x[0, :130] = x[1, 5:] = x[2, 1:130] = x[4] = -np.inf
    x[3] *= 1e37
    with np.errstate(invalid="ignore", over="ignore"):
        weights = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
        expected = weights / weights.sum(axis=1, keepdims=True)
    assert np.isnan(expected[4]).all()
    np.testing.assert_allclose(kernel(x), expected, rtol=2e-5, atol=1e-37)


def test_sums_that_would_overflow() -> None:
    """Means of the largest numbers are such numbers, however many there are."""
    kernel = _kernel(SCORES, "x86.scalar", "softmax_matmul_online", N=5, S=37, D=19)
    largest = np.finfo(np.float32).max
    x = np.zeros((5, 37), np.float32)
    v = np.full((37, 19), largest / 2, np.float32)
    np.testing.assert_allclose(kernel(x, v), np.full((5, 19), largest / 2), rtol=1e-5)
