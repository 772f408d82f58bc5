"""What machine this is."""

from __future__ import annotations

from pathlib import Path

import pytest

from morello.toolchain import host
from morello.toolchain.host import fixed_clock


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"cpu0": ("2000", "2000"), "cpu1": ("2000", "2000")}, 2e6),
        ({"cpu0": ("1000", "2000"), "cpu1": ("1000", "2000")}, None),
        ({"cpu0": ("2000", "2000"), "cpu1": ("3000", "3000")}, None),
        ({"cpu0": ("2000", "")}, None),
        ({}, None),
    ],
)
def test_a_clock_is_known_where_it_cannot_change(
    limits: dict[str, tuple[str, str]],
    expected: float | None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Every core has one limit, the same; anything else is no guess."""
    monkeypatch.setattr(host, "CPU_FREQUENCIES", tmp_path)
    for core, (least, most) in limits.items():
        directory = tmp_path / core / "cpufreq"
        directory.mkdir(parents=True)
        (directory / "scaling_min_freq").write_text(least)
        (directory / "scaling_max_freq").write_text(most)
    assert expected == fixed_clock()
