"""Values of scalars that decide nothing are no part of what is searched."""

from __future__ import annotations

import math
import pickle
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

import morello
from morello.definitions import Definitions, load_definitions
from morello.ir.scalars import StandIn
from morello.kernel import Kernel
from morello.language.source import Source
from morello.memo.memo import Memo
from morello.rewriting.deciding_scalars import DecidingScalars
from morello.rewriting.instantiate import operation_at

TARGET = "x86.avx2"
NUMBERS = ("0.3", "0", "-0.0", "1", "-2.5")


@dataclass(frozen=True)
class _Case:
    """A spec with gaps for values of scalars, and those to try: first what is searched."""

    text: str
    values: tuple[tuple[str, ...], ...]

    def texts(self) -> list[str]:
        """The spec with each of the values."""
        return [self.text.format(*values) for values in self.values]


def _rows(formula: str, *values: tuple[str, ...], dtype: str = "f32") -> _Case:
    declared = f"input x: {dtype}[5, 9]  output y: {dtype}[5, 9]"
    return _Case(f"spec f() {{{{ {declared}  y = {formula} }}}}", values)


_ONE = tuple((number,) for number in NUMBERS)
_SAME = (("0.5", "0.5"), ("1.5", "1.5"), ("0", "0"), ("2", "2"))
_OTHER = (("0.5", "1.5"), ("2", "0.25"), ("0.0", "-0.0"), ("1", "2"))
_PADDED = (
    "spec f() {{ input x: f32[1, 4, 4, 3]  output y: f32[1, 6, 6, 3] "
    "y = pad2d_nhwc(x, top = 1, bottom = 1, left = 1, right = 1, value = {}) }}"
)
CASES = {
    "scale": _rows("scale(x, factor = {})", *_ONE),
    "shift": _rows("shift(x, amount = {})", *_ONE[1:3]),
    "leaky_relu": _rows("leaky_relu(x, slope = {})", *_ONE[:3]),
    "clamp, different": _rows("clamp(x, low = {}, high = {})", *_OTHER),
    "clamp, equal": _rows("clamp(x, low = {}, high = {})", *_SAME),
    "two, equal": _rows("scale(relu(scale(x, factor = {})), factor = {})", *_SAME),
    "two, different": _rows("scale(relu(scale(x, factor = {})), factor = {})", *_OTHER),
    "around a sum": _rows(
        "add_to_rows(x, scale(row_sum(shift(x, amount = {})), factor = {}))", *_OTHER
    ),
    "integers": _rows("scale(x, factor = {})", ("3",), ("0",), ("-7",), ("127",), dtype="s8"),
    "padding": _Case(_PADDED, (*_ONE[:3], ("-3e38",))),
}


def _compiled(text: str, memo: Memo, definitions: Definitions | None = None) -> Kernel:
    return morello.compile(text, target=TARGET, memo=memo, definitions=definitions)


@pytest.fixture(scope="module", params=CASES)
def name(request: pytest.FixtureRequest) -> str:
    """Of each case."""
    return str(request.param)


@cache
def _answered(name: str) -> tuple[Memo, tuple[Kernel, ...]]:
    """What one memo answers for each value of a case."""
    memo = Memo()
    return memo, tuple(_compiled(text, memo) for text in CASES[name].texts())


def test_one_search_answers_for_all_values(name: str) -> None:
    memo, kernels = _answered(name)
    assert memo.solutions == 1
    assert len({kernel.source for kernel in kernels}) == len(kernels)


@pytest.mark.sample(3)
@pytest.mark.usefixtures("_own_contexts")
def test_programs_are_those_of_a_search_with_the_values(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, kernels = _answered(name)
    monkeypatch.setattr(DecidingScalars, "of", lambda _, operator: frozenset(operator.scalars))
    memo = Memo()
    for text, kernel in zip(CASES[name].texts(), kernels, strict=True):
        direct = _compiled(text, memo)
        assert kernel.source == direct.source
        assert kernel.cost == direct.cost
    assert memo.solutions == len(kernels)


@pytest.mark.sample(3)
def test_another_process_recalls_them(name: str, tmp_path: Path) -> None:
    _, kernels = _answered(name)
    first, *others = CASES[name].texts()
    path = tmp_path / "memo.sqlite"
    with Memo.open(path) as memo:
        _compiled(first, memo)
    with Memo.open(path) as memo:
        for text, kernel in zip(others, kernels[1:], strict=True):
            recalled = _compiled(text, memo)
            assert recalled.statistics.from_memo
            assert recalled.statistics.cells == 0
            assert recalled.source == kernel.source


def test_programs_compute_with_the_values() -> None:
    memo = Memo()
    x = np.linspace(-2, 2, 45, dtype=np.float32).reshape(5, 9)
    text = CASES["two, different"].text
    for first, second in ((0.5, 1.5), (-2.0, 0.25), (3.0, -1.0)):
        kernel = _compiled(text.format(first, second), memo)
        expected = np.maximum(x * np.float32(first), 0) * np.float32(second)
        np.testing.assert_allclose(kernel(x), expected, rtol=1e-6)
        kernel.verify()
    assert memo.solutions == 1


def test_equal_values_are_one_and_different_ones_are_not() -> None:
    memo = Memo()
    text = CASES["two, equal"].text
    for place, values in enumerate(chain(_SAME[:1], _OTHER[:1]), 1):
        _compiled(text.format(*values), memo)
        assert memo.solutions == place


def test_outputs_that_differ_in_values_are_one_search() -> None:
    outputs = [f"y{n}" for n in range(4)]
    declared = " ".join(f"output {y}: f32[5, 9]" for y in outputs)
    computed = "\n".join(f"{y} = shift(x, amount = {n})" for n, y in enumerate(outputs))
    memo = Memo()
    text = f"spec f() {{\n input x: f32[5, 9] {declared}\n {computed}\n}}"
    kernel = morello.compile(text, target=TARGET, memo=memo, budget="10000 specs")
    assert memo.solutions == 1
    kernel.verify()


def test_scalars_of_indices_keep_their_values() -> None:
    text = (
        "spec f() {{ input x: f32[5, 9]  output y: f32[5, {}] "
        "y = slice_columns(x, before = {}, after = {}) }}"
    )
    memo = Memo()
    for place, (length, before, after) in enumerate(((6, 1, 2), (6, 2, 1), (5, 2, 2)), 1):
        _compiled(text.format(length, before, after), memo)
        assert memo.solutions == place


def test_a_value_that_a_type_cannot_hold_is_refused_though_another_one_is_known() -> None:
    memo = Memo()
    case = CASES["integers"]
    _compiled(case.texts()[0], memo)
    with pytest.raises(morello.DiagnosticsError, match=r"factor.*1000.*s8"):
        _compiled(case.text.format(1000), memo)


HALVED = """rule twice "Half of twice as much."
match  f: scale
where  {guard}
cost   {cost}
yield  scale(f.X, f.Y, {factor})"""

RULES = {
    "a guard": ({"guard": "f.factor == 2"}, True),
    "a cost": ({"cost": "f.factor * loop_step"}, True),
    "a number that is worked out": ({"factor": "f.factor + 1"}, True),
    "a number that is handed on": ({}, False),
}


@pytest.mark.parametrize("name", RULES)
def test_what_a_rule_looks_at_is_searched_with_its_value(name: str) -> None:
    changes, decides = RULES[name]
    parts = {"guard": "not is_parallel(f)", "cost": "loop_step", "factor": "f.factor"} | changes
    own = 'op scaled(X: T[i...]; factor) -> Y: T[i...] "Scaled." { Y[i...] = X[i...] * factor }'
    rule = HALVED.format(**parts).replace("yield  scale(", "yield  scaled(")
    known = load_definitions([Source("mine.mrules", f"{own}\n{rule}")])
    found = DecidingScalars(known.rules, known.targets[TARGET].kernels, known.operators)
    assert found.of(known.operators["scale"]) == (frozenset({"factor"}) if decides else frozenset())
    memo = Memo()
    texts = CASES["scale"].texts()
    for text in texts[:2]:
        _compiled(text, memo, known)
    assert memo.solutions == (2 if decides else 1)


def test_shipped_definitions_look_at_no_value() -> None:
    known = load_definitions()
    for target in known.targets.values():
        found = DecidingScalars(known.rules, target.kernels, known.operators)
        for operator in known.operators.values():
            given = set(operator.given_scalars) - operator.least.keys()
            assert not found.of(operator) & given


def test_operations_of_both_zeros_are_two() -> None:
    operator = load_definitions().operators["scale"]
    for factor in (0.0, -0.0, 0.0):
        ((_, found),) = operation_at(operator, 1, False, (("factor", factor),)).scalars
        assert math.copysign(1, found) == math.copysign(1, factor)


def test_stand_ins_are_told_apart_by_their_place_alone() -> None:
    first, second = StandIn(1), StandIn(2)
    assert first == StandIn(1) != second
    assert first != float(first)
    assert float(first) != first
    assert len({first, StandIn(1), second, float(first)}) == 3
    assert f"{first} {second!r} {first:g}" == "$1 $2 $1"
    copied = pickle.loads(pickle.dumps(second))
    assert (copied, copied.place) == (second, 2)
