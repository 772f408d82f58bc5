"""Plugins are found by entry point, and a broken one breaks nothing else."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from morello.plugins import API_VERSION, GROUP, OLDEST_API, hookspecs, load_plugins
from tests.plugins.conftest import Install

IMPORTS = "from pathlib import Path\nfrom morello.plugins import hookimpl\n"

EMITTER = """
class Emitter:
    def emit(self, program, options):
        raise AssertionError

@hookimpl
def morello_emitters():
    return {"ours": Emitter()}
"""

COMMAND = """
import click

@click.command("{name}")
def ours():
    raise AssertionError

@hookimpl
def morello_commands():
    return [ours]
"""

BROKEN = {
    "an exception on import": (
        "import nothing_of_this_name",
        "ModuleNotFoundError: No module named 'nothing_of_this_name'",
    ),
    "an exit on import": ("raise SystemExit(3)", "SystemExit: 3"),
    "no hook": ("morello_emitters = dict", "implements no hook; is @hookimpl missing?"),
    "a misspelt hook": (
        "@hookimpl\ndef morello_emiters():\n    return {}",
        "unknown hook 'morello_emiters'",
    ),
    "a hook with a parameter of its own": (
        "@hookimpl\ndef morello_emitters(target):\n    return {}",
        "Argument(s) {'target'}",
    ),
    "a version that is not here yet": (
        "MORELLO_API = 99\n" + EMITTER,
        f"it is written for version 99 of the plugin interface; this is {OLDEST_API} to "
        f"{API_VERSION}: it is too new, upgrade morello",
    ),
    "a version that is no more": (
        "MORELLO_API = 0\n" + EMITTER,
        "it is written for version 0 of the plugin interface; this is "
        f"{OLDEST_API} to {API_VERSION}: it is too old, upgrade the plugin",
    ),
    "a version that is no number": (
        "MORELLO_API = '1'\n" + EMITTER,
        "MORELLO_API is '1', which is no whole number",
    ),
    "what a later version has, and the version": (
        "MORELLO_API: int = 99\nfrom morello.plugins import what_will_be",
        "it is too new, upgrade morello (ImportError: cannot import name 'what_will_be'",
    ),
    "what a later version has, and no version": (
        "from morello.plugins import what_will_be",
        "ImportError: cannot import name 'what_will_be'",
    ),
    "an exception in a hook": (
        "@hookimpl\ndef morello_emitters():\n    return 1 / 0",
        "ZeroDivisionError: division by zero",
    ),
    "emitters that are no mapping": (
        "@hookimpl\ndef morello_emitters():\n    return [1]",
        "gives [1], which is not a mapping",
    ),
    "an emitter that cannot emit": (
        "@hookimpl\ndef morello_emitters():\n    return {'ours': 1}",
        "emitter 'ours' is 1, which has no method 'emit'",
    ),
    "an emitter that Morello gives": (
        EMITTER.replace("ours", "c11"),
        "the emitter 'c11' is already given by morello ",
    ),
    "commands that are no list": (
        "@hookimpl\ndef morello_commands():\n    return 'ours'",
        "morello_commands gives 'ours', which is not a list",
    ),
    "a command that is a function": (
        "@hookimpl\ndef morello_commands():\n    return [print]",
        "gives <built-in function print>, which is no click command",
    ),
    "a command of Morello": (
        COMMAND.format(name="compile"),
        "the command 'compile' is Morello's own",
    ),
    "a command without a good name": (
        COMMAND.format(name="Two words"),
        "'Two words' is no name of a command: small letters, digits and dashes",
    ),
    "two commands of one name": (
        COMMAND.format(name="ours").replace("[ours]", "[ours, ours]"),
        "the command 'ours' is given twice",
    ),
    "files that are text": (
        "@hookimpl\ndef morello_definition_files():\n    return ['a.mrules']",
        "gives 'a.mrules', which is not a file",
    ),
    "a file of another kind": (
        "@hookimpl\ndef morello_definition_files():\n    return [Path(__file__)]",
        "does not end in .mrules or .mtarget",
    ),
    "a file that is not there": (
        "@hookimpl\ndef morello_definition_files():\n    return [Path('/nowhere/a.mrules')]",
        "there is no file '/nowhere/a.mrules'",
    ),
}


def test_what_ships_arrives_by_entry_point() -> None:
    """The built-in rules and targets are plugins like any other: same group, same hooks."""
    plugins = load_plugins()
    assert plugins.broken == ()
    owners = {str(file.owner.module) for file in plugins.files}
    assert owners == {"morello_aarch64", "morello_c", "morello_rules", "morello_x86"}
    assert set(plugins.emitters) == {"c11"}
    assert plugins.emitters


def test_a_third_party_plugin_is_loaded_beside_them(example_plugin: None) -> None:
    """Its files are named after its module, and its emitter is known by name."""
    before = load_plugins([])
    plugins = load_plugins()
    assert (before.files, dict(before.emitters)) == ((), {})
    assert plugins.broken == ()
    ours = [file for file in plugins.files if file.owner.distribution == "example-plugin"]
    names = [file.name for file in ours]
    assert names == ["example_plugin/example.mrules", "example_plugin/example.mtarget"]
    assert {file.owner.version for file in ours} == {"1.2"}
    assert "trace" in plugins.emitters


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_plugin_is_reported_and_breaks_nothing(
    kind: str, install: Install, example_plugin: None
) -> None:
    """The report names distribution, version, entry point and cause; the others still load."""
    text, cause = BROKEN[kind]
    sound = load_plugins()
    install("broken-one", IMPORTS + text, version="0.3")
    plugins = load_plugins()
    (report,) = plugins.broken
    assert (report.distribution, report.version) == ("broken-one", "0.3")
    assert report.entry_point == "broken-one"
    assert cause in report.cause
    assert "'broken-one' of broken-one 0.3 is left out" in str(report)
    assert plugins.files == sound.files
    assert list(plugins.emitters) == list(sound.emitters)


@pytest.mark.parametrize("text", [EMITTER, COMMAND.format(name="ours")])
def test_of_two_that_give_one_name_the_first_stays(text: str, install: Install) -> None:
    """Distributions are sorted, so that it is the same one everywhere."""
    install("second-giver", IMPORTS + text, version="2.0")
    install("first-giver", IMPORTS + text)
    plugins = load_plugins()
    assert "ours" in {*plugins.emitters, *plugins.commands}
    (report,) = plugins.broken
    assert (report.distribution, report.version) == ("second-giver", "2.0")
    assert "'ours' is already given by first-giver 1.0" in report.cause


def test_an_entry_point_without_distribution_is_loaded() -> None:
    """Some importers know of no distribution; that is no reason to fail."""
    plugins = load_plugins([EntryPoint("rules", "morello_rules", GROUP)])
    assert plugins.files
    assert {file.owner.distribution for file in plugins.files} == {"unknown distribution"}


def test_results_do_not_depend_on_the_order_of_discovery() -> None:
    """Plugins are sorted, so the order in which a file system lists them has no effect."""
    points = [EntryPoint(name, f"morello_{name}", GROUP) for name in ("x86", "rules")]
    one, other = load_plugins(points), load_plugins(reversed(points))
    assert (one.files, list(one.emitters)) == (other.files, list(other.emitters))


def test_every_hook_is_described() -> None:
    """A hook without a description is a hook that nobody can implement."""
    hooks = [value for name, value in vars(hookspecs).items() if name.startswith("morello_")]
    assert hooks
    for hook in hooks:
        assert len((hook.__doc__ or "").split()) > 10, hook.__name__
