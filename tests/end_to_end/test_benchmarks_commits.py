"""What `benchmarks.commits` compares are specs, and its table says how they differ."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from benchmarks import commits
from morello.checking.specs import check_spec
from morello.definitions import load_definitions
from morello.language.diagnostics import Collector
from morello.language.parse import parse_spec
from morello.language.source import Source

TARGET = "x86.avx2"


@pytest.mark.parametrize("name", commits.cases(TARGET))
def test_every_case_is_a_spec(name: str) -> None:
    file = parse_spec(Source(name, commits.cases(TARGET)[name]))
    check_spec(file, None, {}, load_definitions().operators, collector := Collector())
    assert not collector.diagnostics


def test_ratios_are_of_the_old_to_the_new() -> None:
    old = {"seconds": 3.0, "memory": 100.4, "specs": 12345, "cycles": 9.0}
    new = {"seconds": 1.5, "memory": 50.0, "specs": 678, "cycles": 10.0}
    line = commits.table([{"case": "one", "old": old, "new": new}]).splitlines()[-1]
    assert line == "| one | 3.00 | 1.50 | **2.0** | 100 | 50 | 12,345 | 678 | 0.90 |"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["HEAD", "--cases", "no such"], "no case 'no such'"), ([], "Missing argument 'OLD'")],
)
def test_what_cannot_be_compared_is_refused(arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(commits.main, arguments)
    assert done.exit_code == 2
    assert said in done.output
