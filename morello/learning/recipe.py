"""Plans as data: the choice at each step, by names, so that they can be made again.

A recipe names rules, kernels and parameters as pages of a memo do. Nodes are listed below first;
equal parts, also of different sizes, stand in it once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from morello.errors import MorelloError
from morello.ir.spec import Family, Spec
from morello.rewriting.alternatives import Alternative
from morello.rewriting.context import Context
from morello.rewriting.enumeration import alternatives
from morello.search.planning.coarsening import Coarsening
from morello.search.results.reconstruct import PlanNode, plan_node
from morello.search.results.solution import Counts
from morello.search.solving.one_spec import DoesNotApplyError, application
from morello.search.tables.options import Option, named_option

Recipe = Mapping[str, Any]
"""``options``: names with parameters; ``nodes``: the place of an option, then those of nodes."""


class RecipeError(MorelloError):
    """A recipe makes no plan of a Spec with these definitions."""


def recipe_of(roots: Sequence[PlanNode]) -> Recipe:
    """The recipe of plans, one for each computation of a goal."""
    options: dict[tuple[str, tuple[tuple[str, str], ...]], int] = {}
    nodes: dict[tuple[int, ...], int] = {}
    done: dict[int, int] = {}

    def place(node: PlanNode) -> int:
        if id(node) not in done:
            below = [place(child) for child in node.children]
            option = options.setdefault((node.option.name, node.option.parameters), len(options))
            done[id(node)] = nodes.setdefault((option, *below), len(nodes))
        return done[id(node)]

    places = [place(root) for root in roots]
    return {
        "options": [[name, *map(list, parameters)] for name, parameters in options],
        "nodes": [list(node) for node in nodes],
        "roots": places,
    }


def plans_of(recipe: Recipe, context: Context, specs: Sequence[Spec]) -> list[PlanNode]:
    """The plans that a recipe makes of the Specs of a goal.

    Raises:
        RecipeError: It is no recipe, or a choice does not apply.
    """
    try:
        roots = zip(recipe["roots"], specs, strict=True)
        making = _Making(recipe, context)
        return [making.plan(root, spec) for root, spec in roots]
    except (KeyError, TypeError, ValueError, IndexError, RecursionError) as error:
        raise RecipeError(f"this is no recipe: {type(error).__name__}: {error}") from error


class _Making:
    """Plans from one recipe; a part is made once for each Spec."""

    def __init__(self, recipe: Recipe, context: Context) -> None:
        self._context = context
        self._options = recipe["options"]
        self._nodes = recipe["nodes"]
        self._done: dict[tuple[int, Spec], PlanNode] = {}

    def plan(self, place: int, spec: Spec) -> PlanNode:
        key = (place, spec)
        if key not in self._done:
            self._done[key] = self._make(place, spec)
        return self._done[key]

    def _make(self, place: int, spec: Spec) -> PlanNode:
        chosen, *below = self._nodes[place]
        if any(child >= place for child in below):
            raise RecipeError("this is no recipe: a node is above itself")
        option = self._option(spec, *self._options[chosen])
        try:
            application(self._context, spec, option)
        except DoesNotApplyError as error:
            raise RecipeError(str(error)) from error
        node = plan_node(
            self._context, spec, option, lambda number, part: self.plan(below[number], part)
        )
        if len(node.children) != len(below):
            raise RecipeError("this is no recipe: a node has too many others")
        return node

    def _option(self, spec: Spec, name: str, *parameters: Sequence[str]) -> Option:
        wanted = tuple((key, value) for key, value in parameters)
        known = alternatives(self._context, self._context.searched(spec.family))
        option = named_option(self._context.target, known, name, wanted)
        if option is None:
            shown = ", ".join(f"{key} = {value}" for key, value in wanted)
            raise RecipeError(f"there is no '{name}({shown})' for {spec}")
        return option


class Made(Struct, frozen=True):
    """What plans that are made from recipes are of: a context, and no search.

    It takes the place of what was solved where a program is written. Nothing else can be asked.
    """

    context: Context
    coarsening: Coarsening | None = None
    counts: Counts = field(default_factory=Counts)

    def alternatives_of(self, family: Family) -> tuple[Alternative, ...]:
        """Those that apply."""
        return tuple(alternatives(self.context, self.context.searched(family)))

    def canonical(self, spec: Spec) -> Spec:
        """The Spec as it is."""
        return spec

    def intensity(self, spec: Spec) -> float:
        """Nobody searched."""
        raise NotImplementedError

    def choice(self, spec: Spec) -> Option | None:
        """Nobody searched."""
        raise NotImplementedError
