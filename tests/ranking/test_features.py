"""Features describe plans: what they are is read off small ones."""

from __future__ import annotations

import pytest

from morello.compiler import compile_spec
from morello.memo.memo import Memo
from morello.ranking.features import PlanFeatures

PRODUCT = """target x86.scalar
spec product(M = 40, K = 30, N = 20) {
  input a: f32[M, K]
  input b: f32[K, N]
  output c: f32[M, N]
  c = matmul(a, b)
}"""
TWO = """target x86.scalar
spec two() {
  input x: f32[24, 32]
  output y: f32[24, 32]
  output z: f32[24]
  y = relu(x)
  z = row_sum(y)
}"""


@pytest.mark.parametrize("text", [PRODUCT, TWO])
def test_shares_of_coefficients_add_up_to_the_cost(text: str) -> None:
    """Also of several computations; nothing depends on what was described before."""
    kernel = compile_spec(text, memo=Memo())
    found = PlanFeatures().of(kernel.plan)
    shares = [v for name, v in found.items() if name.startswith("coefficient:")]
    assert sum(shares) == pytest.approx(1)
    described = PlanFeatures()
    assert described.of(kernel.plan) == described.of(kernel.plan) == found


def test_features_follow_the_plan() -> None:
    """Calls are counted, traffic is at least all operands once, rows have their distance."""
    kernel = compile_spec(PRODUCT, memo=Memo())
    found, cycles = PlanFeatures().of(kernel.plan), kernel.cost
    calls = sum(v for name, v in found.items() if name.startswith("calls:"))
    assert calls == pytest.approx(found["calls"])
    everything = 4 * (40 * 30 + 30 * 20 + 40 * 20)
    assert found["traffic 32768 KiB"] * cycles == pytest.approx(everything)
    assert found["traffic 16 KiB"] >= found["traffic 32768 KiB"]
    assert [found[f"rows apart {n}"] for n in range(3)] == [3, 4, 4]  # 120, 80 and 80 bytes
    assert found["steps"] > 0
    assert 0 <= found["tails"] < 1
    assert 0 < found["share of the run"] <= 1


@pytest.mark.parametrize("name", ["dense", "two"])
def test_intermediates_are_counted(name: str) -> None:
    """A graph that is computed in tiles begins one for each; of one that is not, it is whole."""
    kernel = compile_spec(
        """target x86.scalar
        spec dense() {
          input x: f32[60, 50]
          input w: f32[50, 40]
          output y: f32[60, 40]
          y = exp(matmul(x, w))
        }
        spec two() {
          input x: f32[60, 50]
          input w: f32[50, 40]
          input v: f32[40, 30]
          output y: f32[60, 30]
          y = matmul(relu(matmul(x, w)), v)
        }""",
        spec=name,
        memo=Memo(),
    )
    found = PlanFeatures().of(kernel.plan)
    begun = found.get("intermediates", 0.0) * kernel.cost
    kept = found.get("bytes of intermediates", 0.0) * kernel.cost
    if name == "two":  # every row of the second product reads all of one of the first
        assert begun >= 1
        # What relu reads may have a place of its own.
        assert kept in (pytest.approx(4 * 60 * 40), pytest.approx(2 * 4 * 60 * 40))
    else:
        assert kept in (0.0, pytest.approx(4 * 60 * 40))
