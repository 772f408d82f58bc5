"""Programs are measured, kept, and made again from what is kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from morello.checking.goal_list import ListedGoal, read_goal_list
from morello.definitions import Definitions
from morello.learning import collect as collecting
from morello.learning.collect import BusyError, collect
from morello.learning.corpus import Group, MeasuredProgram, groups_in, read_group
from morello.learning.merging import refreshed, replayed
from morello.learning.recipe import RecipeError
from morello.records import replace
from morello.search.search import Progress

LIST = """
[[goal]]
spec = '''
spec product(M = 9, N = 8) {
  input a: f32[M, 7]
  input b: f32[7, N]
  output c: f32[M, N]
  c = matmul(a, b)
}
'''
sizes = { M = [9, 12] }
[[goal]]
spec = '''
spec two(N = 40) {
  input x: f32[6, N]
  output y: f32[6, N]
  output z: f32[6]
  y = exp(x)
  z = row_sum(y)
}
'''
"""


@pytest.fixture(scope="module")
def goals(definitions: Definitions) -> list[ListedGoal]:
    return read_goal_list("l.toml", LIST, definitions.operators)


@pytest.fixture(scope="module")
def corpus(
    definitions: Definitions, goals: list[ListedGoal], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Some programs of each goal."""
    directory = tmp_path_factory.mktemp("corpus")
    steps: list[Progress] = []
    target = definitions.targets["x86.scalar"]
    options = {"programs": 4, "busy": True}
    found = list(collect(definitions, target, goals, directory, steps.append, **options))  # type: ignore[arg-type]
    assert sorted(str(one.goal) for one in found) == ["product M=12", "product M=9", "two"]
    assert {one.path for one in found} == {*directory.iterdir()}
    assert {"building", "verifying", "measuring"} <= {s.phase.split(": ")[1] for s in steps}
    return directory


def test_groups_are_measured_twice(corpus: Path) -> None:
    for group in groups_in(corpus):
        assert 2 <= len(group.programs) <= 4
        assert all(len(program.runs) == 2 for program in group.programs)
        assert min(program.cycles for program in group.programs) > 10
        assert group.target == "x86.scalar"
        assert group.programs[0].predicted == min(p.predicted for p in group.programs)


def test_what_is_there_is_passed_over(
    definitions: Definitions, goals: list[ListedGoal], corpus: Path, tmp_path: Path
) -> None:
    target = definitions.targets["x86.scalar"]
    before = {path: path.stat().st_mtime_ns for path in corpus.iterdir()}
    again = list(collect(definitions, target, goals, corpus, lambda _: None, busy=True))
    assert again == []
    assert before == {path: path.stat().st_mtime_ns for path in corpus.iterdir()}
    none = collect(definitions, target, goals, tmp_path, lambda _: None, busy=True, seconds=-1)
    assert list(none) == []


def test_programs_are_made_again_from_recipes(definitions: Definitions, corpus: Path) -> None:
    """To the letter, at the same cost; with other coefficients their predictions are others."""
    for group in groups_in(corpus):
        found = list(replayed(definitions, group))
        assert all(one.same for one in found)
        for one in found:
            assert one.plan is not None
            assert one.plan.cycles == pytest.approx(one.program.predicted)
        assert refreshed(group, found, group.coefficients) == group
        target = definitions.targets[group.target]
        dearer = target.with_coefficients(lambda _, c: replace(c, value=2 * c.value))
        others = replace(definitions, targets={group.target: dearer})
        found = list(replayed(others, group))
        anew = refreshed(group, found, {})
        assert [p.predicted for p in anew.programs] == pytest.approx(
            [2 * p.predicted for p in group.programs]
        )


def test_recipes_that_do_not_fit_are_refused(definitions: Definitions, corpus: Path) -> None:
    """Whatever is in them: nothing is looked for without end, and no plan is wrong."""
    path = next(path for path in corpus.iterdir() if path.name.startswith("product"))
    group = read_group(path)
    recipe = group.programs[0].recipe
    renamed = [["no_such_rule", *option[1:]] for option in recipe["options"]]
    above = [
        [option, *(place for _ in below)] for place, (option, *below) in enumerate(recipe["nodes"])
    ]
    for wrong in (
        {},
        {**recipe, "options": renamed},
        {**recipe, "options": recipe["options"][:1]},
        {**recipe, "nodes": above},
        {**recipe, "nodes": recipe["nodes"][-1:]},
        {**recipe, "roots": []},
        {**recipe, "roots": ["a"]},
        {**recipe, "nodes": [[0]] * len(recipe["nodes"])},
    ):
        (one,) = replayed(definitions, replace(group, programs=(replaced(group, wrong),)))
        assert one.plan is None
        assert isinstance(one.refused, RecipeError)


def replaced(group: Group, recipe: object) -> MeasuredProgram:
    """A program with another recipe."""
    return replace(group.programs[0], recipe=recipe)


def test_a_busy_machine_is_not_measured_on(
    definitions: Definitions,
    goals: list[ListedGoal],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither one that is busy when it begins, nor one that becomes so."""
    target = definitions.targets["x86.scalar"]
    monkeypatch.setattr(os, "getloadavg", lambda: (1000.0, 0.0, 0.0))
    with pytest.raises(BusyError, match=r"1000\.0 processors busy"):
        next(collect(definitions, target, goals, tmp_path, lambda _: None))
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    monkeypatch.setattr(collecting._Collecting, "_share", lambda _: 0.5)
    with pytest.raises(BusyError, match="it had 50% of a processor"):
        next(collect(definitions, target, goals[:1], tmp_path, lambda _: None, programs=2))
    assert list(tmp_path.iterdir()) == []
