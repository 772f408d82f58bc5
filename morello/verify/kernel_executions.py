"""Kernels against the reference: a kernel must do what the operator that it matches means.

A kernel is called once by a program for each of its instances (`kernel_instances`); programs come
from the target's emitter, are built together with the sanitizers, and run on random and on nasty
inputs (`sandbox`). Outputs are compared with the reference, integers exactly, floating-point
numbers within the bound of `morello.reference.compare`; every other byte must be what it was:
inputs, and what lies around an operand that is a part of a larger tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from msgspec import Struct

from morello.definitions import Definitions
from morello.errors import MorelloError
from morello.ir.programs.emitted import EmitOptions
from morello.ir.target import Microkernel, Target
from morello.language.template_lines import line_that_gave
from morello.runtime.machines import machine_for
from morello.toolchain.machine import Machine
from morello.toolchain.sanitizers import require_checks
from morello.verify.kernel_instances import KernelInstance, kernel_instances
from morello.verify.kernel_programs import kernel_program
from morello.verify.kernel_trials import Trial
from morello.verify.sandbox import NotBuiltError, Outcome, run_cases
from morello.verify.tried import Tried, tally


class KernelReport(Struct, frozen=True):
    """What a kernel was tried on.

    ``elements`` counts what was compared with the reference. No instances: nothing was verified.
    ``failure`` says what is wrong, if anything is. ``tried``: all shapes. ``unbuilt``: a place
    in the kernel and the first error of the C compiler, where it refuses the kernel; then nothing
    was executed either.
    """

    kernel: str
    target: str
    families: int
    instances: int
    elements: int
    failure: WrongKernelError | None = None
    tried: tuple[Tried, ...] = ()
    unbuilt: str = ""


class WrongKernelError(MorelloError):
    """A kernel does not do what the operator means, or touches what it must not.

    Attributes:
        kernel: The kernel.
        instance: Where that was seen first.
    """

    def __init__(self, kernel: Microkernel, instance: KernelInstance, what: str) -> None:
        self.kernel, self.instance = kernel, instance
        place = kernel.declaration.name_span
        super().__init__(
            f"kernel '{kernel.name}' ({place}) is wrong: {what}\n  for {instance}",
            help="a kernel must do what the operator means that it matches, at all sizes that its "
            "pattern and guards accept",
        )


def verify_kernels(
    definitions: Definitions,
    target: Target,
    kernels: Sequence[Microkernel],
    *,
    budget: int | None = None,
    machine: Machine | None = None,
) -> list[KernelReport]:
    """Compile kernels of a target, all in one run of the compiler, and compare with the reference.

    Args:
        definitions: Operators and emitters.
        target: Where the kernels are used.
        kernels: Kernels of the target.
        budget: The most instances of each kernel that are tried; none as `kernel_instances`.
        machine: Where they are run; see `require_checks`. None is the target's.

    Returns:
        A report for each kernel, in order.

    Raises:
        MorelloError: The machine lacks instructions, or the compiler has no sanitizers.
    """
    machine = machine or machine_for(target)
    machine.require(target.flags, target.features, f"what is compiled for '{target.name}'")
    require_checks(machine)
    prepared = [_prepare(definitions, target, kernel, budget) for kernel in kernels]
    trials = [found for found in prepared if isinstance(found, list)]
    outcomes = iter(_outcomes(trials, target.flags, machine))
    return [
        _report(target, kernel, found, next(outcomes))
        if isinstance(found, list)
        else KernelReport(kernel.name, target.name, 0, 0, 0, found)
        for kernel, found in zip(kernels, prepared, strict=True)
    ]


def _prepare(
    definitions: Definitions, target: Target, kernel: Microkernel, budget: int | None
) -> list[Trial] | WrongKernelError:
    """The kernel's instances as C, or why one of them cannot be written."""
    emitter = definitions.emitters[target.emitter]
    trials: list[Trial] = []
    ways = [False] if kernel.clauses.copied is None else [False, True]
    instances = kernel_instances(target, kernel, definitions.operators, budget)
    for instance, copy_on_first_use in product(instances, ways):
        name = f"{kernel.name}_{len(trials)}"
        made = kernel_program(target, instance, name, copy_on_first_use=copy_on_first_use)
        try:
            source = emitter.emit(made.program, EmitOptions())
        except MorelloError as error:
            return WrongKernelError(kernel, instance, str(error))
        trials.append(Trial(made, source, seed=len(trials)))
    return trials


def _outcomes(
    trials: Sequence[list[Trial]], flags: Sequence[str], machine: Machine
) -> list[list[Outcome] | NotBuiltError]:
    """Run the trials of several kernels; where C does not compile, find out whose it is."""
    flat = [(number, trial.case) for number, group in enumerate(trials) for trial in group]
    try:
        outcomes = iter(run_cases([c for _, c in flat], [n for n, _ in flat], flags, machine))
    except NotBuiltError as error:
        if len(trials) == 1:
            return [error]
        half = len(trials) // 2
        parts = (trials[:half], trials[half:])
        return [found for part in parts for found in _outcomes(part, flags, machine)]
    return [[next(outcomes) for _ in group] for group in trials]


def _report(
    target: Target,
    kernel: Microkernel,
    trials: Sequence[Trial],
    outcomes: Sequence[Outcome] | NotBuiltError,
) -> KernelReport:
    if isinstance(outcomes, NotBuiltError):
        place = kernel.declaration.name_span
        if kernel.template is not None:
            place = line_that_gave(kernel.declaration, target.macros.values(), outcomes.refused)
        unbuilt = f"{place}: {outcomes.reason}"
        return KernelReport(kernel.name, target.name, 0, 0, 0, unbuilt=unbuilt)
    return _compare(target, kernel, trials, outcomes)


def _compare(
    target: Target, kernel: Microkernel, trials: Sequence[Trial], outcomes: Sequence[Outcome]
) -> KernelReport:
    elements = 0
    failure: WrongKernelError | None = None
    for trial, outcome in zip(trials, outcomes, strict=True):
        try:
            elements += trial.check(outcome)
        except MorelloError as error:
            failure = WrongKernelError(kernel, trial.made.instance, str(error))
            break
    instances = [trial.made.instance for trial in trials]
    return KernelReport(
        kernel.name,
        target.name,
        len({instance.family for instance in instances}),
        len(instances),
        elements,
        failure,
        tally((target.name, instance.family, instance.sizes) for instance in instances),
    )
