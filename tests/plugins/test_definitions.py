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
from morello.plugins import load_plugins
from morello.plugins.resources import load_resource
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


def test_one_target_from_two_distributions_is_an_error(
    install: Install, example_plugin: None, tmp_path: Path
) -> None:
    """The diagnostic names both files, hence both distributions."""
    directory = tmp_path / "more"
    directory.mkdir()
    text = (EXAMPLE / "example_plugin" / "example.mtarget").read_text()
    (directory / "other.mtarget").write_text(text + "# the same again\n")
    install("other-giver", LISTING.format(directory=str(directory)))
    with pytest.raises(DiagnosticsError) as caught:
        load_definitions(plugins=load_plugins())
    assert "T001" in _codes(caught.value)
    assert "example_plugin/example.mtarget" in str(caught.value)
    assert "other_giver_module/other.mtarget" in str(caught.value)


def test_a_file_of_another_kind_is_refused() -> None:
    """The suffix says how a file is read."""
    with pytest.raises(MorelloError, match=r"'notes\.txt' is no file of definitions") as caught:
        load_definitions([Source("notes.txt", "")])
    assert ".mrules or .mtarget" in caught.value.help


def test_a_plugin_file_that_is_not_text_names_itself(install: Install, tmp_path: Path) -> None:
    """Even where the file is not the user's, the error says which one it is."""
    directory = tmp_path / "more"
    directory.mkdir()
    (directory / "odd.mrules").write_bytes(b"rule \xff")
    install("odd-giver", LISTING.format(directory=str(directory)))
    with pytest.raises(DiagnosticsError, match=r"odd_giver_module/odd\.mrules:1:6"):
        load_definitions(plugins=load_plugins())


def test_a_plugin_file_that_cannot_be_read_names_itself(tmp_path: Path) -> None:
    """It was there when it was listed, and is gone, or unreadable, when it is read."""
    with pytest.raises(MorelloError, match=r"cannot read 'theirs/gone\.mrules': no such file"):
        load_resource(tmp_path / "gone.mrules", "theirs/gone.mrules")
