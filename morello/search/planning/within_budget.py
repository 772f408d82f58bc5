"""Before anything is solved: which target a search can afford, and how many Specs that means.

A search has limits: the budget that it was given, and the memory that there is. The full target is
planned first, until it exceeds a limit. Then the finest of the coarser targets that stays within
all limits is found by interpolation: each has fewer Specs than the one before, by about as much as
the goal has fewer sizes and capacity units. To plan a target takes as long as a small search, so
few are planned. Only sizes, the budget and the memory decide, never the clock, so that the same
budget gives the same program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from math import prod

from msgspec import Struct

from morello.errors import MorelloError
from morello.ir.rule import Rule
from morello.ir.spec import Family, Spec
from morello.ir.target import Target
from morello.language import ast
from morello.language.functions import FUNCTIONS
from morello.records import replace
from morello.rewriting.context import Context
from morello.search.planning.budget import Budget
from morello.search.planning.coarsening import Coarsening, changes, coarser
from morello.search.planning.demand import Task, TooManySpecsError, plan_tasks
from morello.search.planning.families import FamilyGraph, TooManyFamiliesError, discover
from morello.search.planning.unimplemented import no_family
from morello.search.tables.box import tiling_closure
from morello.search.tables.memo_backend import MemoBackend

FAR_TOO_MANY = 4
"""How many times as many families as leave nothing for Specs are found before a search gives up:
some of them may be needed for nothing, and how many there are says which budget is enough. To find
one takes a quarter of the time that it is counted with."""


class Planned(Struct, frozen=True):
    """A search that is ready to be done.

    ``context`` has the target that is searched; ``coarsening`` says what it lacks, if anything.
    ``tasks`` are in topological order, the goal first.
    """

    context: Context
    graph: FamilyGraph
    tasks: tuple[Task, ...]
    coarsening: Coarsening | None

    @property
    def families(self) -> Set[Family]:
        """Families that will be solved."""
        return {task.variant.family for task in self.tasks}

    @property
    def specs(self) -> int:
        """Specs that will be solved."""
        return _specs(self.tasks)


def plan_within(
    context: Context,
    goal: Spec,
    budget: Budget,
    memory: int,
    report: Callable[[str], None],
    memo: MemoBackend,
    single_goal: bool,
) -> Planned:
    """Plan a search that stays within its limits.

    Args:
        context: Target, operators, rules.
        goal: What is to be solved.
        budget: What was asked for.
        memory: Bytes that there are.
        report: Called now and then with what is being done.
        memo: Where choices may be known from.
        single_goal: Whether only what the goal needs is solved: see `plan_tasks`.

    Raises:
        NoImplementationError: No choice of alternatives leads to kernels only.
        MorelloError: Even the coarsest target has more Specs than a limit allows.
    """
    planner = _Planner(context, goal, (budget, Budget(bytes=memory)), report, memo, single_goal)
    full = planner.attempt(context.target)
    if not isinstance(full, _Exceeded):
        return Planned(context, planner.graph(context.target), full, None)
    # The goal names these levels, and units in use. In other units it would be another Spec.
    fixed = {o.level.name for o in goal.family.operands}
    fixed |= {v.name for v, u in zip(context.target.bounded, goal.used, strict=True) if u}
    dtypes = {o.dtype for o in goal.family.operands}
    target, tasks = planner.finest((context.target, *coarser(context.target, dtypes, fixed)))
    changed = changes(context.target, target, max(goal.sizes, default=1))
    coarsening = Coarsening(changed, planner.text(full.budget))
    return Planned(replace(context, target=target), planner.graph(target), tasks, coarsening)


class _Exceeded(Struct, frozen=True):
    """A limit that is exceeded: which, and the Specs that it allows for so many families."""

    budget: Budget
    specs: int
    families: int


class _Planner:
    """Plans one goal for several targets that differ in tile sizes and capacity units only."""

    def __init__(
        self,
        context: Context,
        goal: Spec,
        limits: tuple[Budget, Budget],
        report: Callable[[str], None],
        memo: MemoBackend,
        single_goal: bool,
    ) -> None:
        self._context = context
        self._wanted = goal
        self._goal = context.searched_spec(goal)
        self._asked, self._memory = limits
        self._report = report
        self._memo, self._single_goal = memo, single_goal
        self._graphs: dict[object, FamilyGraph] = {}
        self._sized = any(map(_enumerates_sizes, context.rules))

    def attempt(self, target: Target) -> tuple[Task, ...] | _Exceeded:
        """The plan for a target, or the limit that it exceeds."""
        graph = self.graph(target)
        finest = target is self._context.target
        exceeded = self._smallest(len(graph.nodes), finest=finest)
        try:
            return self._plan(target, exceeded.specs)
        except TooManySpecsError:
            return exceeded

    def finest(self, targets: Sequence[Target]) -> tuple[Target, tuple[Task, ...]]:
        """The first target within all limits, and its plan.

        Where seconds are a limit, one that is within it: to plan for more targets takes seconds.

        Args:
            targets: Coarser and coarser ones; the first is known to exceed a limit.

        Raises:
            MorelloError: There is none.
        """
        self._refuse_many_families(targets[0])
        first, last = 1, len(targets) - 1
        found = self.attempt(targets[last])
        if isinstance(found, _Exceeded):
            raise self._too_large(targets[last], found)
        expected = [self._size(target) for target in targets]
        guess = True
        # Whatever is before `first` exceeds a limit, and `last` does not.
        while first < last:
            probe = (first + last) // 2
            if guess:  # as many as the last one has, for its size
                allowed = self._smallest(len(self.graph(targets[last]).nodes)).specs
                most = expected[last] * allowed / max(1, _specs(found))
                fitting = (i for i in range(first, last) if expected[i] <= most)
                probe = next(fitting, last - 1)
            attempted = self.attempt(targets[probe])
            # The range is halved after a guess that exceeds a limit or gains one target only. So
            # few are planned even where guesses are bad.
            if isinstance(attempted, _Exceeded):
                guess = not guess
                first = probe + 1
            else:
                guess = last - probe > 1
                last, found = probe, attempted
                if self._asked.seconds is not None:
                    break
        return targets[last], found

    def _size(self, target: Target) -> float:
        """What the Specs of a target grow with: sizes along each dimension, and capacity units."""
        closures = (tiling_closure(frozenset([n]), target.sizes) for n in self._goal.sizes)
        capacity_units = sum(level.capacity or 0 for level in target.bounded if level.addressable)
        return prod(map(len, closures)) * float(1 + capacity_units)

    def _refuse_many_families(self, target: Target) -> None:
        """A budget that families alone exceed needs no count of Specs: few sizes have as many."""
        families = len(self.graph(target).nodes)
        if self._sized or self._asked.limit(families) != 0:
            return
        message = f"{self.text(self._asked)} allows 0 Specs in {families:,} families"
        least = self._asked.enough(families, 1)
        raise MorelloError(message, help=f"allow more than {least}, or choose another target")

    def text(self, budget: Budget) -> str:
        """What a limit is called."""
        return f"the {'memory that is free,' if budget is self._memory else 'budget of'} {budget}"

    def _smallest(self, families: int, *, finest: bool = False) -> _Exceeded:
        limits = [
            _Exceeded(budget, specs, families)
            for budget in (self._asked, self._memory)
            if (specs := budget.limit(families, finest=finest)) is not None
        ]
        return min(limits, key=lambda limit: limit.specs)

    def _plan(self, target: Target, limit: int) -> tuple[Task, ...]:
        context = self._with(target)
        report = self._report
        graph = self.graph(target)
        return tuple(
            plan_tasks(
                context,
                graph,
                self._goal,
                limit,
                lambda _: report("planning"),
                self._memo,
                self._single_goal,
            )
        )

    def _with(self, target: Target) -> Context:
        """The context with a target; the one that there is knows what earlier searches found."""
        same = target is self._context.target
        return self._context if same else replace(self._context, target=target)

    def graph(self, target: Target) -> FamilyGraph:
        """The families of a target. They have its levels in them, but no tile sizes."""
        # Levels with other units are other levels. So targets share a graph if only their tile
        # sizes differ, unless families depend on these.
        key = (target.levels, target.sizes if self._sized else ())
        if key not in self._graphs:
            self._report("finding families")
            context = self._with(target)
            graph = self._discovered(context)
            if self._goal.family not in graph:
                raise no_family(context, self._wanted)
            self._graphs[key] = graph
        return self._graphs[key]

    def _discovered(self, context: Context) -> FamilyGraph:
        """The families, unless there are far too many even for few sizes."""
        limits = {
            FAR_TOO_MANY * most: budget
            for budget in (self._asked, self._memory)
            if (most := budget.most_families()) is not None and not self._sized
        }
        try:
            return discover(context, self._goal.family, min(limits, default=None))
        except TooManyFamiliesError as error:
            budget = limits[error.limit]
            raise MorelloError(
                f"{self.text(budget)} allows 0 Specs in more than {error.limit:,} families",
                help=f"allow more than {budget.enough(error.limit, 1)}, or choose another target",
            ) from error

    def _too_large(self, coarsest: Target, exceeded: _Exceeded) -> MorelloError:
        budget, allowed = exceeded.budget, exceeded.specs
        message = f"{self.text(budget)} allows {allowed:,} Specs in {exceeded.families:,} families"
        smaller = "make the sizes smaller, or choose a target with fewer sizes"
        try:
            tasks = self._plan(coarsest, self._memory.limit(exceeded.families) or 0)
        except TooManySpecsError as error:
            return MorelloError(
                f"{message}, but even the coarsest search has more than {error.limit:,}",
                help=smaller,
            )
        specs = _specs(tasks)
        return MorelloError(
            f"{message}, but even the coarsest search has {specs:,}",
            help=f"allow {budget.enough(exceeded.families, specs)} or more; or {smaller}",
        )


def _specs(tasks: Sequence[Task]) -> int:
    return sum(task.box.cells for task in tasks)


def _enumerates_sizes(rule: Rule) -> bool:
    """Whether a rule chooses two tile sizes: families are then looked for with each of them."""
    domains = (choice.domain for choice in rule.declaration.choices)
    calls = [d for d in domains if isinstance(d, ast.Call)]
    return sum(FUNCTIONS[c.function].result == "list of size" for c in calls) > 1
