"""Files that options name, and those of a project's table: which texts they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from morello.definitions.project_files import named_sources, project_sources
from morello.errors import MorelloError, UsageError
from morello.language.diagnostics import DiagnosticsError

HALF = "op half(X: T[i...]) -> Y: T[i...] { Y[i...] = X[i...] * 0.5 }\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with three files and one below it, as the current directory."""
    (tmp_path / "more").mkdir()
    for name in ("b.mrules", "more/a.mrules", "more/c.mtarget", "more/notes.txt"):
        (tmp_path / name).write_text(HALF)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _write(directory: Path, text: str) -> None:
    (directory / "pyproject.toml").write_text(text)


def test_options_name_files_and_directories() -> None:
    """Of a directory, the files of the option's kind, and what diagnostics call them."""
    found = named_sources("rules", ["b.mrules", "more"])
    assert [source.name for source in found] == ["b.mrules", "more/a.mrules"]
    assert [source.name for source in named_sources("kernels", ["more/"])] == ["more/c.mtarget"]


@pytest.mark.parametrize(
    ("kind", "path", "error", "message", "advice"),
    [
        ("rules", "more/c.mtarget", UsageError, "no .mrules file", "it belongs to kernels"),
        ("kernels", "b.mrules", UsageError, "no .mtarget file", "it belongs to rules"),
        ("rules", "more/notes.txt", UsageError, "no .mrules file", "names of rules end in .mrules"),
        ("rules", "-", UsageError, "'-' is no .mrules file", ""),
        ("rules", "c.mrules", MorelloError, "there is no file 'c.mrules'", "b.mrules"),
        ("kernels", ".", MorelloError, "there is no .mtarget file in the directory '.'", ""),
    ],
)
def test_what_an_option_cannot_name(
    kind: str, path: str, error: type[MorelloError], message: str, advice: str
) -> None:
    """The other option, where it is that one's."""
    with pytest.raises(error) as caught:
        named_sources(kind, [path])
    assert message in str(caught.value)
    assert advice in caught.value.help


def test_a_table_is_found_above(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its paths are its own directory's; names are as seen from the current one."""
    _write(project, '[tool.morello]\nrules = ["b.mrules", "more"]\nkernels = ["more"]\n')
    assert [s.name for s in project_sources()] == ["b.mrules", "more/a.mrules", "more/c.mtarget"]
    monkeypatch.chdir(project / "more")
    assert [s.name for s in project_sources()] == ["../b.mrules", "a.mrules", "c.mtarget"]


@pytest.mark.parametrize(
    "nearer",
    ["", "[project]\nname = 'morello-user'\n", "[tool.mypy]\nstrict = true\n", "not TOML = = 1"],
)
def test_a_project_without_the_table_is_passed_by(
    nearer: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it is sound is not asked where it does not mention Morello."""
    _write(project, '[tool.morello]\nrules = ["b.mrules"]\n')
    _write(project / "more", nearer)
    monkeypatch.chdir(project / "more")
    assert [source.name for source in project_sources()] == ["../b.mrules"]


def test_the_nearest_table_counts(project: Path) -> None:
    """An empty one too: it switches those above off."""
    _write(project, '[tool.morello]\nrules = ["b.mrules"]\n')
    _write(project / "more", "[tool.morello]\n")
    assert project_sources(project / "more") == []


def test_a_directory_that_is_gone_has_no_table(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for all that is done in it, what fails is to name files there."""
    gone = project / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert project_sources() == []


def test_the_place_of_an_error_is_in_the_users_file(project: Path) -> None:
    """File, line, caret and advice."""
    _write(project, '[tool.morello]\nrulez = ["b.mrules"]\n')
    with pytest.raises(DiagnosticsError) as caught:
        project_sources()
    assert str(caught.value).splitlines() == [
        "error[P011]: [tool.morello] has no 'rulez'",
        " --> pyproject.toml:2:1",
        '2 | rulez = ["b.mrules"]',
        "  | ^^^^^",
        "  = help: did you mean 'rules'?",
    ]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("[" * 10_000, "P010"),
        ("9" * 5_000, "P010"),
        ('["a\\u0000b"]', "P014"),
        (f'["{"a" * 5_000}"]', "P014"),
    ],
    ids=["nested", "huge", "zero", "long"],
)
def test_hostile_values_are_refused(project: Path, value: str, code: str) -> None:
    _write(project, f"[tool.morello]\nrules = {value}\n")
    with pytest.raises(DiagnosticsError) as caught:
        project_sources()
    assert [code] == [d.code for d in caught.value.diagnostics]
