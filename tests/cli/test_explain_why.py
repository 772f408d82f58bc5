"""``morello explain --why``: alternatives and refusals of any line of the plan."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from morello.cli.main import main

ARGUMENTS = ["explain", "examples/matmul.mspec", "-t", "x86.scalar"]
SIZES = ["-D", "M=4", "-D", "K=3", "-D", "N=5"]


def _run(*more: str) -> str:
    result = CliRunner().invoke(main, [*ARGUMENTS, *SIZES, *more])
    assert 0 == result.exit_code, result.output
    return result.output


def test_the_goal_by_default() -> None:
    text = _run()
    assert "line 1: matmul(" in text
    assert "what does not apply to it:" in text


def test_any_line_of_the_plan() -> None:
    """Its Spec is that of the line; its first alternative is what the line says."""
    lines = _run().splitlines()
    second = next(line for line in lines if line.lstrip().startswith("2  "))
    document = json.loads(_run("--why", "2", "--json"))
    first = document["alternatives"][0]
    assert first["step"] in second
    assert abs(sum(first["costs"].values()) - first["cycles"]) <= 1e-4 * first["cycles"]
    assert document["why"].split(" [")[1].rstrip("]").replace(",", "") in second
    assert f"line 2: {document['why']}" in _run("--why", "2")


def test_a_line_that_is_not_there() -> None:
    result = CliRunner().invoke(main, [*ARGUMENTS, *SIZES, "--why", "9999"])
    assert 2 == result.exit_code
    assert "there is no line 9999: the plan has" in result.output


def test_narrow_terminals_have_two_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the same columns: the tree keeps its room."""
    wide = _run().splitlines()
    header = next(line.split() for line in wide if line.lstrip().startswith("line "))
    monkeypatch.setattr("morello.cli.session.WIDTH_OF_A_FILE", 110)
    narrow = _run().splitlines()
    headers = [line.split() for line in narrow if line.lstrip().startswith("line  ")]
    assert 2 == len(headers)
    assert sorted(header) == sorted([*headers[0], *headers[1][1:]])
    assert "program" == headers[0][-1]
