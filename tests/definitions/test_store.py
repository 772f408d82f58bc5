"""Checked definitions are kept for the next process, and only what is sound and still true."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from morello.definitions import Definitions, check, load_definitions
from morello.definitions import load as module
from morello.definitions.store import Checked, from_bytes, to_bytes
from morello.language.diagnostics import DiagnosticsError
from morello.language.source import Source
from morello.plugins import PluginSet, load_plugins
from morello.records import replace

MORE = """

op twice(X: T[i...]) -> Y: T[i...] {
  Y[i...] = X[i...] * 2
}
"""


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache, in a process that has loaded nothing yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("MORELLO_CACHE", raising=False)
    module._installed.cache_clear()
    yield tmp_path / "morello" / "startup"
    module._installed.cache_clear()


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files each check of all of them has seen."""
    seen: list[int] = []
    check_files = check.check_files

    def counted(sources: list[Source], emitters: dict[str, object]) -> Checked:
        seen.append(len(sources))
        return check_files(sources, emitters)

    monkeypatch.setattr(check, "check_files", counted)
    return seen


@pytest.fixture
def plugins() -> PluginSet:
    """What is installed; given to `load_definitions`, it loads anew."""
    return load_plugins()


def test_they_are_the_same_as_those_just_checked(checks: list[int], plugins: PluginSet) -> None:
    """Down to the spans that diagnostics will point at."""
    fresh, kept = load_definitions(plugins=plugins), load_definitions(plugins=plugins)
    assert len(checks) == 1
    assert kept is not fresh
    assert kept == fresh
    for old, new in zip(fresh.rules, kept.rules, strict=True):
        assert (new.declaration, str(new.declaration.span)) == (
            old.declaration,
            str(old.declaration.span),
        )
        assert new.declaration.span.source.path == old.declaration.span.source.path
    assert [k.declaration for t in kept.targets.values() for k in t.kernels] == [
        k.declaration for t in fresh.targets.values() for k in t.kernels
    ]


def test_what_is_one_object_stays_one(plugins: PluginSet) -> None:
    """A target's levels and kernels are those of the target that it extends."""
    load_definitions(plugins=plugins)
    targets = load_definitions(plugins=plugins).targets.values()
    sources = {
        id(k.declaration.span.source): k.declaration.span.source for t in targets for k in t.kernels
    }
    assert len(sources) == len({source.name for source in sources.values()})


def test_files_of_the_user_are_kept_by_their_contents(checks: list[int]) -> None:
    """The same text is checked once, another text is checked."""
    for text in (MORE, MORE, MORE.replace("twice", "thrice"), MORE):
        names = load_definitions([Source("mine.mrules", text)]).operators
        assert ("thrice" in names, "twice" in names) == ("thrice" in text, "thrice" not in text)
    assert len(checks) == 2


def test_errors_are_found_every_time(checks: list[int], directory: Path) -> None:
    """Nothing is kept of definitions that are wrong."""
    messages = set()
    for _ in range(2):
        with pytest.raises(DiagnosticsError) as caught:
            load_definitions([Source("mine.mrules", MORE.replace("= X", "= Z"))])
        messages.add(str(caught.value))
    assert len(checks) == 2
    assert len(messages) == 1
    assert list(directory.glob("definitions-*")) == []


def test_an_emitter_that_is_gone_is_an_error_again(plugins: PluginSet) -> None:
    """What was checked with one set of plugins is not taken for another."""
    load_definitions(plugins=plugins)
    with pytest.raises(DiagnosticsError, match="which no plugin gives"):
        load_definitions(plugins=PluginSet(tuple(replace(p, emitters={}) for p in plugins.plugins)))


def test_emitters_and_broken_plugins_are_of_this_process(plugins: PluginSet) -> None:
    """They are not kept."""
    load_definitions(plugins=plugins)
    kept = load_definitions(plugins=plugins).emitters
    assert {id(emitter) for emitter in kept.values()} == set(map(id, plugins.emitters.values()))


def test_a_file_that_is_spoilt_is_checked_again(
    checks: list[int], directory: Path, plugins: PluginSet
) -> None:
    """And the one that takes its place is good."""
    load_definitions(plugins=plugins)
    (path,) = directory.glob("definitions-*")
    path.write_bytes(path.read_bytes()[:-1])
    fresh = load_definitions(plugins=plugins)
    assert load_definitions(plugins=plugins) == fresh
    assert len(checks) == 2


def test_nothing_is_kept_where_it_is_switched_off(
    checks: list[int], directory: Path, plugins: PluginSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every process checks everything then."""
    monkeypatch.setenv("MORELLO_CACHE", "off")
    for _ in range(2):
        load_definitions(plugins=plugins)
    assert len(checks) == 2
    assert not directory.exists()


@pytest.mark.parametrize("foreign", [print, Path.cwd, load_plugins, Definitions])
def test_only_definitions_are_read(foreign: object) -> None:
    """Bytes that ask for any other function or class give nothing."""
    assert from_bytes(pickle.dumps(({}, (), {"name": foreign}))) is None


def test_bytes_give_back_what_they_were_made_of(plugins: PluginSet) -> None:
    """With no path through a file. Those compiled with keep what was found out about them, too."""
    definitions = load_definitions(plugins=plugins)
    checked = Checked(definitions.operators, definitions.rules, definitions.targets)
    data = to_bytes(checked)
    assert data is not None
    assert from_bytes(data) == checked
