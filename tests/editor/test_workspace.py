"""Errors of open texts: what `morello check` says, of what is in the editor."""

from __future__ import annotations

from pathlib import Path

import pytest

from morello.editor.workspace import Findings, Workspace
from morello.language.load import load_source
from morello.plugins import BrokenPlugin, PluginSet

RULES = 'op twice(X: T[i]) -> Y: T[i]\n  "Twice."\n{\n  Y[i] = X[i] + X[i]\n}\n'
SPEC = "spec s(N = 4) {\n  input a: f32[N]\n  output b: f32[N]\n  b = twice(a)\n}\n"


def _codes(found: Findings) -> dict[str, list[str]]:
    return {file.name: [error.code for error in errors] for file, errors in found.items()}


@pytest.fixture
def alone() -> Workspace:
    """Without what is installed: quick to check."""
    return Workspace(plugins=PluginSet())


def test_files_that_are_open_know_each_other(alone: Workspace, tmp_path: Path) -> None:
    """In one directory, as they stand in the editor, without being saved."""
    spec, rules = tmp_path / "s.mspec", tmp_path / "mine.mrules"
    alone.update(spec, SPEC)
    assert _codes(alone.check(spec)) == {"s.mspec": ["S030"]}
    alone.update(rules, RULES)
    assert _codes(alone.check(rules)) == {"s.mspec": [], "mine.mrules": []}
    alone.update(rules, RULES.replace("X[i] +", "Z[i] +"))
    assert _codes(alone.check(rules))["mine.mrules"]
    alone.close(rules)
    assert _codes(alone.check(spec)) == {"s.mspec": ["S030"]}
    (tmp_path / "other").mkdir()
    alone.update(tmp_path / "other" / "mine.mrules", RULES)
    assert _codes(alone.check(spec)) == {"s.mspec": ["S030"]}


def test_the_table_of_the_project_counts(alone: Workspace, tmp_path: Path) -> None:
    """With the text in the editor where a file is open; what is wrong with the table is shown."""
    (tmp_path / "rules").mkdir()
    rules, spec = tmp_path / "rules" / "mine.mrules", tmp_path / "s.mspec"
    rules.write_text(RULES)
    table = tmp_path / "pyproject.toml"
    table.write_text('[tool.morello]\nrules = ["rules"]\n')
    alone.update(spec, SPEC)
    assert _codes(alone.check(spec)) == {"s.mspec": []}
    alone.update(rules, RULES.replace("twice", "double"))
    assert _codes(alone.check(spec)) == {"s.mspec": ["S030"]}
    table.write_text('[tool.morello]\nrules = ["absent"]\n')
    found = _codes(alone.check(spec))
    assert (found["pyproject.toml"], found["s.mspec"]) == (["P014"], [])


def test_options_name_files(tmp_path: Path) -> None:
    """They are read at every check."""
    rules = tmp_path / "mine.mrules"
    rules.write_text(RULES)
    directory = tmp_path / "specs"
    directory.mkdir()
    alone = Workspace(lambda: [load_source(rules)], PluginSet())
    alone.update(directory / "s.mspec", SPEC)
    assert _codes(alone.check(directory / "s.mspec")) == {"s.mspec": []}


def test_a_file_of_what_is_installed_replaces_it(project: Path) -> None:
    """Nothing is declared twice because its file is open."""
    workspace = Workspace()
    path = project / "rules" / "matmul.mrules"
    workspace.update(path, path.read_text() + "\n# changed\n")
    assert _codes(workspace.check(path)) == {"matmul.mrules": []}


def test_broken_plugins_are_known(tmp_path: Path) -> None:
    """The editor warns of them: what they declare is missing."""
    broken = BrokenPlugin("strange", "1.0", "strange", "ImportError: none")
    workspace = Workspace(plugins=PluginSet((), (broken,)))
    workspace.update(tmp_path / "mine.mrules", RULES)
    workspace.check(tmp_path / "mine.mrules")
    assert workspace.broken == (broken,)


def test_a_parameter_needs_no_value_here(alone: Workspace, tmp_path: Path) -> None:
    """It gets one with ``-D``; all else is checked."""
    path = tmp_path / "s.mspec"
    alone.update(path, SPEC.replace("N = 4", "N").replace("N]\n  b", "M]\n  b"))
    assert _codes(alone.check(path))["s.mspec"] == ["K001", "S030"]


@pytest.mark.parametrize("text", ["", "\0", "\ud800", "spec", "```", '"', "{" * 1000, "(" * 3000])
@pytest.mark.parametrize("name", ["a.mspec", "a.mrules", "a.mtarget"])
def test_whatever_is_written_has_errors_and_no_exception(
    alone: Workspace, tmp_path: Path, name: str, text: str
) -> None:
    """Texts that could not be files, too."""
    path = tmp_path / name
    alone.update(path, text)
    assert len(alone.check(path)[path.resolve()]) == 1


def test_names_of_a_broken_text_stay(alone: Workspace, tmp_path: Path) -> None:
    """What a file declared before it was broken can still be completed and looked up."""
    path = tmp_path / "mine.mrules"
    for text in (RULES, RULES + "op half("):
        alone.update(path, text)
        assert "twice" in {symbol.name for symbol in alone.symbols(path)}
