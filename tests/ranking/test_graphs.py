"""Graphs of plans say what their parts are, and how these are used."""

from __future__ import annotations

import pytest

from morello.compiler import compile_programs, compile_spec
from morello.definitions import Definitions
from morello.language.source import Source
from morello.memo.memo import Memo
from morello.ranking import graphs
from morello.ranking.description import Describer
from morello.ranking.graphs import PlanGraphs
from tests.ranking.test_features import PRODUCT, TWO


@pytest.mark.parametrize("text", [PRODUCT, TWO])
def test_parts_add_up_to_the_plan(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part is once there, before those that it has; what they take is all that is taken."""
    monkeypatch.setattr(graphs, "LEAST", 0.0)
    plan = compile_spec(text, memo=Memo()).plan
    graph = PlanGraphs().of(plan)
    assert sum(graph.shares) == pytest.approx(1)
    nodes = {id(line.node) for line in plan.lines}
    assert 0 < len(graph.parts) <= len(nodes)
    assert sum(runs for runs in graph.runs) == sum(line.runs for line in plan.lines)
    assert all(above < below for above, below in graph.edges)
    kernels = [r for p, r in zip(graph.parts, graph.runs, strict=True) if "kernel" in p]
    assert sum(kernels) == sum(line.runs for line in plan.lines if line.node.step is None)


def test_what_takes_nothing_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = compile_spec(PRODUCT, memo=Memo()).plan
    whole = PlanGraphs().of(plan)
    monkeypatch.setattr(graphs, "LEAST", 0.5)
    found = PlanGraphs().of(plan)
    assert 0 < len(found.parts) < len(whole.parts)
    assert len(found.weights) == len(found.edges) < len(whole.edges)
    assert all(0 <= end < len(found.parts) for edge in found.edges for end in edge)


def test_plans_that_share_parts_share_what_is_said_of_them() -> None:
    plan = compile_spec(PRODUCT, memo=Memo()).plan
    described = PlanGraphs()
    one, other = described.of(plan), described.of(plan)
    assert one == other == PlanGraphs().of(plan)
    assert all(a is b for a, b in zip(one.parts, other.parts, strict=True))


def test_what_is_said_of_a_plan_does_not_depend_on_others(definitions: Definitions) -> None:
    """Also where they choose the same for a Spec, and other things below."""
    source, target = Source("product", PRODUCT), definitions.targets["x86.scalar"]
    kernels = compile_programs(
        source, "product", {}, target, 8, 32, definitions=definitions, memo=Memo()
    )
    assert len(kernels) > 2
    shared = Describer()
    for kernel in [*kernels, *reversed(kernels)]:
        assert shared.of(kernel.plan) == Describer().of(kernel.plan)
