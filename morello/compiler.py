"""The Python interface: from a spec to a kernel that can be called, read, verified and timed.

kernel = morello.compile("matmul.mspec", defines={"N": 512})
c = kernel(a, b)

What runs a kernel (compiler drivers, the reference) is imported when one is run: to compile takes
less time than that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from morello.checking.specs import check_spec
from morello.definitions import Definitions, check_target_of, load_definitions
from morello.errors import MorelloError, UsageError
from morello.goals import context_for, goal_specs, title
from morello.language.diagnostics import Collector, suggestion
from morello.language.load import load_source
from morello.language.parse import parse_spec
from morello.language.source import Source
from morello.memo.memo import Memo, process_memo
from morello.plan import Plan
from morello.program.source import CSource, EmitOptions
from morello.program.tree import Program
from morello.search.answers import Answers
from morello.search.budget import Budget
from morello.search.coarsening import Coarsening, together
from morello.search.known import Counted, Known
from morello.search.search import UNLIMITED, Progress, search
from morello.search.solution import Solution
from morello.spec.goal import Goal
from morello.spec.machine import Target
from morello.spec.spec import Spec
from morello.toolchain.signature import Signature, argument_of, signature_of
from morello.writer import Writer

if TYPE_CHECKING:
    from morello.measure import Measurement
    from morello.toolchain.library import CompiledFunction, Out, Passed
    from morello.toolchain.timing import Timing
    from morello.verify.program import VerificationReport

Array = np.ndarray[Any, np.dtype[Any]]

NATIVE = "native"
"""In the place of a target's name: the best one that this machine can run."""

__all__ = ["Budget", "Kernel", "Progress", "SearchStatistics", "compile_spec"]


@dataclass(frozen=True, slots=True)
class SearchStatistics:
    """What the search did: families, Specs in their tables, seconds until the program was there.

    Where the goal has several computations, families and Specs of all searches are added up. What
    was recalled from a memo is in neither; ``recalled`` is how many families the search found
    there. ``coarsening`` says what was left out to stay within the budget or memory, if anything.
    """

    families: int
    cells: int
    seconds: float
    coarsening: Coarsening | None = None
    recalled: int = 0

    @property
    def from_memo(self) -> bool:
        """Whether nothing had to be solved."""
        return self.families == 0


class Kernel:
    """A compiled spec: C source, predicted cost, and, once called, a loaded function.

    The C compiler runs at the first call that needs it. A kernel may be called from several
    threads at once. ``measurements`` are those of the contest that it has won, if there was one, in
    the order of prediction.
    """

    def __init__(
        self,
        goal: Goal,
        program: Program,
        plan: Plan,
        source: CSource,
        statistics: SearchStatistics,
    ) -> None:
        """Kernels are made by `compile_spec`."""
        self.goal = goal
        self.program = program
        self.plan = plan
        self.statistics = statistics
        self.measurements: tuple[Measurement, ...] = ()
        self._source = source

    @property
    def name(self) -> str:
        """Name of the C function."""
        return self._source.name

    @property
    def source(self) -> str:
        """The C file."""
        return self._source.source

    @property
    def header(self) -> str:
        """The header that declares the functions."""
        return self._source.header

    @property
    def c_source(self) -> CSource:
        """Source and header with the flags that they need."""
        return self._source

    @property
    def cost(self) -> float:
        """Predicted cycles of one call."""
        return self.plan.cycles

    @property
    def flushes_subnormals(self) -> bool:
        """Whether numbers below the smallest normal one may count as 0 on the way to the result."""
        return self.program.flushes

    @cached_property
    def signature(self) -> Signature:
        """Arguments of the C function, with shapes, dtypes and layouts."""
        return signature_of(self.program, self._source)

    @cached_property
    def function(self) -> CompiledFunction:
        """The function, built and loaded.

        Raises:
            MorelloError: There is no C compiler, it fails, or this machine lacks instructions.
        """
        from morello.execution import build_function  # noqa: PLC0415

        return build_function(self._source, self.signature)

    def __call__(self, *inputs: Passed, out: Out | None = None) -> Any:
        """Compute the outputs from numpy arrays.

        Args:
            inputs: Inputs and weights in the order of the spec, of exactly its dtypes, shapes and
                layouts, or what `pack` gave. A weight that is an array is packed in every call.
            out: Where to write: an array, or of several outputs a tuple or list of one for each, in
                the order of the spec; by default new arrays.

        Returns:
            The output, or a tuple of them where the spec has several.

        Raises:
            UsageError: An argument does not fit, with what is wrong and what to do.
        """
        return self.function(*inputs, out=out)

    def pack(self, name: str, values: Array) -> Any:
        """What to pass for an argument, once for as many calls as one likes.

        A weight is packed by the kernel's C code as the kernel wants it. Of any other argument it
        is a copy, aligned and in the spec's layout; only for a layout with panels has that another
        shape: see `morello.toolchain.signature.ArgumentInfo.passed_shape`.

        Raises:
            UsageError: There is no such argument, or the array has another shape or dtype.
            MorelloError: Where C code packs: as `function`.
        """
        argument = argument_of(self.signature, name)
        if argument.passed_as_declared:
            return argument.pack(values)
        return self.function.pack(name, values)

    def unpack(self, name: str, passed: Array) -> Array:
        """What was passed for an argument, with the shape that the spec gives it.

        Raises:
            UsageError: There is no such argument, or the array cannot be passed for it.
        """
        return argument_of(self.signature, name).unpack(passed)

    def verify(self) -> VerificationReport:
        """Run the function on random and on nasty inputs and compare with the reference.

        Raises:
            MismatchError: A result is wrong; the worst element is named.
        """
        from morello.verify.program import verify_function  # noqa: PLC0415

        flushes = self.flushes_subnormals
        return verify_function(self.goal, self.signature, self.function, flushes=flushes)

    def time(self, **options: Any) -> Timing:
        """Seconds a call, on random inputs; options as `morello.toolchain.timing.time_call`."""
        from morello.toolchain.timing import time_call  # noqa: PLC0415

        return time_call(self.function, self.random_arguments(), **options)

    def random_arguments(self) -> list[Array]:
        """Arrays for all arguments of the function: random inputs, and outputs."""
        from morello.execution import random_arguments  # noqa: PLC0415

        return random_arguments(self.signature)

    def __repr__(self) -> str:
        return f"<kernel {title(self.goal)} for {self.program.target.name}>"


def compile_spec(
    spec_file: str | Path | Source,
    *,
    spec: str | None = None,
    defines: Mapping[str, int] | None = None,
    target: str | None = None,
    definitions: Definitions | None = None,
    progress: Callable[[Progress], None] | None = None,
    annotate: bool = False,
    memo: Memo | None = None,
    budget: str | Budget | None = None,
    measure: int | None = None,
) -> Kernel:
    """Compile a spec.

    Args:
        spec_file: Path of a ``.mspec`` file, or its text (a string with a line break or a brace),
            or its text with the name that diagnostics call it.
        spec: Name of the spec, where the file has several.
        defines: Values of the spec's parameters.
        target: Name of the target, or ``native`` for the best that this machine can run; by
            default what the file says.
        definitions: Operators, rules and targets; by default all that is installed.
        progress: Called now and then during the search, and before programs are built and timed.
        annotate: Whether the C code names the file and line of each rule.
        memo: Where to look for what is solved already, such as `Memo.open` gives; by default one
            for the process, in the user's file.
        budget: How much the search may do, such as ``2e6 specs``, ``10 s`` or ``500 MiB``; past
            it, it is coarser. Where the spec has several outputs, and so several searches, they
            share it in equal parts. By default what memory there is.
        measure: How many programs to build, verify and time: the cheapest by prediction that are
            not alike (see `morello.search.likeness`, and `Writer.distinct` for several outputs),
            or all, where there are fewer. The fastest is returned. None trusts the prediction.

    Raises:
        DiagnosticsError: The spec is wrong, with every place.
        UsageError: The budget makes no sense, ``measure`` is below 1, or no target is named.
        NoImplementationError: Nothing implements it, with what refused.
        MorelloError: The file cannot be read, the target is unknown, or the budget is too small.
            Where programs are to be measured: there is no C compiler, this machine cannot run them,
            or one is wrong.
    """
    started = time.perf_counter()
    allowed = Budget.parse(budget) if isinstance(budget, str) else budget or UNLIMITED
    definitions = definitions or load_definitions()
    goal, chosen = _goal(_source(spec_file), spec, defines or {}, target, definitions)
    if measure is not None:
        # Imported here: whoever only wants the C source imports no compiler driver.
        from morello.measure import check_contest, hold_contest  # noqa: PLC0415

        check_contest(measure, goal.name, chosen.flags)
    context = context_for(definitions, chosen)
    wanted = goal_specs(chosen, goal)
    shared = replace(allowed, searches=len(wanted))
    memo = memo if memo is not None else process_memo()
    counts: list[Counted] = []

    def answers(spec: Spec) -> Answers:
        """What the memo knows, or a search finds: all tables if programs are to be measured."""
        counted = Counted()
        counts.append(counted)

        def solve(known: Known) -> Solution:
            known = counted.over(known)
            return search(context, spec, progress=progress, budget=shared, known=known)

        ask = memo.answers if measure is None else memo.solution
        return ask(context, spec, solve, full=allowed == UNLIMITED)

    solved = [(answers(spec), spec) for spec in wanted]
    writer = Writer(goal, chosen, definitions.emitters[chosen.emitter], EmitOptions(annotate))
    found = [writer.best(solved)] if measure is None else writer.distinct(solved, measure)
    statistics = SearchStatistics(
        sum(counted.families for counted in counts),
        sum(counted.cells for counted in counts),
        time.perf_counter() - started,
        together(known.coarsening for known, _ in solved),
        sum(counted.recalled_families for counted in counts),
    )
    kernels = [Kernel(goal, *written, statistics) for written in found]
    if measure is None:
        return kernels[0]
    kernel, measurements = hold_contest(kernels, progress or _silent)
    kernel.measurements = measurements
    return kernel


def _silent(_: Progress) -> None:
    """Nobody asked."""


def _goal(
    source: Source,
    spec: str | None,
    defines: Mapping[str, int],
    target: str | None,
    definitions: Definitions,
) -> tuple[Goal, Target]:
    """What a file asks for, and for which target."""
    collector = Collector()
    file = parse_spec(source)
    if target is None:
        check_target_of(file, definitions, collector)
    goal = check_spec(file, spec, defines, definitions.operators, collector)
    collector.raise_if_any()
    return goal, _target(definitions, goal.target if target is None else target, goal)


def _source(spec_file: str | Path | Source) -> Source:
    if isinstance(spec_file, Source):
        return spec_file
    if isinstance(spec_file, str) and any(c in spec_file for c in "\n{"):
        return Source("<text>", spec_file)
    return load_source(Path(spec_file))


def _target(definitions: Definitions, name: str | None, goal: Goal) -> Target:
    known: Sequence[str] = sorted(definitions.targets)
    if name is None:
        raise UsageError(
            f"'{goal.name}' names no target",
            help=f"write 'target NAME' first in the file, or choose one: {', '.join(known)}",
        )
    if name == NATIVE:
        return native_target(definitions)
    if name not in definitions.targets:
        raise UsageError(f"there is no target '{name}'", help=suggestion(name, [*known, NATIVE]))
    return definitions.targets[name]


def native_target(definitions: Definitions) -> Target:
    """The target that goes furthest beyond what it inherits, of those that this machine can run.

    Raises:
        MorelloError: It can run none.
    """
    from morello.toolchain.host import host_lacks  # noqa: PLC0415

    runnable = [t for t in definitions.targets.values() if not host_lacks(t.flags)]
    if not runnable:
        raise MorelloError(
            "this machine can run none of the targets",
            help=f"there are: {', '.join(sorted(definitions.targets))}",
        )
    return min(runnable, key=lambda t: (-len(t.lineage), t.name))
