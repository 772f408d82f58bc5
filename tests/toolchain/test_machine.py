"""Machines: their commands, and what the processor can run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from morello.errors import MorelloError, UsageError
from morello.resources import features
from morello.toolchain import machine as module
from morello.toolchain.compilers import Compiler
from morello.toolchain.machine import Machine, asked_machine
from morello.toolchain.sanitizers import require_sanitizers, supports_sanitizers


@pytest.fixture
def cpu_info(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A processor's description instead of this machine's."""
    file = tmp_path / "proc" / "cpuinfo"
    file.parent.mkdir()
    file.write_text("processor : 0\nflags\t\t: fpu one_x two.y\n\nprocessor : 1\nflags : fpu\n")
    monkeypatch.setattr(module, "listed_features", lambda: features(tmp_path))
    return file


@pytest.fixture
def runner(fake: Callable[[str, str], Path]) -> str:
    """A runner that runs programs as they are."""
    return str(fake("runner", 'exec "$@"'))


def answers(fake_answers: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stands in for the compiler's answers; returns the list of what was asked."""
    asked: list[str] = []

    def answer(_: Machine, feature: str) -> str:
        asked.append(feature)
        return fake_answers[feature]

    monkeypatch.setattr(module, "_answer", answer)
    return asked


def test_what_the_system_lists_is_not_asked_again(
    cpu_info: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answers({}, monkeypatch)
    flags = ["-monex", "-mone-x", "-mtwo.y", "-O3", "-mno-three"]
    assert Machine().lacks(flags, ["fpu"]) == []
    assert asked == []


def test_arm_lists_features_under_another_name(
    cpu_info: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpu_info.write_text("processor : 0\nFeatures\t: fp asimd asimddp\nCPU part\t: 0xd0c\n")
    asked = answers({}, monkeypatch)
    assert Machine().lacks([], ["asimd", "asimddp", "sve"]) == ["sve"]
    assert asked == []


def test_features_are_asked_where_the_system_lists_none(
    cpu_info: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpu_info.unlink()
    answers({"asimd": "has", "sve": "unknown"}, monkeypatch)
    assert Machine().lacks([], ["asimd", "sve"]) == ["sve"]


def test_the_rest_is_asked(
    cpu_info: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flags that the compiler accepts are nobody's lack; those that it refuses are."""
    known = {"three": "lacks", "four": "has", "sse": "unknown", "nothing-like-it": "unknown"}
    asked = answers(known, monkeypatch)
    monkeypatch.setattr(
        module, "unsupported_flags", lambda _, flags: [f for f in flags if f != "-msse"]
    )
    flags = ["-mthree", "-mfour", "-msse", "-mtune=native", "-mnothing-like-it"]
    assert Machine(compiler).lacks(flags) == ["three", "nothing-like-it"]
    assert asked == ["three", "four", "sse", "nothing-like-it"]


def test_a_system_without_a_list_asks_for_everything(
    cpu_info: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpu_info.unlink()
    asked = answers({"one_x": "has"}, monkeypatch)
    assert Machine(compiler).lacks(["-mone_x"]) == []
    assert asked == ["one_x"]


def test_under_a_runner_the_list_of_this_machine_counts_for_nothing(
    cpu_info: Path, runner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the compiler does not know is taken for granted: the user has named the runner."""
    asked = answers({"one_x": "lacks", "fpu": "unknown"}, monkeypatch)
    assert Machine(runner=runner).lacks(["-mone_x"], ["fpu"]) == ["one_x"]
    assert asked == ["one_x", "fpu"]


def test_the_compiler_answers_for_real(compiler: Compiler, cpu_info: Path, runner: str) -> None:
    """A feature that nobody knows is a flag that is refused."""
    cpu_info.write_text("")
    for machine in (Machine(compiler), Machine(compiler, runner)):
        assert machine.lacks(["-mno-such-feature", "-mutterly-unknown"]) == ["utterly-unknown"]


def test_an_answer_is_kept_while_the_system_lists_the_same(
    cpu_info: Path,
    runner: str,
    compiler: Compiler,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Of this machine only: who knows what a runner runs on tomorrow. No answer is not kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("MORELLO_CACHE", raising=False)
    answer, asked = "lacks", []

    def ask(_: Machine, feature: str) -> str:
        asked.append(feature)
        return answer

    monkeypatch.setattr(module, "_asked", ask)
    here, there = Machine(compiler), Machine(compiler, runner)
    assert [here.lacks(["-mone"]), here.lacks(["-mone"]), asked] == [["one"], ["one"], ["one"]]
    assert [there.lacks(["-mone"]), there.lacks(["-mone"])] == [["one"], ["one"]]
    assert asked == ["one"] * 3
    cpu_info.write_text("flags : fpu another\n")
    answer = "has"
    assert [here.lacks(["-mone"]), here.lacks(["-mone"]), len(asked)] == [[], [], 4]
    answer = "unknown"
    for _ in range(2):
        here.lacks(["-msse"])
    assert len(asked) == 6


def test_a_lack_is_an_error_with_advice(
    cpu_info: Path, runner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers({"three": "lacks"}, monkeypatch)
    message = "'f' cannot run on this machine: its processor lacks three"
    with pytest.raises(MorelloError, match=message) as error:
        Machine().require(["-mthree"], [], "'f'")
    assert "target with fewer features" in error.value.help
    with pytest.raises(MorelloError, match=r"'f' cannot run under '.*runner -x': that lacks three"):
        Machine(runner=f"{runner} -x").require(["-mthree"], [], "'f'")


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"runner": "no-such-runner -x"}, MorelloError, "there is no program of that name"),
        ({"runner": "'open"}, UsageError, "is not a command"),
        ({"cc": "no-such-cc -O2"}, MorelloError, "the C compiler is 'no-such-cc -O2', but"),
        ({"cc": 3}, UsageError, "cc=3 is of type int"),
        ({"runner": ["qemu"]}, UsageError, "is of type list"),
    ],
)
def test_commands_that_are_none(
    options: dict[str, Any], kind: type[MorelloError], message: str
) -> None:
    with pytest.raises(kind, match=message) as error:
        _ = Machine(**options).command, Machine(**options).compiler
    assert error.value.help


def test_what_is_left_open_is_as_the_environment_says() -> None:
    environment = {"MORELLO_CC": "its-cc", "MORELLO_RUNNER": " "}
    assert asked_machine(Machine(), environment) == Machine("its-cc")
    asked = Machine("my-cc", "my-runner", time_under_runner=True)
    assert asked_machine(asked, environment) == asked
    assert asked_machine(Machine(), {"MORELLO_RUNNER": "qemu -x"}) == Machine(runner="qemu -x")


def test_times_under_a_runner_count_where_that_is_said(runner: str) -> None:
    with pytest.raises(MorelloError, match=r"'f' is not timed under '.*runner'") as error:
        Machine(runner=runner).require_timing("'f'")
    assert "--time-under-runner" in error.value.help
    Machine(runner=runner, time_under_runner=True).require_timing("'f'")
    Machine().require_timing("'f'")


def test_sanitizers_must_run_too(
    compiler: Compiler, fake: Callable[[str, str], Path], runner: str
) -> None:
    """The machine may be unable to run what its compiler builds."""
    assert supports_sanitizers(Machine(compiler, runner))
    broken = Machine(compiler, str(fake("broken", "exit 1")))
    with pytest.raises(MorelloError, match=r"no address .* that run under '.*broken'"):
        require_sanitizers(broken)
