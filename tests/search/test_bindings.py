"""Forms of alternatives: what variants share is what each of them would have got alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from morello.checking.specs import check_spec
from morello.codegen.goals import goal_specs
from morello.ir.operators import Operation
from morello.ir.spec import Family, Spec
from morello.ir.target import Target
from morello.language.diagnostics import Collector
from morello.language.parse import parse_spec
from morello.language.source import Source
from morello.rewriting.bind import Bound, bind, shared_binding
from morello.search.planning import bindings
from morello.search.planning.demand import Task, plan_tasks
from morello.search.planning.families import discover
from morello.search.tables.memo_backend import NullMemo
from tests.search.goals import batched, matmul
from tests.search.machines import context, installed

GRAPH = """spec graph(M = 6, N = 17, K = 5) {
  input  a: f32[M, K]
  input  b: f32[K, N]
  input  z: f32[N]
  output y: f32[M, N]
  y = softmax(add_bias(matmul(a, b), z))
}"""


RESHAPES = """spec reshapes(S = 5, H = 3, D = 2) {
  input  x: f32[S, H, D]
  input  w: f32[H * D, 6]
  output y: f32[3, S, 2]
  y = split_heads(relu(matmul(merge_rows(x, width = D), w)), width = 2)
}"""


WINDOWS = (Path(__file__).parents[2] / "examples" / "convolution.mspec").read_text()
"""Of which loops make a row one element wide: then more of it stays packed."""


def _spec(text: str, target: Target) -> Spec:
    file = parse_spec(Source("<test>", text))
    goal = check_spec(file, None, {}, installed().operators, Collector())
    (spec,) = goal_specs(target, goal)
    return spec


_graph, _reshapes = partial(_spec, GRAPH), partial(_spec, RESHAPES)
_windows = partial(_spec, WINDOWS)


LARGE = ("x86.avx512", matmul(17, 2048, 12).spec)

CASES = [
    pytest.param("tiny.cached", matmul(5, 4, 3, threads=3).spec, id="threads"),
    pytest.param("tiny.buffered", batched(2, 1, 7, 4).spec, id="batched"),
    pytest.param("x86.avx2", _windows, id="windows", marks=pytest.mark.slow),
    pytest.param("x86.scalar", _graph, id="graph"),
    pytest.param("x86.avx2", _graph, id="vectors", marks=pytest.mark.slow),
    pytest.param("x86.scalar", _reshapes, id="reshapes", marks=pytest.mark.slow),
    pytest.param(*LARGE, id="matmul", marks=pytest.mark.slow),
]


@cache
def _tasks(name: str, wanted: Callable[[Target], Spec], single_goal: bool = False) -> list[Task]:
    used = context(name)
    goal = wanted(used.target)
    graph = discover(used, goal.family)
    return plan_tasks(used, graph, goal, 10**9, lambda _: None, NullMemo(), single_goal)


def _pairs(name: str, wanted: Callable[[Target], Spec]) -> Iterator[tuple[Bound, Bound]]:
    """Every alternative of every variant, as planned and bound alone."""
    for task in _tasks(name, wanted):
        grid = task.box.open_grid
        for planned in task.bounds:
            by_itself = bind(context(name), task.variant, planned.alternative, grid, planned.tiles)
            yield planned, by_itself


@pytest.mark.sample(2)
@pytest.mark.parametrize(("name", "wanted"), CASES)
def test_a_shared_binding_is_what_a_variant_would_get_alone(
    name: str, wanted: Callable[[Target], Spec]
) -> None:
    """Masks, costs and sub-Specs; those that exist nowhere are left out of the plan."""
    for planned, by_itself in _pairs(name, wanted):
        assert np.array_equal(planned.mask, by_itself.mask)
        assert np.array_equal(planned.cost, by_itself.cost)
        there = [use for use in by_itself.uses if (by_itself.mask & (use.weight > 0)).any()]
        assert [use.variant for use in planned.uses] == [use.variant for use in there]
        for ours, theirs in zip(planned.uses, there, strict=True):
            assert np.array_equal(ours.weight, theirs.weight)
            for one, other in zip(ours.coordinates, theirs.coordinates, strict=True):
                assert np.array_equal(one, other)


@pytest.mark.slow
def test_variants_share_forms() -> None:
    """Most alternatives do not ask what all operands are, where, and how packed."""
    bounds = [bound for task in _tasks(*LARGE) for bound in task.bounds]
    assert len({id(bound.shared) for bound in bounds}) < 0.6 * len(bounds)


def test_families_share_forms() -> None:
    """A loop over rows is the same wherever the operand is that has none."""
    families: dict[int, set[Family]] = {}
    for task in _tasks(*LARGE):
        for bound in task.bounds:
            families.setdefault(id(bound.shared), set()).add(task.variant.family)
    assert max(map(len, families.values())) > 5


def test_operations_share_forms() -> None:
    """What is computed does not matter to most rules, nor what dimensions are called."""
    operations: dict[int, set[Operation]] = {}
    for task in _tasks("x86.avx2", _graph):
        for bound in task.bounds:
            own = task.variant.family.operation
            operations.setdefault(id(bound.shared), set()).add(own)
    assert max(map(len, operations.values())) > 2
    assert any(len({o.dims for o in own}) > 1 for own in operations.values())


@pytest.mark.sample(1)
@pytest.mark.parametrize("single_goal", [False, True])
@pytest.mark.parametrize(("name", "wanted"), CASES)
def test_what_is_needed_is_in_the_boxes(
    name: str, wanted: Callable[[Target], Spec], single_goal: bool
) -> None:
    """Every sub-Spec that exists somewhere is one of those that will be solved."""
    tasks = _tasks(name, wanted, single_goal)
    boxes = {task.variant: task.box for task in tasks}
    for task in tasks:
        for bound in task.bounds:
            for use in bound.uses:
                for values, axis in zip(use.coordinates, boxes[use.variant].axes, strict=True):
                    exists = np.broadcast_arrays(bound.mask & (use.weight > 0), values)
                    assert axis[0] == -1 or set(exists[1][exists[0]].tolist()) <= set(axis.tolist())


def test_boxes_share_what_is_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    """An alternative is evaluated once for several boxes, each of which has a part of that."""
    evaluated = []

    def counted(*arguments: Any) -> Any:
        evaluated.append(arguments)
        return shared_binding(*arguments)

    monkeypatch.setattr(bindings, "shared_binding", counted)
    used = context("tiny.buffered")
    goal = batched(2, 1, 7, 4).spec(used.target)
    tasks = plan_tasks(
        used, discover(used, goal.family), goal, 10**9, lambda _: None, NullMemo(), False
    )
    found = {id(bound.shared) for task in tasks for bound in task.bounds}
    assert len(evaluated) < 0.8 * len(found)
