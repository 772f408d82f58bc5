"""The group: help, version, exit status, and what becomes of errors that nobody expected."""

from __future__ import annotations

import json
from importlib.metadata import version

import pytest
from click.testing import CliRunner

import morello.cli.request
from morello.cli.main import _Later, main
from morello.definitions import Definitions
from morello.errors import MorelloError, UsageError
from morello.plugins import BrokenPlugin
from morello.records import replace
from morello.startup.commands import SUMMARIES
from tests.cli.conftest import Run


def _raise_from_loading(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def load_definitions(extra_files: object, *, fitted: bool, warn: bool) -> None:
        raise error

    monkeypatch.setattr(morello.cli.request, "load_definitions", load_definitions)


def test_the_version_is_that_of_the_distribution(run: Run) -> None:
    """It is written in one place."""
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"morello, version {version('morello')}\n")


@pytest.mark.parametrize("command", sorted(main.commands))
def test_every_command_explains_itself(command: str, run: Run) -> None:
    """What it does, its options, and examples, each on a line of its own."""
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "\nExamples:\n" in result.stdout.replace("\n  ", "\n")
    examples = result.stdout.split("Examples:\n")[1].splitlines()
    assert all(line.strip().startswith(f"morello {command}") for line in examples)
    assert result.stdout == run(command, "-h").stdout


@pytest.mark.parametrize("command", sorted(main.commands))
def test_the_list_of_commands_is_not_cut_off(command: str, run: Run) -> None:
    """Each command's summary fits into its line."""
    lines = run("--help").stdout.splitlines()
    (line,) = [line for line in lines if line.split()[:1] == [command]]
    assert line.endswith(".")
    assert not line.endswith("...")


@pytest.mark.parametrize("command", SUMMARIES)
def test_the_list_of_commands_says_what_each_says_of_itself(command: str) -> None:
    """The list is shown without importing what is in it."""
    later = main.commands[command]
    assert isinstance(later, _Later)
    assert later.load().get_short_help_str(1000) == SUMMARIES[command]


def test_an_unknown_command_is_a_usage_error(run: Run) -> None:
    """Status 2, on the standard error."""
    result = run("compil")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "No such command 'compil'" in result.stderr


@pytest.mark.parametrize(("kind", "status"), [(MorelloError, 1), (UsageError, 2)])
def test_errors_set_the_status(
    kind: type[MorelloError], status: int, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error is one line, and its advice another."""
    _raise_from_loading(monkeypatch, kind("it broke", help="mend it"))
    result = run("rules")
    assert (result.exit_code, result.stdout) == (status, "")
    assert result.stderr == "error: it broke\n = help: mend it\n"


def test_errors_are_in_the_json_document_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool that reads the standard output finds them there."""
    _raise_from_loading(monkeypatch, MorelloError("it broke", help="mend it"))
    result = run("rules", "--json")
    assert result.exit_code == 1
    assert '"message": "it broke"' in result.stdout
    assert "error: it broke" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compile", "--json"), "Missing argument"),
        (("compile", "x.mspec", "-D", "M", "--json"), "Invalid value"),
        (("compile", "--frob", "--json"), "No such option"),
        (("compile", "--json", "--frob"), "No such option"),
        (("compile", "x.mspec", "--verify=no", "--json"), "Option '--verify'"),
        (("--frob", "compile", "--json"), "No such option"),
        (("--json", "compile"), "No such option"),
        (("frobnicate", "--json"), "No such command"),
    ],
)
def test_usage_errors_are_in_the_json_document_too(
    arguments: tuple[str, ...], message: str, run: Run
) -> None:
    """Wherever ``--json`` stands, and whatever is wrong before it."""
    result = run(*arguments)
    assert result.exit_code == 2
    (error,) = json.loads(result.stdout)["errors"]
    assert error["message"].startswith(message)
    assert error["message"] in result.stderr


def test_what_is_no_option_asks_for_no_json(run: Run) -> None:
    """After ``--`` everything is an argument."""
    result = run("compile", "--frob", "--", "--json")
    assert (result.exit_code, result.stdout) == (2, "")


def test_errors_of_the_system_are_not_internal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are the user's to mend, and name the file if there is one."""
    _raise_from_loading(monkeypatch, OSError(28, "No space left on device", "/tmp/x"))
    result = run("rules")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "error: no space left on device: '/tmp/x'\n"


def test_an_unexpected_error_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says how to see more; a traceback is for those who ask for it."""
    _raise_from_loading(monkeypatch, ZeroDivisionError("division\nby zero"))
    result = run("rules")
    assert result.exit_code == 1
    assert result.stderr.startswith("internal error: ZeroDivisionError: division by zero (")
    assert "--traceback" in result.stderr
    assert result.stderr.count("\n") == 1
    asked = run("--traceback", "rules")
    assert isinstance(asked.exception, ZeroDivisionError)


def test_a_traceback_of_a_user_error_is_shown_on_request(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the message, for whoever works on this program."""
    _raise_from_loading(monkeypatch, MorelloError("it broke"))
    result = run("--traceback", "rules")
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert result.stderr.endswith("error: it broke\n")


def test_an_interrupt_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status 130, as shells have it."""
    _raise_from_loading(monkeypatch, KeyboardInterrupt())
    result = run("rules")
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "interrupted\n")


def test_a_broken_plugin_is_a_warning(
    run: Run, monkeypatch: pytest.MonkeyPatch, definitions: Definitions
) -> None:
    """The command does its work with what the others give."""
    broken = BrokenPlugin("their-rules", "2.1", "theirs", "ImportError: no such thing")
    with_one = replace(definitions, broken=(broken,))
    monkeypatch.setattr(morello.cli.request, "load_definitions", lambda files, **_: with_one)
    result = run("rules")
    assert result.exit_code == 0
    assert result.stderr == (
        "warning: plugin 'theirs' of their-rules 2.1 is left out: ImportError: no such thing\n"
    )


def test_colours_are_for_terminals(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that is captured has no escape sequences; what is forced has them."""
    _raise_from_loading(monkeypatch, MorelloError("it broke"))
    assert "\x1b" not in run("rules").stderr
    forced = CliRunner(env={"FORCE_COLOR": "1", "TERM": "xterm"}).invoke(main, ["rules"])
    assert "\x1b[" in forced.stderr
