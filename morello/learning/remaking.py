"""Programs made again from their recipes, by the same definitions."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from morello.codegen.generate import Writer
from morello.codegen.goals import context_for, goal_specs
from morello.definitions import Definitions
from morello.ir.goal import Goal
from morello.ir.programs.emitted import EmitOptions
from morello.ir.target import Target
from morello.kernel import Kernel, SearchStatistics
from morello.learning.recipe import Made, Recipe, plans_of, recipe_of
from morello.report.plan import Plan
from morello.toolchain.machine import Machine


def recipe_for(plan: Plan) -> Recipe:
    """How a program is made."""
    return recipe_of([tree.root for tree in plan.trees])


def digest(source: str) -> str:
    """The SHA-256 of C code: whether two programs are the same."""
    return sha256(source.encode()).hexdigest()


def remade(
    definitions: Definitions,
    goal: Goal,
    target: Target,
    recipes: Sequence[Recipe],
    options: EmitOptions | None = None,
    note: str = "",
    machine: Machine | None = None,
) -> list[Kernel]:
    """Kernels of a goal from recipes; nothing is searched.

    Args:
        definitions: What the recipes name.
        goal: What is computed.
        target: What for.
        recipes: Of programs.
        options: Of whoever writes C.
        note: What stands in its heading.
        machine: Where kernels are built and run.

    Raises:
        RecipeError: One makes no plan of the goal.
    """
    context = context_for(definitions, target)
    specs = goal_specs(target, goal)
    solved = [(Made(context), spec) for spec in specs]
    emitter = definitions.emitters[target.emitter]
    writer = Writer(goal, target, emitter, options or EmitOptions(), note)
    plans = [plans_of(recipe, context, specs) for recipe in recipes]
    nothing = SearchStatistics(0, 0, 0.0)
    return [Kernel(goal, *written, nothing, machine) for written in writer.programs(solved, plans)]
