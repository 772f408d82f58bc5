"""What prunings save and lose is measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import pruning
from morello.checking.specs import check_spec
from morello.definitions import load_definitions
from morello.language.diagnostics import Collector
from morello.language.parse import parse_spec
from morello.language.source import Source


def test_the_benchmark_says_what_each_saves_and_loses() -> None:
    found = pruning.Found
    all_on = {
        "one": found(specs=100, cycles=12.0, asked=["served", "inlined"]),
        "two": found(specs=50, cycles=9.0, asked=["served"]),
        "three": found(specs=7, cycles=1.0, asked=[]),
    }
    searched: pruning.Searched = {
        pruning.ALL: all_on,
        "served": {
            "one": found(specs=400, cycles=10.0, asked=[]),
            "two": None,
            "three": all_on["three"],
        },
        "inlined": all_on,
    }
    served, inlined = pruning.rows(searched)
    assert served[0] == "`served`"
    assert served[2:] == ("one", "4.00 to 4.00", "20.00% (one)", "two")
    assert inlined[2:] == ("none", "1", "nothing", "none")


@pytest.mark.parametrize("name", pruning.goals())
def test_every_goal_is_a_spec(name: str) -> None:
    known, goal = load_definitions(), pruning.goals()[name]
    collector = Collector()
    file = parse_spec(Source(name, pruning.text_of(goal)))
    check_spec(file, None, {}, known.operators, collector)
    assert not collector.diagnostics
    assert goal["target"] in known.targets


def test_searches_are_repeated_where_something_was_left_out(tmp_path: Path) -> None:
    path = tmp_path / "pruning.json"
    names = ["--goals", "sum", "--without", "direct,elementwise_order"]
    done = CliRunner().invoke(pruning.main, [*names, "--json", str(path)])
    assert done.exit_code == 0, done.output
    searched = json.loads(path.read_text())["searched"]
    own, other = searched[pruning.ALL]["sum"], searched["elementwise_order"]["sum"]
    assert "elementwise_order" in own["asked"]
    assert other["specs"] > own["specs"]
    assert other["cycles"] <= own["cycles"]
    assert searched["direct"]["sum"] == own
    assert "| `direct` |" in done.output


def test_a_name_that_is_none_is_refused() -> None:
    done = CliRunner().invoke(pruning.main, ["--without", "nothing"])
    assert done.exit_code == 2
    assert "no pruning 'nothing'" in done.output
