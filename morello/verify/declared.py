"""The rules and kernels that some files declare, all of them executed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from morello.definitions import Definitions
from morello.errors import MorelloError
from morello.language.source import Source
from morello.rewriting.rule import Rule
from morello.spec.machine import Target
from morello.toolchain.compilers import Compiler, find_compiler
from morello.toolchain.host import host_lacks
from morello.verify.kernels import KernelReport, verify_kernels
from morello.verify.rules import verify_rule


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one rule or kernel.

    ``what`` names it. ``error``: it is wrong; otherwise ``untried`` says why nothing was executed,
    or is empty.
    """

    what: str
    instances: int
    error: MorelloError | None = None
    untried: str = ""


NO_INSTANCE = "nothing that was tried passes its pattern, its guards and the limits of memory"


def verify_declared(
    definitions: Definitions, sources: Collection[Source], compiler: Compiler | None = None
) -> Iterator[Verdict]:
    """Execute every rule and every kernel that one of the texts declares.

    Args:
        definitions: All definitions in force, those of the texts among them.
        sources: Texts of ``.mrules`` and ``.mtarget`` files.
        compiler: For the kernels; none finds one, when it is needed.

    Raises:
        MorelloError: There is no C compiler with sanitizers.
    """
    for rule in definitions.rules:
        if rule.declaration.span.source in sources:
            yield _of_rule(definitions, rule)
    for target in definitions.targets.values():
        yield from _of_target(definitions, target, sources, compiler)


def _of_rule(definitions: Definitions, rule: Rule) -> Verdict:
    what = f"rule '{rule.name}'"
    try:
        report = verify_rule(definitions, rule)
    except MorelloError as error:
        return Verdict(what, 0, error)
    return Verdict(what, report.instances, None, "" if report.instances else NO_INSTANCE)


def _of_target(
    definitions: Definitions, target: Target, sources: Collection[Source], compiler: Compiler | None
) -> Iterator[Verdict]:
    """Kernels are executed on the target that they are declared for, not on those that inherit."""
    kernels = [
        kernel
        for kernel in target.kernels
        if kernel.target == target.name and kernel.declaration.span.source in sources
    ]
    if not kernels:
        return
    chosen = compiler or find_compiler()
    lacking = host_lacks(target.flags, chosen)
    if lacking:
        why = f"this machine lacks {', '.join(flag[2:] for flag in lacking)}"
        yield from (Verdict(f"kernel '{kernel.name}'", 0, None, why) for kernel in kernels)
        return
    yield from map(_of_kernel, verify_kernels(definitions, target, kernels, compiler=chosen))


def _of_kernel(report: KernelReport) -> Verdict:
    tried = report.instances or report.failure
    what = f"kernel '{report.kernel}'"
    return Verdict(what, report.instances, report.failure, "" if tried else NO_INSTANCE)
