"""What the processor can run."""

from __future__ import annotations

from pathlib import Path

import pytest

from morello.errors import MorelloError
from morello.resources import features
from morello.toolchain import host
from morello.toolchain.compilers import Compiler
from morello.toolchain.host import fixed_clock, host_lacks, require_host


@pytest.fixture
def cpu_info(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A processor's description instead of this machine's."""
    file = tmp_path / "proc" / "cpuinfo"
    file.parent.mkdir()
    file.write_text("processor : 0\nflags\t\t: fpu one_x two.y\n\nprocessor : 1\nflags : fpu\n")
    monkeypatch.setattr(host, "features", lambda: features(tmp_path))
    return file


def answers(fake_answers: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stands in for the compiler's answers; returns the list of what was asked."""
    asked: list[str] = []

    def answer(_: Compiler, feature: str) -> str:
        asked.append(feature)
        return fake_answers[feature]

    monkeypatch.setattr(host, "_answer", answer)
    return asked


def test_what_the_system_lists_is_not_asked_again(
    cpu_info: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answers({}, monkeypatch)
    assert host_lacks(["-monex", "-mone-x", "-mtwo.y", "-O3", "-mno-three"], compiler) == []
    assert asked == []


def test_the_rest_is_asked(
    cpu_info: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"three": "lacks", "four": "has", "abi": "unknown"}
    asked = answers(known, monkeypatch)
    assert host_lacks(["-mthree", "-mfour", "-mabi", "-mtune=native"], compiler) == ["-mthree"]
    assert asked == ["three", "four", "abi"]


def test_a_system_without_a_list_asks_for_everything(
    cpu_info: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpu_info.unlink()
    asked = answers({"one_x": "has"}, monkeypatch)
    assert host_lacks(["-mone_x"], compiler) == []
    assert asked == ["one_x"]


def test_the_compiler_answers_for_real(compiler: Compiler, cpu_info: Path) -> None:
    """A flag that is no feature of a processor is nobody's lack."""
    cpu_info.write_text("")
    assert host_lacks(["-mno-such-feature", "-msuch-a-feature-is-unknown"], compiler) == []


def test_a_lack_is_an_error_with_advice(
    cpu_info: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers({"three": "lacks"}, monkeypatch)
    message = "'f' cannot run on this machine: its processor lacks three"
    with pytest.raises(MorelloError, match=message) as error:
        require_host(["-mthree"], "'f'", compiler)
    assert "target with fewer features" in error.value.help


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
