"""Profiles are kept whole, change what they name and nothing else, and are refused when damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import morello
from morello.definitions import Definitions, load_definitions
from morello.definitions.profile import (
    Profile,
    TargetProfile,
    profile_path,
    read_profile,
    write_profile,
)
from morello.errors import MorelloError
from morello.records import replace

FIT = TargetProfile(
    {"loop_step": 3.5, "mem.fetch": 0.25, "gone": 9.0},
    "2026-01-02",
    "gcc 12",
    "0",
    9,
    0.1,
    0.4,
    0.9,
)
PROFILE = Profile("Some CPU", {"x86.scalar": FIT})


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "profile.json"
    write_profile(path, PROFILE)
    assert read_profile(path) == PROFILE
    assert [path] == list(path.parent.iterdir())  # no temporary file stays


def test_no_file_is_no_profile(tmp_path: Path) -> None:
    assert read_profile(tmp_path / "none.json") is None
    assert read_profile(None) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda document: [],
        lambda document: {**document, "format": 99},
        lambda document: {"format": 1},
        lambda document: {**document, "targets": {"t": {"coefficients": {}}}},
        lambda document: json.loads(json.dumps(document).replace("3.5", "-1")),
        lambda document: json.loads(json.dumps(document).replace("3.5", "Infinity")),
        lambda document: json.loads(json.dumps(document).replace("3.5", "9" * 400)),
        lambda document: json.loads(json.dumps(document).replace("3.5", '"cheap"')),
    ],
    ids=[
        "a list",
        "newer",
        "parts missing",
        "fields missing",
        "negative",
        "infinite",
        "huge",
        "text",
    ],
)
def test_what_is_no_profile_is_refused(change: object, tmp_path: Path) -> None:
    """With its name, and what to do."""
    path = tmp_path / "profile.json"
    write_profile(path, PROFILE)
    assert callable(change)
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(MorelloError, match=r"cannot use the profile .*: it is no profile") as error:
        read_profile(path)
    assert "MORELLO_PROFILE=off" in error.value.help


@pytest.mark.parametrize("data", [b"{", b"\xff\xfe", b"", b"[" * 100_000, b"9" * 5000])
def test_damaged_files_are_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_bytes(data)
    with pytest.raises(MorelloError, match="cannot use the profile"):
        read_profile(path)


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MorelloError, match="cannot write the profile"):
        write_profile(tmp_path / "file" / "profile.json", PROFILE)


def test_only_what_it_names_changes(definitions: Definitions) -> None:
    """Unknown coefficients and other targets are left alone."""
    target = definitions.targets["x86.scalar"]
    fitted = PROFILE.fitted(target)
    before, after = target.every_coefficient, fitted.every_coefficient
    assert before.keys() == after.keys()
    changed = {name: c.value for name, c in after.items() if c != before[name]}
    assert changed == {"loop_step": 3.5, "mem.fetch": 0.25}
    assert after["loop_step"].source == "calibrated 2026-01-02"
    assert replace(fitted, levels=target.levels, coefficients=target.coefficients) == target
    other = definitions.targets["x86.avx2"]
    assert PROFILE.fitted(other) is other


def test_compiles_use_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The prediction is with the profile's numbers; the same file gives the same definitions."""
    spec = "spec s(N = 40) { input x: f32[N]; output y: f32[N]; y = relu(x) }"
    plain = morello.compile(spec, target="x86.scalar")
    path = tmp_path / "profile.json"
    write_profile(path, PROFILE)
    monkeypatch.setenv("MORELLO_PROFILE", str(path))
    assert profile_path() == path
    fitted = morello.compile(spec, target="x86.scalar")
    assert fitted.program.target.every_coefficient["loop_step"].value == 3.5
    assert fitted.cost != plain.cost
    assert load_definitions() is load_definitions()
    assert load_definitions(fitted=False).targets["x86.scalar"] == plain.program.target


def test_its_place_is_the_processors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MORELLO_PROFILE")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    path = profile_path()
    assert path is not None
    assert path.parent == tmp_path / "morello" / "profiles"
    assert path.suffix == ".json"
