"""``morello memo export`` and ``import``: what was solved here is known there."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Run


def test_what_was_shipped_is_recalled(run: Run, small_spec: Path, solved_memo: Path) -> None:
    exported = run("memo", "export", "shipped.sqlite", "--memo", solved_memo, "--json")
    assert (exported.exit_code, exported.stderr) == (0, "")
    pages = json.loads(exported.stdout)["pages"]
    imported = run("memo", "import", "shipped.sqlite", "--memo", "other.sqlite", "--json")
    document = json.loads(imported.stdout)
    assert document == {
        "file": "shipped.sqlite",
        "copied": pages,
        "known": 0,
        "damaged": 0,
        "united": 0,
    }
    assert "recalled" in run("compile", small_spec, "--memo", "other.sqlite").stdout
    again = run("memo", "import", "shipped.sqlite", "--memo", "other.sqlite")
    assert again.stdout == (
        f"copied 0 pages from shipped.sqlite\nleft out {pages} that were known\n"
    )


def test_nothing_is_overwritten(run: Run, small_spec: Path, solved_memo: Path) -> None:
    result = run("memo", "export", small_spec, "--memo", solved_memo)
    assert result.exit_code == 2
    assert "exists" in result.stderr
    assert small_spec.read_text().startswith("#")


def test_a_place_that_cannot_be_written_is_an_error(run: Run, solved_memo: Path) -> None:
    result = run("memo", "export", "gone/out.sqlite", "--memo", solved_memo)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: cannot write 'gone/out.sqlite'")
    assert not Path("gone").exists()


@pytest.mark.parametrize("name", ["gone.sqlite", "product.mspec", "."])
def test_what_is_no_memo_is_not_imported(name: str, run: Run, small_spec: Path) -> None:
    result = run("memo", "import", name, "--memo", "own.sqlite")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: expected a memo of this version")
    assert " = help: " in result.stderr


def test_a_damaged_page_is_left_out(run: Run, solved_memo: Path) -> None:
    """Each is a warning, and the others are copied."""
    _damage_a_page(solved_memo)
    document = run("memo", "import", solved_memo, "--memo", "own.sqlite", "--json")
    assert document.exit_code == 0
    assert json.loads(document.stdout)["damaged"] == 1
    assert json.loads(document.stdout)["copied"] > 1
    assert document.stderr.startswith("warning: a page of the memo cannot be read")


def _damage_a_page(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "UPDATE pages SET data = substr(data, 1, length(data) - 1) || x'00' "
            "WHERE rowid = (SELECT rowid FROM pages ORDER BY bytes DESC LIMIT 1)"
        )


LIST = """
[[goal]]
spec = '''
spec ramp(M = 6, N = 5) {
  input x: f32[M, N]
  output y: f32[M, N]
  y = relu(x)
}
'''
sizes = { M = [3, 6], N = 5 }
targets = ["x86.scalar"]
"""


def test_pages_of_goals_alone_answer_them(
    run: Run, tmp_path: Path, small_spec: Path, solved_memo: Path
) -> None:
    goals = tmp_path / "goals.toml"
    goals.write_text(LIST)
    options = ("--goals", goals, "--memo", solved_memo)
    refused = run("memo", "export", "goals.sqlite", *options)
    assert (refused.exit_code, Path("goals.sqlite").exists()) == (1, False)
    assert "the memo does not answer ramp M=3 N=5 for x86.scalar" in refused.stderr
    run("memo", "fill", goals, "--memo", solved_memo)
    exported = json.loads(run("memo", "export", "goals.sqlite", *options, "--json").stdout)
    whole = json.loads(run("memo", "export", "all", "--memo", solved_memo, "--json").stdout)
    assert 0 < exported["pages"] < whole["pages"] / 2
    run("memo", "import", "goals.sqlite", "--memo", "other.sqlite")
    passed = run("memo", "fill", goals, "--memo", "other.sqlite", "--resume", "--json")
    assert len(json.loads(passed.stdout)["answered"]) == 2
    assert "searched" in run("compile", small_spec, "--memo", "other.sqlite").stdout


def test_a_file_with_another_sum_is_refused(run: Run, solved_memo: Path) -> None:
    exported = run("memo", "export", "shipped.sqlite", "--memo", solved_memo, "--json")
    known = json.loads(exported.stdout)["sha256"]
    options = ("memo", "import", "shipped.sqlite", "--memo", "other.sqlite", "--sha256")
    for wrong in ("", "0" * 64, known[:-1]):
        refused = run(*options, wrong)
        assert (refused.exit_code, Path("other.sqlite").exists()) == (1, False)
        assert f"has the sum {known}" in refused.stderr
    assert run(*options, known.upper()).exit_code == 0
    assert run("memo", "import", "gone", "--sha256", known).exit_code == 1
