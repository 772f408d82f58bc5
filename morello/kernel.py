"""A compiled spec: C to be read, called from numpy, verified, timed, and shown in a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from morello.codegen.goals import as_written
from morello.ir.goal import Goal
from morello.ir.programs.emitted import CSource
from morello.ir.programs.tree import Program
from morello.report.plan import Plan
from morello.runtime.compiled import CompiledSpec
from morello.search.planning.coarsening import Coarsening

if TYPE_CHECKING:
    from morello.ranking.rank import Ranking
    from morello.runtime.autotune import Measurement, Place
    from morello.toolchain.machine import Machine
    from morello.verify.program import VerificationReport


class SearchStatistics(Struct, frozen=True):
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


class Kernel(CompiledSpec):
    """A compiled spec: C source, predicted cost, and, once called, a loaded function.

    How it is called, bound, packed for and timed: see `morello.runtime.compiled`.

    Attributes:
        goal: What was asked for: tensors with all sizes known.
        program: The loops, buffers and calls of microkernels that compute it.
        plan: What was chosen at each step, and what it costs.
        statistics: What the search did.
        measurements: Those of the contest that it has won, if there was one, in the order of
            prediction.
        measured_on: Where that was held.
        ranking: What a learned model said of the programs that it was chosen among, if one did.
        verification: What the last `verify` found, if it was called.
    """

    def __init__(
        self,
        goal: Goal,
        program: Program,
        plan: Plan,
        source: CSource,
        statistics: SearchStatistics,
        asked: Machine | None = None,
    ) -> None:
        """Kernels are made by `compile_spec`; ``asked`` is its ``machine``."""
        super().__init__(goal, program, source, asked)
        self.program = program
        self.plan = plan
        self.statistics = statistics
        self.measurements: tuple[Measurement, ...] = ()
        self.measured_on: Place | None = None
        self.ranking: Ranking | None = None
        self.verification: VerificationReport | None = None

    @property
    def cost(self) -> float:
        """Predicted cycles of one call."""
        return self.plan.cycles

    @property
    def flushes_subnormals(self) -> bool:
        """Whether numbers below the smallest normal one may count as 0 on the way to the result."""
        return self.program.flushes

    def verify(self) -> VerificationReport:
        """Run the function on random and on nasty inputs and compare with the reference.

        Of large outputs a sample is compared, so that it takes some ten seconds; the report says
        how many elements. It is kept in ``verification``.

        Raises:
            MismatchError: A result is wrong; the worst element is named.
            MorelloError: An element is not written, or as `function`.
        """
        from morello.verify.program import verify_function  # noqa: PLC0415

        with self.executable() as function:
            self.verification = verify_function(
                self.goal,
                self.signature,
                function,
                body=self.program.body,
                flushes=self.flushes_subnormals,
            )
        return self.verification

    def __repr__(self) -> str:
        """The function with its arguments, and for which target."""
        return f"<kernel {self._declaration} for {self.program.target.name}>"

    def __str__(self) -> str:
        """What it computes and how, in a few lines; ``plan.render()`` has all of the plan."""
        rows = {
            "computes": "; ".join(as_written(self.goal).splitlines()),
            "target": self.program.target.name,
            "predicted": f"{self.cost:,.0f} cycles",
            "workspace": f"{self.signature.workspace_bytes:,} bytes",
            "plan": self.plan.summary(),
        }
        return "\n".join([self._declaration, *(f"  {name:<9}  {rows[name]}" for name in rows)])

    def _repr_html_(self) -> str:
        """The same with all arguments, the costs, the plan and the C file, to be folded out."""
        from morello.runtime.notebook import kernel_card  # noqa: PLC0415

        return kernel_card(
            "; ".join(as_written(self.goal).splitlines()),
            self.program.target.name,
            self.goal.threads,
            self.plan,
            self.signature,
            self.source,
            self.measurements,
        )


class MultiTargetKernel(CompiledSpec):
    """A spec compiled for several targets, as one function that picks one of them.

    It is called, bound, packed for and timed as a kernel is: see `morello.runtime.compiled`.

    Attributes:
        kernels: Those of the targets, the least demanding first.
        verification: What the last `verify` found, by target.
    """

    def __init__(
        self, kernels: Sequence[Kernel], source: CSource, asked: Machine | None = None
    ) -> None:
        """Made by `compile_for`; ``asked`` is its ``machine``."""
        super().__init__(kernels[0].goal, kernels[0].program, source, asked)
        self.kernels: Mapping[str, Kernel] = {k.program.target.name: k for k in kernels}
        self.verification: Mapping[str, VerificationReport] = {}

    @property
    def chosen(self) -> str:
        """The target whose functions are called in this process.

        Raises:
            MorelloError: As `function`.
        """
        target = self.function.target
        assert target is not None, "a function for several targets names the one that it calls"
        return target

    def lacking(self, target: str) -> list[str]:
        """What the machine lacks for one of the targets.

        Raises:
            MorelloError: There is no compiler to ask.
        """
        source = self.kernels[target].c_source
        return self.machine.lacks(source.flags, source.features)

    def verify(self) -> Mapping[str, VerificationReport]:
        """Run what each target has that the machine can run, and compare with the reference.

        See `Kernel.verify`. What is found for each target is kept in ``verification``.

        Raises:
            MismatchError: A result is wrong; the target and the worst element are named.
            MorelloError: An element is not written, or there is no C compiler, it fails, or the
                machine runs none of them.
        """
        from morello.runtime.program import built_program  # noqa: PLC0415
        from morello.verify.program import verify_function  # noqa: PLC0415

        found = {}
        with built_program(self._source, self.signature, machine=self.machine) as program:
            for target, kernel in self.kernels.items():
                if self.lacking(target):
                    continue
                found[target] = verify_function(
                    self.goal,
                    self.signature,
                    program.forced(target),
                    body=kernel.program.body,
                    flushes=kernel.flushes_subnormals,
                )
        self.verification = found
        return found

    def __repr__(self) -> str:
        """The function with its arguments, and for which targets."""
        return f"<kernel {self._declaration} for {', '.join(self.kernels)}>"

    def __str__(self) -> str:
        """What it computes, and what it is predicted to cost on each target."""
        width = max(map(len, self.kernels))
        rows = [f"  {n:<{width}}  {k.cost:,.0f} cycles" for n, k in self.kernels.items()]
        return "\n".join([self._declaration, *rows])
