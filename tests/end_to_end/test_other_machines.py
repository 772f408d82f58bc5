"""Code for other machines: built by a cross compiler, run under an emulator."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result
from msgspec.structs import force_setattr

import morello
from morello.definitions import load_definitions
from morello.language.source import Source
from morello.runtime.machines import machine_for
from morello.runtime.program import built_program
from morello.toolchain.machine import Machine
from morello.verify.declared import verify_declared
from tests.end_to_end.kernels import SPECS, memo, small_inputs, small_machines
from tests.machines import AARCH64, needed, old_processor

Run = Callable[..., Result]

SIZES: dict[str, dict[str, int]] = {
    "weight": {"M": 5, "K": 6, "N": 11},
    "threads": {"M": 9, "K": 2, "N": 5},
    "columns_c": {"M": 5, "K": 7, "N": 9},
    "narrow": {"N": 37},
}


def compiled(spec: str, machine: Machine, target: str = "c.scalar", **more: Any) -> Any:
    """One of `SPECS`, small, for a machine. Nothing in ``c.scalar`` is of a processor."""
    return morello.compile(
        SPECS[spec],
        defines=SIZES[spec],
        target=target,
        definitions=small_machines(),
        memo=memo(),
        machine=machine,
        **more,
    )


@pytest.mark.parametrize("spec", SIZES)
def test_programs_of_another_family_are_verified(spec: str) -> None:
    kernel = compiled(spec, needed(AARCH64))
    report = kernel.verify()
    assert report == kernel.verification
    assert report.elements == report.total


def test_wrong_programs_of_another_family_are_found() -> None:
    """As on this machine: the element is named."""
    kernel = compiled("narrow", needed(AARCH64))
    source = kernel.c_source.source
    wrong = re.sub(r"\by\[(\w+)\] = ", r"y[\1 % 36] = ", source)
    assert wrong != source
    force_setattr(kernel.c_source, "source", wrong)
    with pytest.raises(morello.MorelloError, match=r"y\[36\]"):
        kernel.verify()


def test_such_programs_are_not_called_from_here() -> None:
    kernel = compiled("narrow", needed(AARCH64))
    with pytest.raises(morello.UsageError, match=r"runs under '.*qemu-aarch64.*', and cannot be"):
        kernel(*small_inputs(kernel))


def test_without_a_runner_they_cannot_be_run() -> None:
    machine = needed(AARCH64)
    kernel = compiled("narrow", Machine(machine.cc))
    with pytest.raises(morello.MorelloError, match="cannot load") as error:
        kernel.verify()
    assert "name a runner" in error.value.help


def test_sanitizers_find_errors_under_an_emulator() -> None:
    """A write beyond an argument, and a result that only one entry has."""
    kernel = compiled("narrow", needed(AARCH64))
    (x,) = small_inputs(kernel)
    with built_program(
        kernel.c_source, kernel.signature, machine=AARCH64, sanitize=True, both_entries=True
    ) as program:
        (y,) = program.results(x)
        assert y.astype("float32").tolist() == x.tolist()
    beyond = kernel.c_source.source.replace("(void)workspace;", "y[37] = y[0]; (void)workspace;")
    assert beyond != kernel.c_source.source
    force_setattr(kernel.c_source, "source", beyond)
    with (
        built_program(kernel.c_source, kernel.signature, machine=AARCH64, sanitize=True) as program,
        pytest.raises(morello.MorelloError, match="heap-buffer-overflow"),
    ):
        program.results(x)


def test_an_emulator_is_not_timed_unless_asked() -> None:
    kernel = compiled("narrow", needed(AARCH64))
    with pytest.raises(morello.MorelloError, match="is not timed under"):
        kernel.time()
    with pytest.raises(morello.MorelloError, match="is not timed under"):
        compiled("narrow", AARCH64, measure=2)
    machine = Machine(AARCH64.cc, AARCH64.runner, time_under_runner=True)
    timing = compiled("narrow", machine).time(repeats=3, warmup=0, min_seconds=1e-6)
    assert len(timing.runs) == 3
    assert all(seconds > 0 for seconds in timing.runs)


def test_a_contest_under_an_emulator_counts_no_cycles() -> None:
    """The clock of this machine is not the emulated one's."""
    needed(AARCH64)
    machine = Machine(AARCH64.cc, AARCH64.runner, time_under_runner=True)
    rows = compiled("narrow", machine, measure=2).measurements
    assert [row.rank for row in rows] == [1, 2]
    assert all(row.seconds > 0 and row.measured_cycles is None for row in rows)


@pytest.mark.parametrize(
    ("model", "target", "lacking"),
    [
        ("Haswell", "x86.avx2", ""),
        ("Nehalem", "x86.scalar", ""),
        ("Nehalem", "x86.avx2", "avx2, fma"),
        ("Haswell", "x86.avx512", "avx512f"),
    ],
)
def test_old_processors_of_the_same_family(model: str, target: str, lacking: str) -> None:
    """What they lack is told, instead of a program that is stopped."""
    kernel = compiled("columns_c", needed(old_processor(model)), target)
    if not lacking:
        assert kernel.verify().elements > 0
        return
    message = rf"'product' cannot run under '.*-cpu {model}': that lacks .*{lacking}"
    with pytest.raises(morello.MorelloError, match=message):
        kernel.verify()


BOARD = """
target board.small extends c.scalar
  "Another machine."
{{
  {features}
  compiler "{compiler}"
  runner "{runner}"
}}

kernel one on board.small
  "One element."
  match  copy(X: s32[1] at l1, Y: s32[1] at l1)
  cost   scalar_load
  emit   ```
    {{{{ Y[0] }}}} = {{{{ X[0] }}}};
  ```
"""


def board(features: str, compiler: str, runner: str) -> Source:
    text = BOARD.format(features=features, compiler=compiler, runner=runner)
    return Source("board.mtarget", text)


def verdicts(source: Source) -> list[str]:
    """Why kernels were not executed; empty for those that were, and are right."""
    found = list(verify_declared(load_definitions([source]), [source]))
    assert all(verdict.error is None for verdict in found)
    return [verdict.untried for verdict in found]


def test_a_target_says_who_builds_and_runs_it() -> None:
    """Its kernels are executed there, since this machine lacks a feature of it."""
    needed(AARCH64)
    source = board('features "no_such_thing"', str(AARCH64.cc), str(AARCH64.runner))
    assert verdicts(source) == [""]


def test_what_this_machine_can_run_it_does() -> None:
    """The target's compiler and runner are for other machines."""
    definitions = load_definitions([board("", "no-such-cc", "no-such-runner")])
    assert machine_for(definitions.targets["board.small"]) == Machine()
    asked = Machine(runner="qemu-mine")
    assert machine_for(definitions.targets["board.small"], asked) == asked


@pytest.mark.parametrize(
    ("compiler", "runner", "reason"),
    [
        ("no-such-cc", "env", "the C compiler is 'no-such-cc', but there is no program"),
        ("gcc", "no-such-runner", "the runner is 'no-such-runner', but there is no program"),
    ],
)
def test_kernels_without_a_compiler_or_runner_are_not_executed(
    compiler: str, runner: str, reason: str
) -> None:
    (found,) = verdicts(board('features "no_such_thing"', compiler, runner))
    assert found.startswith(reason)
