"""``--memo`` and ``--no-memo``: what is recalled, what is said, and what is wrong with the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from morello.memo.place import OFF, VARIABLE
from tests.cli.conftest import Run


@pytest.mark.parametrize("command", ["compile", "explain"])
def test_what_was_solved_is_recalled(
    command: str, run: Run, quick_spec: Path, tmp_path: Path
) -> None:
    """The same answer, and both times it is said where it is from."""
    memo = tmp_path / "own.sqlite"
    first = run(command, quick_spec, "--memo", memo)
    again = run(command, quick_spec, "--memo", memo)
    assert (first.exit_code, again.exit_code, again.stderr) == (0, 0, "")
    assert "searched: " in first.stdout
    assert "Specs in" in first.stdout
    assert "recalled from the memo" in again.stdout
    assert "searched" not in again.stdout
    assert _without_seconds(first.stdout) == _without_seconds(again.stdout)


def _without_seconds(text: str) -> list[str]:
    return [x for x in text.splitlines() if not x.startswith(("searched", "recalled"))]


def test_the_document_says_it_too(run: Run, small_spec: Path, solved_memo: Path) -> None:
    recalled = json.loads(run("explain", small_spec, "--memo", solved_memo, "--json").stdout)
    searched = json.loads(run("explain", small_spec, "--no-memo", "--json").stdout)
    assert (True, 0, 0) == tuple(recalled[k] for k in ("from_memo", "families", "cells"))
    assert searched["from_memo"] is False
    assert min(searched["families"], searched["cells"]) > 0
    assert searched["recalled_families"] == 0
    assert recalled["plan"] == searched["plan"]
    assert recalled["alternatives"] == searched["alternatives"]


def test_a_search_that_recalls_a_part_says_so(
    run: Run, small_spec: Path, solved_memo: Path
) -> None:
    """Another layout of an input: where it has been copied, what is left to do is known."""
    text = small_spec.read_text()
    small_spec.write_text(text.replace("b: f32[K, N]", "b: f32[K, N] layout (1, 0)"))
    result = run("compile", small_spec, "--memo", solved_memo)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "more families were recalled from the memo" in result.stdout
    document = json.loads(run("compile", small_spec, "--no-memo", "--json").stdout)
    assert f"predicted: {document['cycles']:,.0f} cycles" in result.stdout


def test_bench_recalls(run: Run, small_spec: Path, solved_memo: Path) -> None:
    document = json.loads(run("bench", small_spec, "--memo", solved_memo, "--json").stdout)
    assert document["search"]["from_memo"] is True


def test_the_environment_names_the_file(
    run: Run, quick_spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless an option does, or says that there is none."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "named.sqlite"))
    assert run("compile", quick_spec, "--no-memo").exit_code == 0
    assert run("compile", quick_spec, "--memo", "other.sqlite").exit_code == 0
    assert not Path("named.sqlite").exists()
    assert "searched" in run("compile", quick_spec).stdout
    assert Path("named.sqlite").exists()
    assert "recalled" in run("compile", quick_spec).stdout
    monkeypatch.setenv(VARIABLE, OFF)
    assert "searched" in run("compile", quick_spec).stdout


def test_both_options_exclude_each_other(run: Run, small_spec: Path) -> None:
    result = run("compile", small_spec, "--memo", "m.sqlite", "--no-memo")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: --memo and --no-memo exclude each other\n = help: ")
    assert not Path("product.c").exists()


@pytest.mark.parametrize("memo", ["", ".", "product.mspec"])
def test_a_path_that_is_no_memo_is_a_usage_error(memo: str, run: Run, small_spec: Path) -> None:
    """It stays as it is."""
    before = small_spec.read_text()
    result = run("compile", small_spec, "--memo", memo)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "memo" in result.stderr
    assert " = help: " in result.stderr
    assert small_spec.read_text() == before


def test_a_damaged_memo_is_a_warning(run: Run, small_spec: Path, solved_memo: Path) -> None:
    """One line; the program is the same, and the next run recalls it."""
    solved_memo.write_bytes(solved_memo.read_bytes()[:5000])
    result = run("compile", small_spec, "--memo", solved_memo)
    assert result.exit_code == 0
    (line,) = result.stderr.splitlines()
    assert line.startswith("warning: the memo")
    assert "was damaged" in line
    assert "searched" in result.stdout
    again = run("compile", small_spec, "--memo", solved_memo)
    assert (again.stderr, "recalled" in again.stdout) == ("", True)
