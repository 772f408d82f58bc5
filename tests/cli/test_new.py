"""``morello new``: what it writes works as it is, and nothing of the user's is overwritten."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from morello.cli.skeletons import KINDS
from tests.cli.conftest import Run

NAMES = {"rule": "twice_over", "kernel": "my_sums", "target": "mine.small", "plugin": "my-rules"}


def _written() -> set[str]:
    return {str(path) for path in Path().rglob("*") if path.is_file()}


def _in_order(files: set[str]) -> list[str]:
    """As they are written: the tests last."""
    return sorted(files, key=lambda name: (name.startswith("test_"), name))


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", ["rule", "kernel", "target"])
def test_the_commands_that_it_prints_run(kind: str, run: Run) -> None:
    """One after the other; what is executed is left to the skeleton's own test."""
    result = run("new", kind, NAMES[kind])
    assert (result.exit_code, result.stderr) == (0, "")
    wrote, following, *commands = result.stdout.splitlines()
    assert wrote.removeprefix("wrote ").split(", ") == _in_order(_written())
    assert following == "next:"
    words = [shlex.split(command.removeprefix("  ")) for command in commands]
    assert words[-1][:3] == ["python", "-m", "pytest"]
    assert words[-1][3] in _written()
    for program, *arguments in words[:-1]:
        assert program == "morello"
        done = run(*(word for word in arguments if word != "--execute"))
        assert (done.exit_code, done.stderr) == (0, ""), arguments


def test_skeletons_pass_their_own_tests(run: Run, tmp_path: Path) -> None:
    """As they are written, with nothing installed; all four in one process."""
    for kind, name in NAMES.items():
        assert run("new", kind, name).exit_code == 0
    files = ["my_rules/my_rules/my_rules.mrules", "twice_over.mrules"]
    assert run("check", *files, "my_sums.mtarget", "mine_small.mtarget").exit_code == 0
    tests = ["tests", *sorted(str(path) for path in tmp_path.glob("test_*.py"))]
    assert len(tests) == len(KINDS)
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests],
        cwd=tmp_path / "my_rules",
        env={k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COV_"))},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout
    assert "skipped" not in finished.stdout


def test_a_plugin_is_a_directory(run: Run) -> None:
    """A distribution with one entry point; its name with dashes, its package with underscores."""
    result = run("new", "plugin", "my-rules", "--json")
    document = json.loads(result.stdout)
    assert set(document["files"]) == _written()
    assert document["commands"][:2] == ["cd my_rules", "python -m pip install -e ."]
    text = Path("my_rules/pyproject.toml").read_text()
    assert 'name = "my-rules"' in text
    assert 'my-rules = "my_rules"' in text


def test_it_may_be_written_elsewhere(run: Run) -> None:
    """Into a directory that exists."""
    assert "there is no directory 'there'" in run("new", "rule", "mine", "-o", "there").stderr
    Path("there").mkdir()
    result = run("new", "rule", "mine", "-o", "there")
    assert result.exit_code == 0
    assert "next:\n  cd there\n" in result.stdout
    assert _written() == {"there/mine.mrules", "there/mine.mspec", "there/test_mine.py"}


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_overwritten(kind: str, run: Run) -> None:
    """Where one of the files is there, none is written."""
    there = {"rule": "test_twice_over.py", "kernel": "my_sums.mspec", "target": "mine_small.mspec"}
    path = Path(there.get(kind, "my_rules"))
    path.write_text("mine\n")
    result = run("new", kind, NAMES[kind])
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"error: '{path}' exists already" in result.stderr
    assert _written() == {str(path)}
    assert path.read_text() == "mine\n"


@pytest.mark.parametrize(
    ("kind", "name", "status", "message"),
    [
        ("rule", "Two words", 2, "'Two words' is no name of a rule"),
        ("rule", "../mine", 2, "is no name of a rule"),
        ("rule", "a-b", 2, "write small letters, digits and underscores"),
        ("kernel", "mine.small", 2, "is no name of a kernel"),
        ("kernel", "", 2, "'' is no name of a kernel"),
        ("target", "mine..small", 2, "with dots between words"),
        ("plugin", "-rules", 2, "is no name of a plugin"),
        ("plugin", "import", 2, "'import' is no name of a plugin"),
        ("rule", "accumulate", 1, "there is a rule 'accumulate' already"),
        ("kernel", "element", 1, "there is a kernel 'element' already"),
        ("target", "x86.scalar", 1, "there is a target 'x86.scalar' already"),
        ("plugin", "morello", 1, "there is a Python package 'morello' already"),
        ("something", "mine", 2, "'something' is not one of 'rule', 'kernel'"),
    ],
)
def test_names_that_cannot_be(kind: str, name: str, status: int, message: str, run: Run) -> None:
    """Each with what would do, and no file is written."""
    result = run("new", "--", kind, name)
    assert (result.exit_code, result.stdout) == (status, "")
    assert message in result.stderr
    assert _written() == set()


def test_names_of_what_comes_with_it_are_new_too(run: Run) -> None:
    """The rule brings an operator, and a file of the user's may have one of its name."""
    Path("mine.mrules").write_text(
        "op half_operator(X: T[i...]) -> Y: T[i...] { Y[i...] = X[i...] }"
    )
    result = run("new", "rule", "half", "--rules", "mine.mrules")
    assert (result.exit_code, result.stdout) == (2, "")
    assert (
        "'half' cannot be the name of a rule: operator 'half_operator' is declared" in result.stderr
    )
    assert _written() == {"mine.mrules"}
