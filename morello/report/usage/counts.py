"""How often rules and kernels *fire* and *win* when a spec is compiled.

One fires in a family if it applies to some Spec of it that the search solves: its pattern fits, and
somewhere its guards and the limits of memory hold. It wins a Spec of the program if it is what was
chosen there. The numbers follow from the definitions and the goal: they are the same whatever a
memo has recalled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from msgspec import Struct

from morello.ir.layout import panel
from morello.ir.spec import Family, Spec, Variant
from morello.language import target_ast
from morello.records import replace
from morello.report.plan import Plan, Tree, occurrences
from morello.resources import memory_budget
from morello.rewriting.alternatives import Alternative, KernelAlternative
from morello.rewriting.context import Context
from morello.search.planning.within_budget import plan_within
from morello.search.results.solution import Solution
from morello.search.search import UNLIMITED
from morello.search.tables.box import IRRELEVANT
from morello.search.tables.memo_backend import NullMemo
from morello.search.tables.options import Option

Key = tuple[str, str]
"""A rule or kernel: the word ``rule`` or ``kernel``, and its name."""


class InPanels(Struct, frozen=True):
    """Operands of a kernel that one of its patterns is for, in one kind of panels."""

    kernel: str
    pattern: target_ast.KernelOperand
    panel: int


class Searched(Struct, frozen=True):
    """One search: what it could use, and the families below its goal with what applies to them.

    Families that lead to no kernel are left out, and so is what leads to them.
    """

    context: Context
    families: Mapping[Family, tuple[Alternative, ...]]


@dataclass(frozen=True)
class Use:
    """What compiling one spec used.

    Attributes:
        searches: One for each computation of the spec.
        families: Number of families some Spec of which was solved.
        specs: Number of Specs that were solved.
        fired: Families as they are searched (`Context.searched`) in which each rule and kernel
            fires; those that fire nowhere are missing.
        won: Specs of the program that each was chosen for; those that never were are missing.
        offered: Panels in which a kernel that fires finds an operand.
        taken: Panels in which a kernel of the program finds an operand.
    """

    searches: tuple[Searched, ...]
    families: int
    specs: int
    fired: Mapping[Key, frozenset[Family]]
    won: Mapping[Key, frozenset[Spec]]
    offered: frozenset[InPanels]
    taken: frozenset[InPanels]


def key_of(alternative: Alternative) -> Key:
    """Which rule or kernel an alternative is of."""
    if isinstance(alternative, KernelAlternative):
        return ("kernel", alternative.match.kernel.name)
    return ("rule", alternative.rule.name)


def use_of(plan: Plan, report: Callable[[str], None]) -> Use:
    """What the searches for a plan could use, and what the plan has of it.

    Args:
        plan: The plan of a compiled spec.
        report: Called now and then with what is being done.
    """
    tables = [_tables(tree, report) for tree in plan.trees]
    fired: dict[Key, set[Family]] = {}
    won: dict[Key, set[Spec]] = {}
    offered: set[InPanels] = set()
    taken: set[InPanels] = set()
    for variant, alternative in (pair for table in tables for pair in table.applying()):
        fired.setdefault(key_of(alternative), set()).add(variant.family)
        offered.update(_in_panels(alternative, variant))
    for node in (node for tree in plan.trees for node, _ in occurrences(tree.root)):
        alternative = node.option.alternative
        won.setdefault(key_of(alternative), set()).add(node.spec)
        taken.update(_in_panels(alternative, node.spec.variant))
    return Use(
        tuple(table.searched for table in tables),
        len({variant.family for table in tables for variant in table.options}),
        sum(table.specs for table in tables),
        {key: frozenset(families) for key, families in fired.items()},
        {key: frozenset(specs) for key, specs in won.items()},
        frozenset(offered),
        frozenset(taken),
    )


def _in_panels(alternative: Alternative, variant: Variant) -> Iterator[InPanels]:
    if isinstance(alternative, KernelAlternative):
        match = alternative.match
        for pattern, packing in zip(match.patterns.of, variant.packing, strict=True):
            if own := panel(packing):
                yield InPanels(match.kernel.name, pattern, own)


class _Tables(Struct, frozen=True):
    """What was solved for one goal. ``options``: what applies somewhere in each variant's box."""

    searched: Searched
    specs: int
    options: Mapping[Variant, tuple[Option, ...]]

    def applying(self) -> Iterator[tuple[Variant, Alternative]]:
        """The same, each alternative once, whatever its tile sizes."""
        for variant, options in self.options.items():
            distinct = {option.alternative.key: option.alternative for option in options}
            yield from ((variant, alternative) for alternative in distinct.values())


def _tables(tree: Tree, report: Callable[[str], None]) -> _Tables:
    """From the search itself, if its tables are there and for this goal alone; or planned again."""
    context = tree.solved.context
    goal = replace(tree.root.spec, used=(0,) * len(context.target.bounded))
    solution = tree.solved
    if isinstance(solution, Solution) and solution.complete and _is_for(solution, goal):
        solved = {variant: found.options for variant, found in solution.solved.items()}
        return _Tables(Searched(context, solution.alternatives), solution.cells, solved)
    planned = plan_within(context, goal, UNLIMITED, memory_budget(), report, NullMemo(), False)
    families = {family: node.alternatives for family, node in planned.graph.nodes.items()}
    options = {task.variant: task.options for task in planned.tasks}
    return _Tables(Searched(context, families), planned.specs, options)


def _is_for(solution: Solution, goal: Spec) -> bool:
    """Whether a search was for this goal, and not for a larger one that it is below."""
    goal = solution.context.searched_spec(goal)
    if next(iter(solution.alternatives)) != goal.family:
        return False
    axes = solution.solved[goal.variant].box.axes
    largest = (int(axis[-1]) for axis in axes)
    return all(n in (value, IRRELEVANT) for n, value in zip(largest, goal.coordinates, strict=True))
