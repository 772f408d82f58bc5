"""Lists of goals expand to the same goals, and say what is wrong with them."""

from __future__ import annotations

import re
from math import prod
from pathlib import Path

import pytest

from morello.checking.goal_list import GoalListError, read_goal_list
from morello.definitions import Definitions
from morello.errors import MorelloError
from morello.plugins.resources import GOALS_SUFFIX, load_resource

SPEC = """
[[goal]]
spec = '''
spec sum_of(M = 5, N = 7) { input x: f32[M, N]; output y: f32[M]; y = row_sum(x) }
'''
"""


def test_sizes_are_listed_drawn_or_defaults(definitions: Definitions) -> None:
    """A goal for each listed size; ranges are drawn, within their ends and below the limit."""
    text = SPEC + 'sizes = { M = [1, 100], N = "10..1000" }\ndraw = 20\nmost = 5000\nheld_out = 4\n'
    goals = read_goal_list("l.toml", text, definitions.operators)
    assert goals == read_goal_list("l.toml", text, definitions.operators)
    assert {goal.defines["M"] for goal in goals} == {1, 100}
    assert all(10 <= goal.defines["N"] <= 1000 for goal in goals)
    assert all(prod(goal.defines.values()) <= 5000 for goal in goals)
    assert len({str(goal) for goal in goals}) == len(goals) > 20
    assert [goal.held_out for goal in goals[:8]] == [False, False, False, True] * 2
    (plain,) = read_goal_list("l.toml", SPEC, definitions.operators)
    assert (plain.defines, str(plain)) == ({}, "sum_of")


def test_a_list_names_files_beside_it(definitions: Definitions, tmp_path: Path) -> None:
    (tmp_path / "a.mspec").write_text(
        "spec one(N = 3) { input x: f32[N]; output y: f32[N]; y = relu(x) }\n"
        "spec two(N = 3) { input x: f32[N]; output y: f32[N]; y = exp(x) }\n"
    )
    text = '[[goal]]\nfile = "a.mspec"\nsizes = { N = [1, 2] }\ntargets = ["x86.scalar"]'
    goals = read_goal_list("l.toml", text, definitions.operators, tmp_path)
    assert [str(goal) for goal in goals] == ["one N=1", "one N=2", "two N=1", "two N=2"]
    assert goals[0].targets == ("x86.scalar",)
    with pytest.raises(GoalListError, match="cannot name a file"):
        read_goal_list("l.toml", text, definitions.operators)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[goal]", "l.toml is not TOML: .*line 1"),
        ("", "l.toml has no goals"),
        ("other = 1\n" + SPEC, "l.toml has 'other'"),
        ("[[goal]]\n", "l.toml, goal 1: it has no text"),
        (SPEC + "drew = 3", "goal 1: there is no 'drew'"),
        (SPEC + "draw = 0", "cannot draw 0 goals"),
        (SPEC + "held_out = -1", "'held_out' is no whole number"),
        (SPEC + 'targets = "x86.scalar"', "'targets' is no list"),
        (SPEC + 'most = "many"', "'most' is no number"),
        (SPEC + "sizes = 3", "'sizes' is no table"),
        (SPEC + "sizes = { K = [1] }", "no parameter 'K'"),
        (SPEC + "sizes = { N = [] }", "'N' is no list of sizes"),
        (SPEC + "sizes = { N = [true] }", "'N' is no list of sizes"),
        (SPEC + 'sizes = { N = "7..3" }', "'N' is no range: '7..3'"),
        (SPEC + 'sizes = { N = "1..99999999999999" }', "'N' is no range"),
        (SPEC + 'sizes = { N = "50..60" }\nmost = 40', "none had sizes whose product"),
        (SPEC.replace("row_sum", "row_some"), "row_some"),
    ],
)
def test_what_is_wrong_is_said(text: str, message: str, definitions: Definitions) -> None:
    with pytest.raises(MorelloError, match=message):
        read_goal_list("l.toml", text, definitions.operators)


def test_the_goals_of_plugins_are_of_all_kinds(definitions: Definitions) -> None:
    """Enough to judge by: of graphs, and of other element types than f32."""
    goals = [
        goal
        for file in definitions.learning
        if file.name.endswith(GOALS_SUFFIX)
        for goal in read_goal_list(
            file.name, load_resource(file.resource, file.name).text, definitions.operators
        )
    ]
    judged = [goal for goal in goals if goal.held_out]
    assert len(goals) >= 150
    assert len(judged) >= 40
    operators = [set(re.findall(r"(\w+)\(", goal.source.text)) - {goal.spec} for goal in judged]
    assert sum(len(found) > 1 for found in operators) >= 10
    assert sum("f32[M, K]" not in g.source.text and "matmul" in g.source.text for g in judged) >= 8
