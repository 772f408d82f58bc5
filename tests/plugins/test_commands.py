"""Sub-commands that plugins bring."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from morello.cli.main import main
from morello.startup.commands import SUMMARIES
from tests.plugins.conftest import Install

GREETING = '''
import click
import morello
from morello.plugins import hookimpl

@click.command()
@click.argument("name")
def greet(name):
    """Say hello to somebody."""
    if name == "nobody":
        raise morello.MorelloError("there is nobody", help="name somebody")
    click.echo(f"hello {name}")

@hookimpl
def morello_commands():
    return [greet]
'''


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_a_command_runs_and_is_listed(install: Install) -> None:
    """With its own help, beside Morello's commands, in order."""
    install("greeter", GREETING)
    assert _run("greet", "you").output == "hello you\n"
    assert "Say hello to somebody." in _run("greet", "--help").output
    listed = [
        line.split()[0]
        for line in _run("--help").output.split("Commands:")[1].splitlines()
        if line.startswith("  ")
    ]
    assert listed[: len(SUMMARIES) + 1] == sorted([*SUMMARIES, "greet"])


def test_its_errors_are_shown_as_all_are(install: Install) -> None:
    """Message, advice and status."""
    install("greeter", GREETING)
    result = _run("greet", "nobody")
    assert result.exit_code == 1
    assert result.stderr == "error: there is nobody\n = help: name somebody\n"
    result = _run("greet", "--json")
    assert result.exit_code == 2
    assert "No such option" in json.loads(result.stdout)["errors"][0]["message"]


def test_a_broken_plugin_is_reported_where_its_command_is_missed(install: Install) -> None:
    """And in the list; a command of Morello's own asks no plugin."""
    install("greeter", GREETING.replace("import click", "import clack"), version="3.1")
    for arguments, status in ((["greet"], 2), (["--help"], 0)):
        result = _run(*arguments)
        assert result.exit_code == status
        assert "plugin 'greeter' of greeter 3.1 is left out" in result.stderr
    assert "No such command 'greet'" in _run("greet").stderr


@pytest.mark.parametrize("command", ["compile", "rules"])
def test_commands_of_morello_stay(command: str, install: Install) -> None:
    """A plugin that would replace one is left out."""
    install("greeter", GREETING.replace("click.command()", f'click.command("{command}")'))
    assert "Say hello" not in _run(command, "--help").stdout
    assert f"the command '{command}' is Morello's own" in _run("--help").stderr
