"""All definitions are read and checked together, whoever gives them."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from morello.definitions import Definitions, load_definitions
from morello.errors import MorelloError
from morello.language.diagnostics import DiagnosticsError
from morello.language.load import load_source
from morello.language.source import Source
from morello.plugins import DefinitionFile, PluginSet, load_plugins
from morello.plugins.loading import is_own
from morello.plugins.resources import load_resource
from morello.records import replace
from tests.plugins.conftest import EXAMPLE, Install

LISTING = """
from importlib.resources import files
from morello.plugins import definitions_in, hookimpl
from pathlib import Path

@hookimpl
def morello_definition_files():
    return definitions_in(Path({directory!r}))
"""


def _codes(error: DiagnosticsError) -> list[str]:
    return [diagnostic.code for diagnostic in error.diagnostics]


def test_what_ships_is_sound(definitions: Definitions) -> None:
    """The installed files pass every check, the progress check included."""
    assert definitions.broken == ()
    assert definitions.operators
    assert definitions.rules
    assert definitions.targets


def test_the_installed_definitions_are_loaded_once() -> None:
    """Parsing takes longer than compiling something small."""
    assert load_definitions() is load_definitions()


def test_a_plugin_adds_operators_rules_and_targets(
    example_plugin: None, definitions: Definitions
) -> None:
    """What a third party declares is in force beside what ships, with no edit anywhere."""
    extended = load_definitions(plugins=load_plugins())
    assert set(extended.operators) - set(definitions.operators) == {"cube"}
    assert {r.name for r in extended.rules} - {r.name for r in definitions.rules} == {"tile_cube"}
    assert set(extended.targets) - set(definitions.targets) == {"example.machine"}
    assert extended.targets["example.machine"].emitter == "trace"


def test_spans_of_a_plugin_name_its_module(definitions: Definitions) -> None:
    """Diagnostics and generated comments show no path of the machine that they were made on."""
    names = {rule.declaration.span.source.name for rule in definitions.rules}
    assert all(name.startswith("morello_rules/") for name in names)


def test_a_file_of_the_user_may_add_rules(tmp_path: Path, definitions: Definitions) -> None:
    """Rules are added without installing anything."""
    path = tmp_path / "mine.mrules"
    path.write_text((EXAMPLE / "example_plugin" / "example.mrules").read_text())
    with pytest.raises(DiagnosticsError) as caught:  # the coefficient comes with the target
        load_definitions([load_source(path)])
    assert "example_step" in str(caught.value)
    path.write_text(path.read_text().replace("example_step", "loop_step"))
    extended = load_definitions([load_source(path)])
    assert len(extended.rules) == len(definitions.rules) + 1


@pytest.mark.parametrize("copied", [False, True])
def test_a_file_of_a_plugin_counts_once(
    copied: bool, tmp_path: Path, definitions: Definitions
) -> None:
    """``morello check rules/*.mrules`` does not find everything declared twice."""
    path = next(
        Path(str(item)) for item in files("morello_rules").iterdir() if item.name == "basic.mrules"
    )
    if copied:
        text = path.read_text()
        path = tmp_path / "basic.mrules"
        path.write_text(text)
    again = load_definitions([load_source(path)])
    assert set(again.operators) == set(definitions.operators)
    assert {r.name for r in again.rules} == {r.name for r in definitions.rules}


def test_errors_of_all_files_come_at_once() -> None:
    """One mistake in each of two files: two diagnostics."""
    sources = [Source("a.mrules", "rule ["), Source("b.mtarget", "target {")]
    with pytest.raises(DiagnosticsError) as caught:
        load_definitions(sources)
    assert {d.span.source.name for d in caught.value.diagnostics} == {"a.mrules", "b.mtarget"}


def test_a_target_needs_an_emitter_that_exists() -> None:
    """The place is the target's, and the emitters that exist are offered."""
    text = (EXAMPLE / "example_plugin" / "example.mtarget").read_text()
    with pytest.raises(DiagnosticsError) as caught:
        load_definitions([Source("example.mtarget", text)])
    (found,) = caught.value.diagnostics
    assert (found.code, found.span.line) == ("P001", 1)
    assert "'example.machine' names the emitter 'trace', which no plugin gives" in found.message
    assert found.help


WRONG = {
    "a text that is none": (
        "odd.mrules",
        b"rule \xff",
        ":1:6: this is not UTF-8: byte 0xFF [E001]",
    ),
    "nothing": ("odd.mrules", b"# later\n", ":1:1: this file declares nothing [E002]"),
    "an operator of Morello": (
        "odd.mrules",
        b"op relu(X: T[i...]) -> Y: T[i...] { Y[i...] = X[i...] }",
        ":1:4: operator 'relu' is declared twice [O001]",
    ),
    "an operator of another plugin": (
        "odd.mrules",
        b"op cube(X: T[i...]) -> Y: T[i...] { Y[i...] = X[i...] }",
        ":1:4: operator 'cube' is declared twice [O001]",
    ),
    "several errors": (
        "odd.mrules",
        b"op cube(X: T[i...]) -> Y: T[i...] { Y[i...] = X[i...] }\n"
        b"op relu(X: T[i...]) -> Y: T[i...] { Y[i...] = Z[i...] }",
        ":1:4: operator 'cube' is declared twice [O001], and 1 more",
    ),
    "a target of another plugin": (
        "odd.mtarget",
        (EXAMPLE / "example_plugin" / "example.mtarget").read_bytes() + b"# once more\n",
        ":1:8: target 'example.machine' is declared twice [T001]",
    ),
    "an emitter that is not there": (
        "odd.mtarget",
        (EXAMPLE / "example_plugin" / "example.mtarget")
        .read_bytes()
        .replace(b"example.machine", b"odd.machine")
        .replace(b"emitter trace", b"emitter trase"),
        "target 'odd.machine' names the emitter 'trase', which no plugin gives [P001]",
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_plugin_with_wrong_definitions_breaks_nothing_else(
    kind: str, install: Install, example_plugin: None, tmp_path: Path, definitions: Definitions
) -> None:
    """It is reported with its distribution, version and the place; what it refers to stays."""
    name, data, cause = WRONG[kind]
    directory = tmp_path / "more"
    directory.mkdir()
    (directory / name).write_bytes(data)
    install("odd-giver", LISTING.format(directory=str(directory)), version="0.7")
    found = load_definitions(plugins=load_plugins())
    (report,) = found.broken
    assert str(report).startswith("the definitions of plugin 'odd-giver' of odd-giver 0.7 are left")
    assert f"odd_giver_module/{name}" in report.cause
    assert report.cause.endswith(cause)
    assert set(found.operators) == {*definitions.operators, "cube"}
    assert set(found.targets) == {*definitions.targets, "example.machine"}


def test_what_builds_on_a_plugin_that_is_left_out_is_left_out_too(
    install: Install, example_plugin: None, tmp_path: Path, definitions: Definitions
) -> None:
    """Each with its own cause; what needs neither stays."""
    texts = {
        "a-base": {"base.mrules": "op half(X: T[i...]) -> Y: T[i...] { Y[i...] = Z[i...] }"},
        "b-user": {
            "user.mrules": """rule halves
              "Halve twice."
              match  f: half
              choose d in output_dims(f), t in tile_sizes(d)
              yield  for d step t { f }"""
        },
    }
    for distribution, files_ in texts.items():
        directory = tmp_path / f"files-{distribution}"
        directory.mkdir()
        for name, text in files_.items():
            (directory / name).write_text(text)
        install(distribution, LISTING.format(directory=str(directory)))
    found = load_definitions(plugins=load_plugins())
    assert [report.distribution for report in found.broken] == ["a-base", "b-user"]
    assert "'half'" in found.broken[1].cause
    assert set(found.operators) == {*definitions.operators, "cube"}


def test_a_mistake_of_the_user_is_no_mistake_of_a_plugin(example_plugin: None) -> None:
    """Who declares a plugin's operator again in a file of their own is told so."""
    text = "op cube(X: T[i...]) -> Y: T[i...] { Y[i...] = X[i...] }"
    with pytest.raises(DiagnosticsError) as caught:
        load_definitions([Source("mine.mrules", text)], load_plugins())
    assert ["O001"] == _codes(caught.value)
    assert "mine.mrules:1:4" in str(caught.value)


@pytest.mark.parametrize("text", ["op broken", None])
def test_an_error_in_what_ships_says_whose_file_it_is(text: str | None, tmp_path: Path) -> None:
    """It does not lie with the user, whose own file may be wrong besides."""
    path = tmp_path / "shipped.mrules"
    if text is not None:
        path.write_text(text)
    first, *others = load_plugins().plugins
    assert is_own(first.owner)
    file = DefinitionFile(first.owner, "morello_some/shipped.mrules", path)
    plugins = PluginSet((replace(first, files=(file,)), *others), ())
    with pytest.raises(MorelloError) as caught:
        load_definitions([Source("mine.mrules", "op mine")], plugins)
    assert "morello_some/shipped.mrules" in str(caught.value)
    named = f"'{path}' comes with Morello: if no file of yours clashes with it, " if text else ""
    assert caught.value.help == f"{named}install Morello anew"


def test_a_file_of_another_kind_is_refused() -> None:
    """The suffix says how a file is read."""
    with pytest.raises(MorelloError, match=r"'notes\.txt' is no file of definitions") as caught:
        load_definitions([Source("notes.txt", "")])
    assert ".mrules or .mtarget" in caught.value.help


def test_a_plugin_whose_file_is_gone_is_left_out(
    install: Install, tmp_path: Path, definitions: Definitions
) -> None:
    """It was there when it was listed."""
    directory = tmp_path / "more"
    directory.mkdir()
    (directory / "odd.mrules").write_text("op odd")
    install("odd-giver", LISTING.format(directory=str(directory)))
    plugins = load_plugins()
    (directory / "odd.mrules").unlink()
    found = load_definitions(plugins=plugins)
    (report,) = found.broken
    assert "cannot read 'odd_giver_module/odd.mrules': no such file" in report.cause
    assert found.operators == definitions.operators


def test_a_plugin_file_that_cannot_be_read_names_itself(tmp_path: Path) -> None:
    """It was there when it was listed, and is gone, or unreadable, when it is read."""
    with pytest.raises(MorelloError, match=r"cannot read 'theirs/gone\.mrules': no such file"):
        load_resource(tmp_path / "gone.mrules", "theirs/gone.mrules")


def test_a_file_is_named_once_however_its_path_is_written(tmp_path: Path) -> None:
    """By an option and by a table, say."""
    path = tmp_path / "mine.mrules"
    path.write_text("op half(X: T[i...]) -> Y: T[i...] { Y[i...] = X[i...] * 0.5 }\n")
    twice = [load_source(path), load_source(tmp_path / "." / ".." / tmp_path.name / path.name)]
    assert "half" in load_definitions(twice).operators


def test_a_file_of_a_wrong_plugin_that_the_user_names_is_an_error(
    install: Install, tmp_path: Path
) -> None:
    """Its author sees all that is wrong with it, by ``morello check FILE``."""
    directory = tmp_path / "more"
    directory.mkdir()
    path = directory / "odd.mrules"
    path.write_text("op odd(X: T[i...]) -> Y: T[i...] { Y[i...] = Z[i...] + W[i...] }\n")
    install("odd-giver", LISTING.format(directory=str(directory)))
    with pytest.raises(DiagnosticsError) as caught:
        load_definitions([load_source(path)], load_plugins())
    assert [str(path)] * 2 == [d.span.source.name for d in caught.value.diagnostics]


def test_the_edited_source_of_a_plugin_replaces_what_is_installed(
    example_plugin: None, tmp_path: Path
) -> None:
    """An author checks a file of the package without installing it anew."""
    directory = tmp_path / "work" / "example_plugin"
    directory.mkdir(parents=True)
    text = (EXAMPLE / "example_plugin" / "example.mrules").read_text()
    (directory / "example.mrules").write_text(text.replace("The third power", "The cube"))
    found = load_definitions([load_source(directory / "example.mrules")], load_plugins())
    assert found.broken == ()
    assert found.operators["cube"].doc == "The cube of every element."
