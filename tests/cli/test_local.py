"""``--rules``, ``--kernels`` and the table of a project, on all commands that use definitions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

HALF = """op half(X: T[i...]) -> Y: T[i...]
  "Every element by two."
{
  Y[i...] = X[i...] * 0.5
}
"""
SPEC = """target near.scalar

spec halves(N = 5) {
  input  x: f32[N]
  output y: f32[N]
  y = half(x)
}
"""
TARGET = """target near.scalar extends x86.scalar
  "A machine with a cheap load."
{
  coefficient scalar_load = 0.25 cycles "one scalar load from L1" # manual
}
"""
TABLE = """[tool.morello]
rules = ["mine"]
kernels = ["near.mtarget"]
"""

COMMANDS = [
    ["compile", "halves.mspec", "-o", "out", "--no-memo"],
    ["check", "halves.mspec"],
    ["explain", "halves.mspec", "--no-memo"],
    ["bench", "halves.mspec", "--no-memo"],
    ["rules"],
    ["operators"],
    ["kernels", "--target", "near.scalar"],
    ["targets", "near.scalar"],
    ["memo", "verify", "--memo", "memo.sqlite", "--cells", "1"],
    ["memo", "gc", "--memo", "memo.sqlite", "--unused"],
    ["calibrate", "-t", "near.scalar", "-s", "halves.mspec", "--programs", "3", "-o", "fit.json"],
]


@pytest.fixture(autouse=True)
def _files(run: Run) -> None:
    """In the current directory, which ``run`` has made."""
    Path("mine").mkdir()
    Path("mine/half.mrules").write_text(HALF)
    Path("near.mtarget").write_text(TARGET)
    Path("halves.mspec").write_text(SPEC)


def test_every_command_takes_them(run: Run) -> None:
    """All that look at definitions have the options."""
    for command in COMMANDS:
        words = command[:2] if command[0] == "memo" else command[:1]
        help_ = run(*words, "--help").stdout
        assert "--rules PATH" in help_, words
        assert "--kernels PATH" in help_, words


@pytest.mark.parametrize("by_table", [False, True])
def test_a_spec_is_compiled_with_them(by_table: bool, run: Run) -> None:
    """An operator and a target that nobody has installed."""
    options = [] if by_table else ["-r", "mine", "-k", "near.mtarget"]
    if by_table:
        Path("pyproject.toml").write_text(TABLE)
    result = run("compile", "halves.mspec", "--verify", "--no-memo", *options)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "on near.scalar" in result.stdout
    assert run("check", "halves.mspec", *options).exit_code == 0
    names = [
        row["name"] for row in json.loads(run("operators", "--json", *options).stdout)["operators"]
    ]
    assert "half" in names
    assert run("targets", "near.scalar", *options).exit_code == 0


def test_an_option_adds_to_the_table(run: Run) -> None:
    """A file that both name counts once."""
    Path("pyproject.toml").write_text('[tool.morello]\nrules = ["mine"]\n')
    result = run("check", "halves.mspec", "--rules", "mine/half.mrules", "-k", "near.mtarget")
    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_a_wrong_table_is_an_error_of_every_command(command: list[str], run: Run) -> None:
    """With its place, on each of them."""
    if command[0] == "memo":
        assert run("compile", "-", "-o", "out", "--memo", "memo.sqlite", input=COPY).exit_code == 0
    Path("pyproject.toml").write_text(TABLE.replace("near", "far"))
    result = run(*command)
    assert result.exit_code == 1
    assert "error[P014]: there is no file or directory 'far.mtarget'" in result.stderr
    assert " --> pyproject.toml:3:13" in result.stderr


COPY = """target x86.scalar

spec copies(N = 2) {
  input  x: f32[N]
  output y: f32[N]
  y = relu(x)
}
"""


def test_nothing_stale_is_used(run: Run) -> None:
    """A file that changes is another one to the start-up cache and to the memo."""
    Path("pyproject.toml").write_text(TABLE)

    def cycles() -> float:
        command = ("compile", "halves.mspec", "--json", "--force", "--memo", "memo.sqlite")
        found = json.loads(run(*command).stdout)
        return float(found["cycles"])

    first = cycles()
    assert cycles() == first
    Path("near.mtarget").write_text(TARGET.replace("0.25", "2.25"))
    second = cycles()
    assert second > first
    Path("mine/half.mrules").write_text(HALF.replace("* 0.5", "* 0.5 + X[i...]"))
    assert cycles() > second
    Path("mine/half.mrules").write_text(HALF)
    Path("near.mtarget").write_text(TARGET)
    assert cycles() == first


def test_calibrate_knows_a_target_of_the_user(run: Run) -> None:
    """It gets as far as the specs, which are not there."""
    options = ("-t", "near.scalar", "-s", "gone.mspec", "-o", "fit.json")
    assert "there is no target 'near.scalar'" in run("calibrate", *options).stderr
    result = run("calibrate", *options, "-k", "near.mtarget")
    assert "there is no file 'gone.mspec'" in result.stderr


def test_a_file_of_the_table_is_checked_under_the_name_that_is_given(run: Run) -> None:
    """It is one file, and its rules are executed."""
    assert run("new", "rule", "cancel").exit_code == 0
    Path("pyproject.toml").write_text('[tool.morello]\nrules = ["cancel.mrules"]\n')
    result = run("check", "--execute", Path("cancel.mrules").resolve())
    assert (result.exit_code, result.stderr) == (0, "")
    assert "executed 1 rule on " in result.stdout
