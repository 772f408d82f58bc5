"""``--cc`` and ``--run``: another compiler, and what runs its programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def runner(fake: Callable[[str, str], Path]) -> Path:
    """A runner that runs programs as they are, and notes that it does."""
    path = fake("runner", 'echo "$1" >> "$0.log"; shift; exec "$@"')
    path.with_name("runner.log").write_text("")
    return path


def _runs(runner: Path) -> int:
    """How often a program was run, each time with the word that was given."""
    lines = runner.with_name("runner.log").read_text().splitlines()
    assert set(lines) <= {"word"}
    return len(lines)


def test_programs_are_verified_under_the_runner(run: Run, small_spec: Path, runner: Path) -> None:
    """One more run than there are kinds of inputs: the first is run twice."""
    ran = run("compile", small_spec, "--verify", "--cc", "cc", "--run", f"{runner} word")
    assert ran.exit_code == 0, ran.output
    assert ran.stdout.splitlines()[-1].startswith("verified: equal to the reference")
    assert _runs(runner) == 9


def test_the_environment_names_them_too(
    run: Run, small_spec: Path, runner: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What options say counts more."""
    monkeypatch.setenv("MORELLO_RUNNER", f"{runner} word")
    last = run("compile", small_spec).stdout.splitlines()[-1]
    assert last.startswith("not verified: add --verify to run it against the reference under '")
    assert run("compile", small_spec, "--verify").exit_code == 0
    assert _runs(runner) == 9
    monkeypatch.setenv("MORELLO_CC", "no-such-cc")
    refused = run("compile", small_spec, "--verify")
    assert refused.exit_code == 1
    assert "the C compiler is 'no-such-cc', but there is no program" in refused.stderr
    assert run("compile", small_spec, "--verify", "--cc", "cc").exit_code == 0


@pytest.mark.parametrize("command", [("bench",), ("compile", "--measure", "2")])
def test_nothing_is_timed_under_a_runner_unless_asked(
    run: Run, small_spec: Path, runner: Path, command: tuple[str, ...]
) -> None:
    name, *options = command
    refused = run(name, small_spec, *options, "--run", f"{runner} word")
    assert refused.exit_code == 1
    assert "is not timed under" in refused.stderr
    assert "--time-under-runner" in refused.stderr
    assert _runs(runner) == 0
    ran = run(name, small_spec, *options, "--run", f"{runner} word", "--time-under-runner")
    assert ran.exit_code == 0, ran.output
    assert _runs(runner) > 9


def test_documents_name_the_runner(run: Run, small_spec: Path, runner: Path) -> None:
    """Nothing is said of this machine's processor, which may be another."""
    options = ("--run", f"{runner} word", "--time-under-runner")
    ran = run("bench", small_spec, "--json", *options)
    assert json.loads(ran.stdout)["runner"] == f"{runner} word"
    run("compile", small_spec, "--measure", "1", "-o", "it", *options)
    found = json.loads(Path("it.measured.json").read_text())
    assert found["runner"] == f"{runner} word"
    assert (found["processor"], found["clock"]) == (None, None)


TARGET = """target my.board extends x86.scalar
  "A board."
{{
  {clauses}
}}

kernel negative on my.board
  "One element."
  match  neg(X: f32[1] at l1, Y: f32[1] at l1)
  cost   scalar_load
  emit   ```
    {{{{ Y[0] }}}} = -{{{{ X[0] }}}};
  ```
"""


def test_kernels_are_executed_under_the_runner(run: Run, runner: Path) -> None:
    """The runner of an option, or of the target, where this machine lacks a feature."""
    Path("plain.mtarget").write_text(TARGET.format(clauses="page 4 KiB"))
    ran = run("check", "--execute", "plain.mtarget", "--run", f"{runner} word")
    assert ran.exit_code == 0, ran.output
    before = _runs(runner)
    assert before > 0
    clauses = f'features "never_seen" runner "{runner} word"'
    Path("own.mtarget").write_text(TARGET.format(clauses=clauses))
    assert run("check", "--execute", "own.mtarget").exit_code == 0
    assert _runs(runner) > before


def test_kernels_that_nobody_can_build_or_run_are_not_executed(run: Run) -> None:
    """With the reason, and the exit status of what is not known to be right."""
    for clauses, reason in (
        ('features "never_seen"', "this machine lacks never_seen"),
        ('features "never_seen" compiler "no-such-cc"', "the C compiler is 'no-such-cc', but"),
        ('features "never_seen" runner "no-such"', "the runner is 'no-such', but there is no"),
    ):
        Path("own.mtarget").write_text(TARGET.format(clauses=clauses))
        ran = run("check", "--execute", "own.mtarget")
        assert ran.exit_code == 1
        assert f"kernel 'negative' was not executed: {reason}" in ran.stderr
        assert run("check", "--execute", "--allow-unexecuted", "own.mtarget").exit_code == 0


def test_targets_say_what_they_name(run: Run) -> None:
    Path("own.mtarget").write_text(TARGET.format(clauses='features "a", "b" runner "qemu -x"'))
    shown = run("targets", "my.board", "-k", "own.mtarget").stdout
    assert "features: a, b" in shown
    assert "runner:   qemu -x" in shown
    assert "compiler" not in shown
    document = json.loads(run("targets", "my.board", "-k", "own.mtarget", "--json").stdout)
    assert document["features"] == ["a", "b"]
    assert (document["compiler"], document["runner"]) == (None, "qemu -x")
