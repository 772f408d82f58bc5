"""Compiles a case once more in a way that must change nothing, or nothing but the program."""

from __future__ import annotations

from functools import cache
from typing import Any

import morello
from morello.definitions import Definitions, load_definitions
from morello.language.source import Source
from morello.records import replace

from .cases import Case, operators_in
from .trial import BUDGET, Outcome, attempt, checked, compiled, machines

VARIATIONS = ("memo", "rules", "renamed", "threads", "batch")
"""``memo``: from a memo that knows it; ``rules``: with an operator and a rule that have nothing to
do with it; ``renamed``: by other names; ``threads``: for another number of threads; ``batch``: as a
batch of one, where all operators take one. The first two must give the same C, the others the same
numbers within the oracle's bounds."""

UNRELATED = """op unrelated(X: T[i...]) -> Y: T[i...]
  "Every element, negated twice."
{
  Y[i...] = -(-X[i...])
}

rule unrelated_copy
  "What is negated twice is itself."
  match  f: unrelated
  yield  copy(f.X, f.Y)
"""

BATCHED = frozenset(
    {"relu", "neg", "abs", "sqrt", "exp", "log", "tanh", "erf", "sigmoid", "silu", "gelu", "square"}
    | {"add", "sub", "mul", "div", "maximum", "minimum", "scale", "shift", "clamp", "select"}
    | {"row_sum", "row_max", "row_min", "row_mean", "row_mean_square", "row_square_sum", "row_dot"}
    | {"row_variance", "add_to_rows", "subtract_from_rows", "scale_rows", "divide_rows"}
    | {"softmax", "log_softmax", "column_softmax", "softmax_matmul", "transpose", "copy", "floor"}
    | {
        "matmul",
        "matmul_nt",
        "matmul_tn",
        "matmul_tt",
        "matvec",
        "split_rows",
        "merge_rows",
        "round",
    }
    | {"split_heads", "merge_heads", "gelu_tanh", "leaky_relu", "softplus", "reciprocal", "rsqrt"}
)
"""Operators whose operands and result may all have one more dimension in front."""


def varied(case: Case, target: str, seed: tuple[int, ...], way: str) -> Outcome:
    """What came of a case that is compiled once more."""
    if way in ("memo", "rules"):
        return _same_c(case, target, seed, way)
    first = attempt(case, target, seed)
    if first.kind != "right":
        return first
    other = _other(case, way)
    return first if other is None else attempt(other, target, seed)


def _other(case: Case, way: str) -> Case | None:
    if way == "renamed":
        return case.renamed({t.name: f"tensor_{t.name[::-1]}_" for t in case.tensors})
    if way == "threads":
        return replace(case, threads=1 if case.threads > 1 else 2)
    if not set(operators_in(case)) <= BATCHED:
        return None
    tensors = (
        replace(
            t,
            shape=(1, *t.shape),
            order=(0, *(d + 1 for d in t.order)) if t.order else (),
            panels=() if len(t.panels) > len(t.shape) - 1 else t.panels,
        )
        for t in case.tensors
    )
    return replace(case, tensors=tuple(tensors))


def _same_c(case: Case, target: str, seed: tuple[int, ...], way: str) -> Outcome:
    """The plain outcome, or what is wrong if the C differs."""
    first = attempt(case, target, seed)
    if first.kind != "right":
        return first
    memo = morello.Memo()
    kernel: Any = compiled(case, target, memo, machines())
    definitions = _with_unrelated() if way == "rules" else machines()
    memo = memo if way == "memo" else morello.Memo()
    other: Any = morello.compile(
        case.text, target=target, definitions=definitions, memo=memo, budget=BUDGET
    )
    if kernel.source != other.source:
        return Outcome("wrong", f"another C file: {way}", _difference(kernel.source, other.source))
    return checked(other, case, seed)


def _difference(left: str, right: str) -> str:
    pairs = zip(left.splitlines(), right.splitlines(), strict=False)
    return next((f"{a}\n{b}" for a, b in pairs if a != b), "one is longer")


@cache
def _with_unrelated() -> Definitions:
    found = load_definitions([Source("unrelated.mrules", UNRELATED)])
    return replace(found, targets=machines().targets)


def prepare() -> None:
    """Read all definitions, so that processes for single cases need not."""
    _with_unrelated()
