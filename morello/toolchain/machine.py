"""A machine: how C is built for it, and how what was built is run.

Without a runner, programs run on this machine, and libraries can be loaded. A runner is a command
that runs a program elsewhere, or as elsewhere: an emulator, or a script that copies it to a board.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from morello.errors import MorelloError, UsageError
from morello.resources import features as listed_features
from morello.startup.cache import entry
from morello.toolchain.compilers import (
    Compiler,
    find_compiler,
    named_compiler,
    try_program,
    unsupported_flags,
)

CC, RUNNER = "MORELLO_CC", "MORELLO_RUNNER"
"""Variables of the environment that name what options do not."""

FEATURES_KEPT = 64
"""Answers about features that stay among the start-up files."""

NAME_A_RUNNER = "or name a runner that runs it, such as an emulator"


@dataclass(frozen=True)
class Machine:
    """Where compiled code is built and run.

    Attributes:
        cc: The C compiler: one that was found, or its command; by default one is found.
        runner: The command that runs a program, which follows it; by default none is needed.
        time_under_runner: Whether times under the runner count. An emulator's say nothing of a
            processor.
    """

    cc: Compiler | str | None = None
    runner: str | None = None
    time_under_runner: bool = False

    def __post_init__(self) -> None:
        """Demand that the commands are commands.

        Raises:
            UsageError: One is not.
        """
        for name, value, kinds in (("cc", self.cc, (Compiler, str)), ("runner", self.runner, str)):
            if value is not None and not isinstance(value, kinds):
                found = f"{name}={value!r} is of type {type(value).__name__}"
                raise UsageError(found, help="expected a command, such as 'qemu-aarch64'")

    def __str__(self) -> str:
        return f"'{shlex.join(self.command)}'" if self.command else "this machine"

    @cached_property
    def compiler(self) -> Compiler:
        """The C compiler.

        Raises:
            MorelloError: There is none, or the one that is named does not work.
        """
        if isinstance(self.cc, Compiler):
            return self.cc
        return find_compiler() if self.cc is None else named_compiler(self.cc, "the C compiler")

    @cached_property
    def command(self) -> tuple[str, ...]:
        """The runner's program and arguments; none where programs run by themselves.

        Raises:
            UsageError: It is no command.
            MorelloError: There is no such program.
        """
        try:
            command = shlex.split(self.runner or "")
        except ValueError as error:
            raise UsageError(
                f"the runner is {self.runner!r}, which is not a command: {error}",
                help="check its quotes",
            ) from None
        if not command:
            return ()
        found = shutil.which(command[0])
        if found is None:
            raise MorelloError(
                f"the runner is {self.runner!r}, but there is no program of that name",
                help="install it, or name another",
            )
        # Programs run in temporary directories, where a relative path would mean something else.
        return (os.path.abspath(found), *command[1:])

    @property
    def is_here(self) -> bool:
        """Whether programs run by themselves, so that libraries can be loaded."""
        return not self.command

    def running(self, program: Path, *words: str) -> tuple[str, ...]:
        """The command that runs a program with some arguments."""
        return (*self.command, str(program), *words)

    def lacks(self, flags: Sequence[str], features: Sequence[str] = ()) -> list[str]:
        """Features of a processor that code needs, and this machine has not.

        What the operating system lists is there. The compiler is asked about other flags
        (``__builtin_cpu_supports``, in a program that is run). Of what it does not know:

        * a flag that it accepts, such as ``-mtune=native``, is nobody's lack;
        * a flag that it refuses is for another family of processors, and lacking.

        Other features are lacking where the system lists some, and not these. Where it lists none,
        or under a runner, the compiler is asked. What it does not know is taken for granted under a
        runner, and lacking here.

        Args:
            flags: Flags of a compiler; those of the form ``-mFEATURE`` count.
            features: More features, as the operating system or the compiler calls them.
        """
        wanted = [f for f in flags if re.fullmatch(r"-m[\w.-]+", f) and not f.startswith("-mno-")]
        listed = {_plain(name) for name in listed_features()} if self.is_here else set()
        unlisted = [f[2:] for f in wanted if _plain(f[2:]) not in listed]
        others = [f for f in features if _plain(f) not in listed]
        return [
            *(f for f in unlisted if self._lacks_flag(f)),
            *(f for f in others if listed or self._lacks_feature(f)),
        ]

    def require(self, flags: Sequence[str], features: Sequence[str], what: str) -> None:
        """Demand that this machine has what code needs.

        Raises:
            MorelloError: It has not; ``what`` names the code in the message.
        """
        lacking = self.lacks(flags, features)
        if not lacking:
            return
        where, whose = "on this machine", "its processor"
        if not self.is_here:
            where, whose = f"under {self}", "that"
        raise MorelloError(
            f"{what} cannot run {where}: {whose} lacks {', '.join(lacking)}",
            help=f"compile for a target with fewer features, {NAME_A_RUNNER}",
        )

    def require_timing(self, what: str) -> None:
        """Demand that times on this machine count.

        Raises:
            MorelloError: They do not, since a runner was not said to be as fast as a processor.
        """
        if not self.is_here and not self.time_under_runner:
            raise MorelloError(
                f"{what} is not timed under {self}: an emulator's times say nothing of a processor",
                help="--time-under-runner, in Python time_under_runner=True, times it all the same",
            )

    def _lacks_flag(self, feature: str) -> bool:
        answer = _answer(self, feature)
        if answer == "unknown":
            return bool(unsupported_flags(self.compiler, [f"-m{feature}"]))
        return answer == "lacks"

    def _lacks_feature(self, feature: str) -> bool:
        answer = _answer(self, feature)
        return self.is_here if answer == "unknown" else answer == "lacks"


def asked_machine(asked: Machine, environment: Mapping[str, str] | None = None) -> Machine:
    """What was asked for; what was not is as the environment says.

    Args:
        asked: A machine whose compiler or runner may be left open.
        environment: Where `CC` and `RUNNER` are looked up; none is this process's environment.
    """
    variables = os.environ if environment is None else environment
    cc = asked.cc or variables.get(CC, "").strip() or None
    runner = asked.runner or variables.get(RUNNER, "").strip() or None
    return Machine(cc, runner, asked.time_under_runner)


def _plain(feature: str) -> str:
    """A feature's name as compilers and operating systems both spell it."""
    return re.sub(r"[^a-z0-9]", "", feature.lower())


def _answer(machine: Machine, feature: str) -> str:
    """``has``, ``lacks``, or ``unknown`` where the compiler does not know the feature.

    Of this machine an answer is kept, as long as the system lists the same features.
    """
    if not machine.is_here:
        return _asked(machine, feature)
    listed = sorted(listed_features())
    kept = entry("feature", feature, str(machine.compiler), *listed, kept=FEATURES_KEPT)
    known = kept.read()
    if known is not None:
        return known.decode()
    answer = _asked(machine, feature)
    if answer != "unknown":  # or no compiler could be run just now
        kept.write(answer.encode())
    return answer


def _asked(machine: Machine, feature: str) -> str:
    """The same, from a program that is built and run."""
    program = (
        "#include <stdio.h>\n"
        "int main(void) {\n"
        "  __builtin_cpu_init();\n"
        f'  puts(__builtin_cpu_supports("{feature}") ? "has" : "lacks");\n'
        "  return 0;\n"
        "}\n"
    )
    # Some compilers only warn of unknown features.
    done = try_program(machine.compiler, program, ["-Werror"], runner=machine.command)
    words = [] if done is None or done.status != 0 else done.output.split()
    return next((word for word in reversed(words) if word in ("has", "lacks")), "unknown")
