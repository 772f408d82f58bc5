"""Plans as people and tools read them: the tree, and costs by coefficient."""

from __future__ import annotations

import json
from itertools import pairwise
from math import fsum, isclose
from typing import Any

import pytest

from morello.report.plan import Plan
from morello.search.results.reconstruct import PlanNode
from tests.search.goals import Wanted, copy, elementwise, matmul
from tests.search.machines import context
from tests.search.solved import nodes, one_tree, plan_of, solved

CASES: tuple[tuple[str, Wanted], ...] = (
    ("tiny.cached", matmul(5, 4, 3, threads=3)),
    ("tiny.buffered", elementwise("add", 5, 3, Z=(1, 0))),
    ("tiny.flat", copy(7, dtypes=("s32", "f32"))),
    ("x86.avx512", matmul(17, 41, 12)),
    ("x86.avx512_vnni", Wanted("matmul", (24, 32, 16), dtypes=("u8", "s8", "s32"))),
)
IDS = [f"{name} {wanted}" for name, wanted in CASES]


def _plan(name: str, wanted: Wanted) -> Plan:
    return one_tree(plan_of(name, wanted), solved(name, wanted))


@pytest.mark.parametrize(("name", "wanted"), CASES, ids=IDS)
def test_shares_add_up_to_the_cycles(name: str, wanted: Wanted) -> None:
    """Counts times values are all of the cost, be it linear or a maximum of several resources."""
    plan = _plan(name, wanted)
    shares = plan.costs()
    assert isclose(plan.trees[0].root.cycles, fsum(share.cycles for share in shares), rel_tol=1e-9)
    assert len(shares) == len({share.coefficient for share in shares})
    assert all(share.count > 0 for share in shares)
    assert sorted(-share.cycles for share in shares) == [-share.cycles for share in shares]


def test_counts_are_right_where_they_can_be_counted_by_hand() -> None:
    """Three elements on `tiny.flat`, one by one: three maxima, four loads or steps of each kind."""
    plan = _plan("tiny.flat", elementwise("relu", 1))
    counts = {share.coefficient: share.count for share in plan.costs()}
    assert {"scalar_op": 1, "scalar_load": 1} == counts
    plan = _plan("tiny.flat", elementwise("relu", 2))
    counts = {share.coefficient: share.count for share in plan.costs()}
    assert {"scalar_op": 2, "scalar_load": 4} == counts


@pytest.mark.parametrize(("name", "wanted"), CASES, ids=IDS)
def test_the_rendered_tree_has_a_line_for_every_use(name: str, wanted: Wanted) -> None:
    """A number, two spaces a level, each line with option, sizes and cycles."""
    plan = _plan(name, wanted)
    numbered = plan.render().splitlines()
    assert _uses(plan.trees[0].root) == len(numbered) == len(plan.lines)
    width = len(str(len(numbered)))
    assert list(range(1, len(numbered) + 1)) == [int(line[:width]) for line in numbered]
    lines = [line[width + 2 :] for line in numbered]
    assert f"{plan.trees[0].root.spec.family.operation} [" in lines[0]
    assert f"{plan.trees[0].root.option.name}" in lines[0]
    assert lines[0].endswith(f"# {plan.trees[0].root.cycles:,.0f} cycles")
    depths = [(len(line) - len(line.lstrip(" "))) // 2 for line in lines]
    assert 0 == depths[0]
    assert all(1 <= b <= a + 1 for a, b in pairwise(depths))


def _uses(node: PlanNode) -> int:
    return 1 + sum(map(_uses, node.children))


@pytest.mark.parametrize(("name", "wanted"), CASES, ids=IDS)
def test_json_says_what_the_plan_says(name: str, wanted: Wanted) -> None:
    plan = _plan(name, wanted)
    tree = json.loads(json.dumps(plan.to_json()))
    assert 1 == tree["count"]
    _same(plan.trees[0].root, tree)


def _same(node: PlanNode, tree: dict[str, Any]) -> None:
    operation = node.spec.family.operation
    assert str(operation) == tree["operation"]
    assert dict(zip(operation.dims, node.spec.sizes, strict=True)) == tree["sizes"]
    assert list(operation.names) == list(tree["operands"])
    assert node.option.name == tree["name"]
    assert dict(node.option.parameters) == tree["parameters"]
    assert ("kernel" if node.step is None else "rule") == tree["kind"]
    assert (node.cycles, node.own) == (tree["cycles"], tree["own_cycles"])
    assert list(node.counts) == [child["count"] for child in tree["children"]]
    for child, below in zip(node.children, tree["children"], strict=True):
        _same(child, below)


@pytest.mark.parametrize(("name", "wanted"), CASES, ids=IDS)
def test_decisions_name_rules_and_kernels_that_there_are(name: str, wanted: Wanted) -> None:
    """With parameters as text, in the order of the rule; nothing is an index."""
    known = context(name)
    rules = {rule.name: rule for rule in known.rules}
    kernels = {kernel.name for kernel in known.target.kernels}
    for node in nodes(plan_of(name, wanted)):
        parameters = [parameter for parameter, _ in node.option.parameters]
        if node.step is None:
            assert node.option.name in kernels
            assert [] == parameters
            continue
        rule = rules[node.option.name]
        assert sorted((*rule.operand_variables, *rule.choice_variables)) == sorted(parameters)
        assert all(isinstance(value, str) for _, value in node.option.parameters)


@pytest.mark.parametrize(("name", "wanted"), CASES, ids=IDS)
def test_the_summary_names_what_is_on_the_way_to_the_kernel(name: str, wanted: Wanted) -> None:
    """It ends with a kernel of the plan; what comes before is a loop or a buffer of the plan."""
    plan = _plan(name, wanted)
    *marks, kernel = plan.summary().split(", ")
    assert kernel in {node.option.name for node in nodes(plan.trees[0].root) if node.step is None}
    dims = {dim for node in nodes(plan.trees[0].root) for dim in node.spec.family.operation.dims}
    levels = {level.name for level in context(name).target.levels}
    for mark in marks:
        first, *_, last = mark.split(" ")
        assert (first in dims and last.isdecimal()) or last in levels


def test_a_summary_by_hand() -> None:
    """Three elements on `tiny.flat` in a register are a loop that is written out: no mark of it."""
    assert "element" == _plan("tiny.flat", elementwise("relu", 1)).summary()
