"""``morello memo path``, ``stats`` and ``gc``, and what all commands about the memo have alike."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from morello.cli.memo import memo
from morello.memo.place import OFF, VARIABLE, default_path
from tests.cli.conftest import Run

READING = [("stats",), ("gc", "--unused"), ("export", "out.sqlite"), ("verify",)]
IDS = [arguments[0] for arguments in READING]


@pytest.mark.parametrize("command", sorted(memo.commands))
def test_every_command_explains_itself(command: str, run: Run) -> None:
    result = run("memo", command, "--help")
    assert result.exit_code == 0
    examples = result.stdout.split("Examples:\n")[1].splitlines()
    assert all(line.strip().startswith(f"morello memo {command}") for line in examples)


@pytest.mark.parametrize("arguments", READING, ids=IDS)
def test_a_missing_memo_is_an_error(arguments: tuple[str, ...], run: Run) -> None:
    """It says how one begins, and begins none."""
    result = run("memo", *arguments, "--memo", "gone.sqlite")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: there is no memo 'gone.sqlite'\n = help: ")
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("arguments", [*READING, ("path",), ("import", "x")])
def test_a_memo_that_is_switched_off_is_an_error(arguments: tuple[str, ...], run: Run) -> None:
    result = run("memo", *arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "error: there is no memo: MORELLO_MEMO switches it off" in result.stderr


@pytest.mark.parametrize("arguments", READING, ids=IDS)
def test_a_foreign_file_is_a_usage_error(arguments: tuple[str, ...], run: Run) -> None:
    Path("notes.txt").write_text("mine\n" * 100)
    result = run("memo", *arguments, "--memo", "notes.txt")
    assert result.exit_code == 2
    assert "is not a memo, and is left as it is" in result.stderr
    assert Path("notes.txt").read_text() == "mine\n" * 100


def test_a_newer_memo_cannot_be_used(run: Run, solved_memo: Path) -> None:
    """A warning says why; statistics of nothing would be wrong."""
    data = bytearray(solved_memo.read_bytes())
    data[60:64] = (99).to_bytes(4, "big")
    solved_memo.write_bytes(data)
    result = run("memo", "stats", "--memo", solved_memo)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "was written by a newer version" in result.stderr
    assert "cannot be used" in result.stderr
    assert solved_memo.read_bytes() == data


def test_the_path_is_that_in_use(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the option, else of the environment, else of the user."""
    monkeypatch.setenv(VARIABLE, "named.sqlite")
    assert run("memo", "path").stdout == "named.sqlite\n"
    assert run("memo", "path", "--memo", "own.sqlite").stdout == "own.sqlite\n"
    document = json.loads(run("memo", "path", "--json").stdout)
    assert document == {"path": "named.sqlite", "exists": False}
    monkeypatch.delenv(VARIABLE)
    assert run("memo", "path").stdout == f"{default_path()}\n"
    monkeypatch.setenv(VARIABLE, OFF)
    assert run("memo", "path").exit_code == 1


def test_statistics_add_up(run: Run, solved_memo: Path) -> None:
    """Rows are sorted by bytes; the totals are their sums; the file is at least as large."""
    document = json.loads(run("memo", "stats", "--family", "--memo", solved_memo, "--json").stdout)
    rows = document.pop("by_family")
    for name in ("pages", "cells", "boxes", "bytes"):
        assert document[name] == sum(row[name] for row in rows) > 0
    assert document["variants"] == len({row["family"] for row in rows})
    assert [row["bytes"] for row in rows] == sorted((r["bytes"] for r in rows), reverse=True)
    assert all(row["cells_per_box"] == row["cells"] / row["boxes"] for row in rows)
    assert document["file_bytes"] == solved_memo.stat().st_size > document["bytes"]
    assert document == json.loads(run("memo", "stats", "--memo", solved_memo, "--json").stdout)


def test_statistics_as_text(run: Run, solved_memo: Path) -> None:
    totals = run("memo", "stats", "--memo", solved_memo).stdout
    assert f"memo:  {solved_memo}, " in totals
    assert "Specs a box" in totals
    by_family = run("memo", "stats", "--memo", solved_memo, "--family").stdout
    assert by_family.startswith(totals)
    assert "matmul(A: f32 in_l2 [0, 1] packing 4, B: f32 in_l2 [0, 1] packing 4, " in by_family


def test_an_empty_memo_has_nothing(run: Run, solved_memo: Path) -> None:
    assert run("memo", "gc", "--max-size", "0B", "--memo", solved_memo).exit_code == 0
    for arguments in READING:
        assert run("memo", *arguments, "--memo", solved_memo).exit_code == 0
    document = json.loads(run("memo", "stats", "--memo", solved_memo, "--json").stdout)
    assert [0] * 4 == [document[name] for name in ("variants", "pages", "cells", "bytes")]


# ------------------------------------------------------------------------- gc


def _gc(run: Run, solved_memo: Path, *arguments: str) -> tuple[int, int]:
    result = run("memo", "gc", *arguments, "--memo", solved_memo, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    document = json.loads(result.stdout)
    return document["removed_pages"], document["pages"]


def test_a_size_bounds_the_memo(run: Run, solved_memo: Path) -> None:
    before = json.loads(run("memo", "stats", "--memo", solved_memo, "--json").stdout)
    assert _gc(run, solved_memo, "--max-size", "1GiB") == (0, before["pages"])
    removed, left = _gc(run, solved_memo, "--max-size", f"{before['bytes'] // 2}B")
    assert removed + left == before["pages"]
    assert min(removed, left) > 0
    after = json.loads(run("memo", "stats", "--memo", solved_memo, "--json").stdout)
    assert after["bytes"] <= before["bytes"] // 2


def test_an_age_bounds_it(run: Run, solved_memo: Path) -> None:
    """All of it was used less than a week ago."""
    removed, left = _gc(run, solved_memo, "--older-than", "1w")
    assert (removed, left > 0) == (0, True)


def test_pages_of_other_definitions_are_unused(
    run: Run, small_spec: Path, solved_memo: Path
) -> None:
    """A rule that is not installed: what was solved with it goes, unless it is named."""
    Path("more.mrules").write_text(RULE)
    removed, installed = _gc(run, solved_memo, "--unused")
    assert (removed, installed > 0) == (0, True)
    result = run("compile", small_spec, "-r", "more.mrules", "--memo", solved_memo)
    assert result.exit_code == 0
    removed, left = _gc(run, solved_memo, "--unused")
    assert (removed > 0, left) == (True, installed)
    assert (0, left) == _gc(run, solved_memo, "--older-than", "30d")
    result = run("compile", small_spec, "-r", "more.mrules", "--memo", solved_memo)
    assert "searched" in result.stdout
    removed, _ = _gc(run, solved_memo, "--unused", "-r", "more.mrules")
    assert removed > 0  # now it is the others whose definitions are not at hand
    result = run("compile", small_spec, "-r", "more.mrules", "--memo", solved_memo)
    assert "recalled from the memo" in result.stdout


FUSED = """spec f(B = 2, N = 4) {
  input x: s8[B, N] output y: f32[B, N]
  local t: f32[B, N]
  t = copy(x)
  y = relu(scale(t, factor = -0.5))
}"""


def test_pages_of_fused_computations_are_used(run: Run) -> None:
    """They are recalled after a collection of what no target would find."""
    memo = Path("fused.sqlite")
    Path("fused.mspec").write_text(FUSED)
    compiling = ("compile", "fused.mspec", "-t", "x86.scalar", "--memo", memo)
    assert "searched" in run(*compiling).stdout
    removed, left = _gc(run, memo, "--unused")
    assert (removed, left > 0) == (0, True)
    assert "recalled from the memo" in run(*compiling).stdout


RULE = """rule another_copy
  "Work on a nearer copy of an input, under another name."
  match  f: op except copy, X: operand of f
  choose level in nearer(X.level), layout in layouts(X, level), vector in vectors(X, level)
  where  reads(f, X), not writes(f, X), distance(level) <= nearest(f)
  yield  with Y = X at level layout layout vector vector { copy(X, Y); f[X := Y] }
"""


def test_nothing_to_collect_by_is_a_usage_error(run: Run, solved_memo: Path) -> None:
    result = run("memo", "gc", "--memo", solved_memo)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: nothing says which pages are to go\n = help: ")


@pytest.mark.parametrize(
    "arguments",
    [("--max-size", "many"), ("--max-size", "10parsecs"), ("--max-size", "10"),
     ("--max-size", "-1B"), ("--older-than", "30"), ("--older-than", "30MiB")],
)  # fmt: skip
def test_what_is_no_quantity_is_a_usage_error(
    arguments: tuple[str, str], run: Run, solved_memo: Path
) -> None:
    result = run("memo", "gc", *arguments, "--memo", solved_memo)
    assert result.exit_code == 2
    assert "is no number with one of the units" in result.stderr
