"""Failures are made small."""

from __future__ import annotations

from .cases import Case, Statement, Tensor
from .shrink import shrunk

LARGE = Case(
    (
        Tensor("x", "input", "f32", (17, 40), order=(1, 0)),
        Tensor("w", "weight", "f32", (40, 9), panels=(4,)),
        Tensor("a", "", "f32", (17, 40)),
        Tensor("b", "local", "f32", (17, 40)),
        Tensor("y", "output", "f32", (17, 9)),
        Tensor("z", "output", "f32", (17,)),
    ),
    (
        Statement("a", "relu", ("x",)),
        Statement("b", "exp", ("a",)),
        Statement("y", "matmul", ("b", "w")),
        Statement("z", "row_sum", ("b",)),
    ),
    threads=3,
)


def test_a_failure_shrinks_to_what_it_needs() -> None:
    """One operator on rows of more than four, of a spec of four operators and three threads."""

    def fails(case: Case) -> bool:
        tensors = case.by_name
        return any(
            s.operator == "exp" and tensors[s.operands[0]].shape[-1] > 4 for s in case.statements
        )

    expected = """spec random() {
  input a: f32[1, 5]
  output b: f32[1, 5]
  b = exp(a)
}
"""
    assert shrunk(LARGE, fails).text == expected


def test_what_no_longer_fails_is_not_taken() -> None:
    """A case that fails only as it is stays as it is."""
    assert shrunk(LARGE, lambda case: False) == LARGE
