"""``morello calibrate`` keeps what it found, and compiles use it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from morello.definitions.profile import read_profile
from tests.cli.conftest import Run

SPECS = """spec sum_of(N = 50) {
  input x: f32[N, 70]; input z: f32[N, 70]; output y: f32[N, 70]; y = add(x, z)
}"""


@pytest.mark.slow
def test_a_profile_is_kept_and_used(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_spec: Path
) -> None:
    """A second target joins the first; a profile can be looked at, and changes predictions."""
    specs, profile = tmp_path / "small.mspec", tmp_path / "profile.json"
    specs.write_text(SPECS)
    options = ["--programs", "3", "-s", str(specs), "-o", str(profile)]
    first = run("calibrate", "-t", "x86.scalar", *options)
    assert (first.exit_code, first.stderr) == (0, "")
    assert "3 programs for x86.scalar" in first.stdout
    assert f"wrote {profile}" in first.stdout
    second = run("calibrate", *options, "--json")
    assert second.exit_code == 0
    document = json.loads(second.stdout)
    assert 3 == len(document["programs"]) == document["profile"]["programs"]
    found = read_profile(profile)
    assert found is not None
    assert "x86.scalar" in found.targets
    before = json.loads(run("explain", small_spec, "--json").stdout)
    monkeypatch.setenv("MORELLO_PROFILE", str(profile))
    assert "calibrated 2" in run("targets", "x86.scalar").stdout
    after = json.loads(run("explain", small_spec, "--json").stdout)
    assert before != after


def test_with_profiles_off_a_file_is_asked_for(run: Run) -> None:
    result = run("calibrate")
    assert result.exit_code == 2
    assert "profiles are switched off" in result.stderr
    assert "-o" in result.stderr


def test_a_damaged_profile_is_kept(run: Run, tmp_path: Path) -> None:
    """It may hold fits of other targets: nothing overwrites it."""
    damaged = tmp_path / "profile.json"
    damaged.write_text("{")
    result = run("calibrate", "-o", damaged)
    assert result.exit_code == 1
    assert "it is no profile" in result.stderr
    assert damaged.read_text() == "{"
