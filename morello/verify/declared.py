"""The rules and kernels that some files declare, all of them executed.

A kernel for every width is declared by whoever wrote it, and for its vectors once more by whoever
says how these are written: they are executed with either file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from morello.definitions import Definitions
from morello.errors import MorelloError
from morello.ir.rule import Rule
from morello.ir.target import Microkernel, Target
from morello.language.parse import parse_target
from morello.language.source import Source, Span
from morello.runtime.machines import machine_for
from morello.toolchain.machine import Machine
from morello.toolchain.sanitizers import require_checks
from morello.verify.kernel_executions import KernelReport, verify_kernels
from morello.verify.rules import verify_rule
from morello.verify.tried import Tried


class Verdict(Struct, frozen=True):
    """What became of one rule or kernel.

    Attributes:
        kind: The word ``rule`` or ``kernel``.
        name: Its name.
        span: Where that is written.
        tried: All shapes that it was executed on; unknown of a rule that is wrong.
        error: What is wrong with it, if anything is.
        untried: Why nothing was executed, or empty.
    """

    kind: str
    name: str
    span: Span
    tried: tuple[Tried, ...] = ()
    error: MorelloError | None = None
    untried: str = ""

    @property
    def what(self) -> str:
        """Its name with what it is."""
        return f"{self.kind} '{self.name}'"

    @property
    def instances(self) -> int:
        """How often it was executed."""
        return sum(shape.instances for shape in self.tried)


NO_INSTANCE = "nothing that was tried passes its pattern, its guards and the limits of memory"


def verify_declared(
    definitions: Definitions, sources: Collection[Source], asked: Machine | None = None
) -> Iterator[Verdict]:
    """Execute every rule and every kernel that one of the texts declares, or has vectors for.

    Args:
        definitions: All definitions in force, those of the texts among them.
        sources: Texts of ``.mrules`` and ``.mtarget`` files.
        asked: Where kernels are run; see `machine_for`.
    """
    for rule in definitions.rules:
        if rule.declaration.span.source in sources:
            yield _of_rule(definitions, rule)
    trees = [parse_target(source) for source in sources if source.name.endswith(".mtarget")]
    written = {vectors.target for tree in trees for vectors in tree.primitives}
    for target in definitions.targets.values():
        kernels = [
            kernel
            for kernel in target.kernels
            if kernel.target == target.name
            and (
                kernel.declaration.span.source in sources
                or (kernel.declaration.lanes is not None and target.name in written)
            )
        ]
        if kernels:
            yield from _of_target(definitions, target, kernels, asked)


def _of_rule(definitions: Definitions, rule: Rule) -> Verdict:
    span = rule.declaration.name_span
    try:
        report = verify_rule(definitions, rule)
    except MorelloError as error:
        return Verdict("rule", rule.name, span, error=error)
    untried = "" if report.instances else NO_INSTANCE
    return Verdict("rule", rule.name, span, report.tried, untried=untried)


def _of_target(
    definitions: Definitions, target: Target, kernels: Sequence[Microkernel], asked: Machine | None
) -> Iterator[Verdict]:
    """Kernels are executed on the target that they are declared for, not on those that inherit."""
    machine = machine_for(target, asked)
    if why := _unable(machine, target):
        yield from (_of_kernel(kernel, None, why) for kernel in kernels)
        return
    reports = verify_kernels(definitions, target, kernels, machine=machine)
    yield from map(_of_kernel, kernels, reports)


def _unable(machine: Machine, target: Target) -> str:
    """Why a machine cannot build and run what is for a target, or empty."""
    try:
        require_checks(machine)
    except MorelloError as error:
        return str(error).partition("\n")[0]
    lacking = machine.lacks(target.flags, target.features)
    return f"{machine} lacks {', '.join(lacking)}" if lacking else ""


def _of_kernel(kernel: Microkernel, report: KernelReport | None, untried: str = "") -> Verdict:
    span = kernel.declaration.name_span
    if report is None:
        return Verdict("kernel", kernel.name, span, untried=untried)
    tried = report.instances or report.failure
    untried = "" if tried else NO_INSTANCE
    if report.unbuilt:
        untried = f"the C compiler refuses {report.unbuilt}"
    return Verdict("kernel", kernel.name, span, report.tried, report.failure, untried)
