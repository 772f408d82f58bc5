"""Faults that are planted into the product are found by the oracle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from morello.codegen.lower import _Lowering
from morello.definitions import Definitions, load_definitions
from morello.ir.programs.tree import Node, View
from morello.language.source import Source
from morello.records import replace
from morello.rewriting.steps import Placed

from . import metamorphic
from .cases import Case, Statement, Tensor
from .metamorphic import VARIATIONS, varied
from .trial import attempt, machines

SEED = (1, 1)
WRONG_RULE = """rule wrong
  "An exponential is no copy."
  match  f: exp
  yield  copy(f.X, f.Y)
"""

EXPONENTIAL = Case(
    (Tensor("x", "input", "f32", (5, 7)), Tensor("y", "output", "f32", (5, 7))),
    (Statement("y", "exp", ("x",)),),
)
SQUARED_SUMS = Case(
    (
        Tensor("x", "input", "f32", (3, 9)),
        Tensor("s", "", "f32", (3, 9)),
        Tensor("y", "output", "f32", (3,)),
    ),
    (Statement("s", "square", ("x",)), Statement("y", "row_sum", ("s",))),
)
MEAN_OF_DEVIATION = Case(
    (
        Tensor("x", "input", "f32", (5, 40)),
        *(Tensor(name, "", "f32", (5,)) for name in ("m", "v", "d")),
        Tensor("y", "output", "f32", (5,)),
    ),
    (
        Statement("m", "row_mean", ("x",)),
        Statement("v", "row_variance", ("x", "m")),
        Statement("d", "sqrt", ("v",)),
        Statement("y", "div", ("d", "m")),
    ),
)


def _with_wrong_rule() -> Definitions:
    found = load_definitions([Source("wrong.mrules", WRONG_RULE)])
    return replace(found, targets=machines().targets)


def test_a_wrong_rule_is_found() -> None:
    """A rule file that changes what is computed gives wrong programs."""
    assert attempt(EXPONENTIAL, "x86.scalar", SEED).kind == "right"
    found = attempt(EXPONENTIAL, "x86.scalar", SEED, definitions=_with_wrong_rule())
    assert found.kind == "wrong", found


def _in_the_output(
    lowering: Any, step: Placed, views: Mapping[str, View], own: Callable[..., Node]
) -> Node:
    """An intermediate tensor where an output of its shape will be, whoever reads it later."""
    assert step.shape is not None
    shape = tuple(map(int, step.shape))
    found = [v for v in views.values() if (v.tensor.role, v.tensor.shape) == ("output", shape)]
    if not found:
        return own(lowering, step, views)
    body: Node = lowering.node(step.body, {**views, step.tensor.key: found[0]})
    return body


@pytest.fixture
def _no_lifetimes(_own_contexts: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Intermediate tensors share the output's memory, and no rule is refused for it."""
    own = _Lowering._made
    monkeypatch.setattr(
        _Lowering, "_made", lambda lowering, step, views: _in_the_output(lowering, step, views, own)
    )
    monkeypatch.setattr("morello.rewriting.enumeration.read_too_late", lambda f, step: None)


@pytest.mark.usefixtures("_no_lifetimes")
def test_the_verifier_finds_memory_that_is_overwritten_too_early() -> None:
    """The mean lies where the variance is written: a compile ends with an internal error."""
    assert attempt(MEAN_OF_DEVIATION, "x86.avx2", SEED).kind == "fault"


@pytest.mark.usefixtures("_no_lifetimes")
def test_the_oracle_finds_it_without_the_verifier(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oracle is a check of its own."""
    monkeypatch.setattr("morello.codegen.generate.verify_tree", lambda node, arguments: None)
    monkeypatch.setattr("morello.codegen.generate.verify_program", lambda program: None)
    found = attempt(MEAN_OF_DEVIATION, "x86.avx2", SEED)
    assert found.kind == "wrong", found


@pytest.mark.parametrize("way", VARIATIONS)
def test_variations_change_nothing(way: str) -> None:
    """Memo, an unrelated rule, names, threads, a batch of one: the same C, or the same numbers."""
    assert varied(SQUARED_SUMS, "x86.scalar", SEED, way).kind == "right"


def test_a_rule_that_changes_the_program_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule file that is not unrelated gives another C file."""
    monkeypatch.setattr(metamorphic, "_with_unrelated", _with_wrong_rule)
    found = varied(EXPONENTIAL, "x86.scalar", SEED, "rules")
    assert (found.kind, found.group) == ("wrong", "another C file: rules")
