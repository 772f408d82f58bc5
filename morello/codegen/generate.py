"""From what was solved to programs in C: the best one, or several that differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest

from msgspec import Struct

from morello.codegen.first_use import copy_on_first_use
from morello.codegen.goals import arguments_of, as_written, lower_goal, positions_of
from morello.codegen.prepack import split_prepacking
from morello.ir.goal import Goal
from morello.ir.programs.emitted import CSource, EmitOptions, Emitter
from morello.ir.programs.tree import Program
from morello.ir.programs.verifier import verify_program, verify_tree
from morello.ir.spec import Spec
from morello.ir.target import Target
from morello.report.plan import Plan, Tree
from morello.search.results.reconstruct import PlanNode, reconstruct
from morello.search.results.solved_view import SolvedView

MOST_PROGRAMS = 1_000
"""Programs that can be asked for: each takes some tenths of a second to build and to verify."""

MOST_DRAWN = 1_000
"""Plans that can be drawn for a pool: each has a place in many vectors."""

PLANS_PER_PROGRAM = 25
"""Plans that are looked at for every program that is wanted."""

Written = tuple[Program, Plan, CSource]

Solved = Sequence[tuple[SolvedView, Spec]]
"""For each computation of a goal, where it was solved, and its Spec."""


class Writer(Struct, frozen=True):
    """Writes the programs of a goal's plans. ``note``: what else their first lines are to say."""

    goal: Goal
    target: Target
    emitter: Emitter
    options: EmitOptions
    note: str = ""

    def best(self, solved: Solved) -> Written:
        """The program of the best plans."""
        roots = [reconstruct(answers, spec) for answers, spec in solved]
        return next(self.programs(solved, [roots]))

    def programs(self, solved: Solved, plans: Iterable[Sequence[PlanNode]]) -> Iterator[Written]:
        """A program for each choice of a plan for every computation."""
        arguments = arguments_of(self.target, self.goal)
        positions = positions_of(self.target, self.goal)
        given = (*arguments, *positions)
        heading, threads = f"{as_written(self.goal)}{self.note}", self.goal.threads
        for roots in plans:
            lowered = lower_goal(self.target, self.goal, tuple(roots))
            verify_tree(lowered, given)
            filled = copy_on_first_use(lowered)
            if filled != lowered:
                verify_tree(filled, given)
            body, packings = split_prepacking(filled)
            program = Program(
                self.goal.name,
                arguments,
                body,
                threads,
                self.target,
                heading,
                packings,
                positions,
            )
            if packings:
                verify_program(program)
            plan = self.plan(solved, roots)
            yield program, plan, self.emitter.emit(program, self.options)

    def plan(self, solved: Solved, roots: Sequence[PlanNode]) -> Plan:
        """The plan with these choices, one for each computation."""
        rows = zip(self.goal.computations, roots, solved, strict=True)
        return Plan(tuple(Tree(c.output.name, root, answers) for c, root, (answers, _) in rows))

    def distinct(
        self, solved: Solved, choices: Iterable[Sequence[PlanNode]], count: int
    ) -> list[Written]:
        """So many programs whose texts differ: that of the first choice first, then the cheapest.

        ``choices``: those of `choices`, or others; few more than are wanted are looked at.
        """
        plans = islice(choices, count * PLANS_PER_PROGRAM)
        found: dict[str, Written] = {}
        for written in self.programs(solved, plans):
            found.setdefault(written[2].source, written)
            if len(found) == count:
                break
        first, *others = found.values()
        return [first, *sorted(others, key=lambda written: written[1].cycles)]

    def choices(self, solved: Solved, drawn: int | None = None) -> Iterator[list[PlanNode]]:
        """What may be worth measuring, the best plans first: a plan for each computation.

        They are of the cheapest plans, or, where plans are ``drawn``, those that promise most of a
        pool from so many. The n-th one has the n-th such plan of each computation, or its best one
        where it has fewer plans: so all of them are varied, the dearest too.
        """
        best = [reconstruct(answers, spec) for answers, spec in solved]
        ranked = [_ranked(answers, spec, drawn) for answers, spec in solved]
        for row in zip_longest(*ranked):
            yield [p or b for p, b in zip(row, best, strict=True)]


def _ranked(answers: SolvedView, spec: Spec, drawn: int | None) -> Iterator[PlanNode]:
    """Plans that are worth measuring, the best one first."""
    # Imported here: most compiles take the best plan.
    from morello.search.results.kbest import derivations  # noqa: PLC0415
    from morello.search.results.plan_signature import PlanSignature  # noqa: PLC0415
    from morello.search.results.pool import pool  # noqa: PLC0415
    from morello.search.results.solution import Solution  # noqa: PLC0415

    assert isinstance(answers, Solution), "plans other than the best need all tables"
    if drawn is not None:
        return iter(pool(answers, spec, drawn))
    return (derivation.plan for derivation in derivations(answers, spec, PlanSignature()))
