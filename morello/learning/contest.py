"""Contests between programs that a worker of a Dask scheduler holds, on the processor that counts.

What is sent is the spec's text and the recipes of the programs. The worker makes them again, and
refuses where its C code would be another one: what it times is what is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext

from msgspec import Struct

from morello.arguments import goal_of
from morello.errors import MorelloError
from morello.filling.scheduler import Scheduler
from morello.filling.work import OtherDefinitionsError, Setting, definitions_of, here, setting_of
from morello.ir.goal import Goal
from morello.ir.programs.emitted import EmitOptions
from morello.ir.target import Target
from morello.kernel import Kernel
from morello.language.source import Source
from morello.learning.apart import apart, on_one_core
from morello.learning.recipe import Recipe, RecipeError
from morello.learning.remaking import digest, recipe_for, remade
from morello.records import replace
from morello.runtime.autotune import Contestant, Result, hold_contest
from morello.runtime.contests import Contested, Here
from morello.search.search import Progress
from morello.verify.program import VerificationReport


class Sent(Struct, frozen=True):
    """A contest on its way.

    Attributes:
        setting: What the worker's definitions have to be.
        source: Of the spec.
        spec: Its name, where the file has several.
        defines: Values of its parameters.
        target: By name.
        name: Of the C function.
        options: Of whoever writes C.
        note: What stands in its heading.
        programs: Recipes, and the SHA-256 of the C code that they give.
    """

    setting: Setting
    source: Source
    spec: str | None
    defines: Mapping[str, int]
    target: str
    name: str
    options: EmitOptions
    note: str
    programs: tuple[tuple[Recipe, str], ...]


class WorkerContest:
    """Contests on workers that have a scheduler's resource, one at a time on each."""

    def __init__(self, scheduler: Scheduler, resource: str, sources: Sequence[Source] = ()) -> None:
        """Hold them there.

        Args:
            scheduler: Who has workers.
            resource: For messages: what those that measure are begun with.
            sources: Files of definitions beside those of plugins.
        """
        self._scheduler = scheduler
        self._resource = resource
        self._sources = tuple(sources)

    def check(self, goal: Goal, target: Target) -> None:
        """Demand that there is a worker. Which target it can run, only it knows.

        Raises:
            MorelloError: There is none.
        """
        if not self._scheduler.workers():
            raise MorelloError(
                f"no worker measures '{goal.name}' for '{target.name}'",
                help="begin one: dask worker ADDRESS --nthreads 1 "
                f'--resources "{self._resource}=1"',
            )

    def hold(
        self,
        asked: Contested,
        kernels: Sequence[Contestant[VerificationReport]],
        report: Callable[[Progress], None],
    ) -> Result[VerificationReport]:
        """Send the programs to a worker, and wait for what it finds.

        Raises:
            MorelloError: It cannot make the programs again or run them, one is wrong, or it is
                lost.
        """
        recipes = (recipe_for(kernel.plan) for kernel in kernels)
        sent = Sent(
            setting_of(asked.definitions, self._sources, [asked.target.name]),
            asked.source,
            asked.spec,
            dict(asked.defines),
            asked.target.name,
            asked.goal.name,
            asked.options,
            asked.note,
            tuple(zip(recipes, (digest(k.source) for k in kernels), strict=True)),
        )
        self._scheduler.call(sent, held_by_worker, sent)
        while True:
            report(Progress(0, len(kernels), "a worker builds, verifies and times"))
            for returned in self._scheduler.returned():
                if isinstance(returned.value, MorelloError):
                    raise returned.value
                result: Result[VerificationReport] = returned.value
                return result


def held_by_worker(sent: Sent) -> Result[VerificationReport] | MorelloError:
    """What a worker runs."""
    try:
        return apart(held_here, sent)
    except MorelloError as error:
        return error


def held_here(sent: Sent) -> Result[VerificationReport] | MorelloError:
    """The same in this process."""
    try:
        kernels = _made(sent)
        Here().check(kernels[0].goal, kernels[0].program.target)
        with on_one_core() if kernels[0].goal.threads == 1 else nullcontext():
            return hold_contest(kernels, lambda _: None)
    except MorelloError as error:
        return MorelloError(f"{here()}: {error}", help=error.help)


def _made(sent: Sent) -> list[Kernel]:
    """The programs, made again from their recipes.

    Raises:
        OtherDefinitionsError: The definitions make others of them.
        MorelloError: The spec is wrong with the definitions that are here.
    """
    definitions = definitions_of(sent.setting)
    goal, target = goal_of(sent.source, sent.spec, sent.defines, sent.target, definitions)
    goal = replace(goal, name=sent.name)
    recipes = [recipe for recipe, _ in sent.programs]
    try:
        found = remade(definitions, goal, target, recipes, sent.options, sent.note)
    except RecipeError as error:
        raise _others(str(error)) from error
    if [digest(kernel.source) for kernel in found] != [text for _, text in sent.programs]:
        raise _others("its C code is another one")
    return found


def _others(why: str) -> OtherDefinitionsError:
    return OtherDefinitionsError(
        f"it has other rules, kernels or another version: {why}",
        help="install the same version and plugins everywhere",
    )
