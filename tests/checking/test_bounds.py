"""Texts of any form take a bounded time: numbers, long specs, expressions that double."""

from __future__ import annotations

import time

import pytest

from morello.checking.specs import check_spec
from morello.definitions import load_definitions
from morello.ir.goal import Goal
from morello.ir.graphs.partition import MOST_READS
from morello.language.diagnostics import Collector, DiagnosticsError
from morello.language.evaluate import MAX_INTEGER
from morello.language.parse import parse_spec
from morello.language.source import Source


def _check(text: str, **defines: int) -> Goal:
    file = parse_spec(Source("test.mspec", text))
    return check_spec(file, None, defines, load_definitions().operators, Collector())


def _errors(text: str, **defines: int) -> list[tuple[str, str]]:
    with pytest.raises(DiagnosticsError) as caught:
        _check(text, **defines)
    return [(d.code, d.message) for d in caught.value.diagnostics]


def _chain(statement: str, length: int) -> str:
    statements = [statement.format(new=f"t{i + 1}", old=f"t{i}") for i in range(length)]
    statements[-1] = statement.format(new="y", old=f"t{length - 1}")
    lines = "\n".join(statements)
    return f"spec s() {{ input t0: f32[8, 8] output y: f32[8, 8]\n{lines} }}"


def test_a_size_without_a_value_is_one_error() -> None:
    """A parameter that is no whole number is said, also where a nested call reads its tensor."""
    text = """spec s(D = 8, H = D / 3) { input x: f32[8, 8] input w: f32[8, H] output y: f32[8, H]
      y = matmul(relu(x), w) }"""
    message = f"parameter 'H' must be a whole number, found {8 / 3}"
    assert _errors(text) == [("S005", message)]


def test_repeated_squaring_ends_at_the_bound() -> None:
    """Integers are bounded after each operation, so that forty squarings take no time."""
    powers = ", ".join(f"P{i} = P{i - 1} * P{i - 1}" for i in range(1, 40))
    text = f"spec s(P0 = 3, {powers}) {{ input x: f32[P39] output y: f32[P39] y = relu(x) }}"
    assert _errors(text) == [("S005", "parameter 'P6' is too large to compute")]


@pytest.mark.parametrize("value", [MAX_INTEGER + 1, -(10**5000)], ids=["one more", "5,000 digits"])
def test_a_value_from_outside_has_the_same_bound(value: int) -> None:
    """A value with more digits than Python writes out is refused by name."""
    text = "spec s(M) { input x: f32[M] output y: f32[M] y = relu(x) }"
    assert _errors(text, M=value) == [("S005", "the value of parameter 'M' is too large")]


def test_thousands_of_statements_take_seconds() -> None:
    """A chain of 4,000 is cut, and the time grows with its length only."""
    started = time.perf_counter()
    goal = _check(_chain("{new} = relu({old})", 4000))
    assert time.perf_counter() - started < 20
    assert len(goal.computations) == 41


@pytest.mark.parametrize("statement", ["{new} = add({old}, {old})", "{new} = gelu({old})"])
def test_what_is_read_twice_does_not_double_for_ever(statement: str) -> None:
    """Inlined expressions stay small, though each statement reads the one before twice."""
    goal = _check(_chain(statement, 64))
    assert len(goal.computations) > 8
    assert goal.computations[-1].output.name == "y"


def test_short_graphs_stay_whole() -> None:
    """What is written every day is one computation still."""
    assert len(_check(_chain("{new} = relu({old})", 60)).computations) == 1


def test_a_long_chain_of_sums_is_cut_between_them() -> None:
    """Softmax after softmax: no part begins the chain again, reading what was kept all along."""
    goal = _check(_chain("{new} = softmax({old})", 60))
    assert max(len(computation.operands) for computation in goal.computations) == 3


def test_no_expression_reads_more_tensors_than_machines_have_registers() -> None:
    """The sum of a hundred inputs is computed a dozen at a time."""
    inputs = " ".join(f"input x{i}: f32[8]" for i in range(100))
    sums = "".join(f" s{i} = add(s{i - 1}, x{i})" for i in range(2, 99))
    goal = _check(
        f"spec s() {{ {inputs} output y: f32[8] s1 = add(x0, x1){sums} y = add(s98, x99) }}"
    )
    assert {len(computation.inputs) for computation in goal.computations} == {MOST_READS}
    assert len(goal.computations) == 9
