"""``morello check --use``: specs are compiled, and what their searches had of rules and kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import click
from msgspec import Struct

from morello.cli.memos import open_memo
from morello.cli.progress import ProgressBar
from morello.cli.request import Asked, asked_specs, phases_of
from morello.cli.session import Session
from morello.compiler import compile_spec
from morello.definitions import Definitions, calibration_specs
from morello.errors import MorelloError
from morello.ir.rule import Rule
from morello.ir.target import Microkernel
from morello.language.diagnostics import Diagnostic
from morello.language.parse import parse_target
from morello.language.source import Source
from morello.memo.memo import Memo
from morello.plugins import DEFINITION_SUFFIXES
from morello.report.usage.closest import Closest, closest
from morello.report.usage.counts import Key, use_of
from morello.report.usage.notes import notes
from morello.report.usage.tally import Compile, Tally, compiles_with, key_of_item
from morello.runtime.target_choice import NATIVE
from morello.search.planning.budget import Budget
from morello.search.search import Progress


class Wanted(Struct, frozen=True):
    """How specs are to be compiled; see the options of the same names."""

    targets: Sequence[str]
    defines: Mapping[str, int]
    budget: Budget | None
    memo: str | None
    no_memo: bool


class Used(Struct, frozen=True):
    """What came of it. ``left_out``: specs that could not be compiled, each with the reason."""

    compiles: tuple[Compile, ...]
    tallies: tuple[Tally, ...]
    notes: tuple[Diagnostic, ...]
    left_out: tuple[tuple[str, str], ...]


def count_uses(
    session: Session, definitions: Definitions, sources: Sequence[Source], wanted: Wanted
) -> Used:
    """Compile specs, and count what their searches had of rules and kernels.

    Counted are the rules and kernels that the files declare, or all, where they declare none;
    compiled are the specs of the files, or, where there are none, those of the plugins.

    Args:
        session: Shows progress, and takes warnings.
        definitions: All definitions in force, those of the files among them.
        sources: The files.
        wanted: Targets, and how to search.

    Raises:
        MorelloError: There is no spec, none can be compiled, or a target is unknown.
        UsageError: The memo cannot be as the options say.
    """
    declared = [source for source in sources if source.name.endswith(DEFINITION_SUFFIXES)]
    files = [source for source in sources if source not in declared]
    files = files or calibration_specs(definitions)
    asked = asked_specs(definitions, files, wanted.targets, wanted.defines, _targets(declared))
    if not asked:
        raise MorelloError("no plugin gives specs to compile", help="name a file of specs")
    items = _items(definitions, declared, {one.target for one in asked})
    memo = open_memo(session, wanted.memo, off=wanted.no_memo)
    click.get_current_context().call_on_close(memo.close)
    counting = _Counting(definitions, memo, wanted.budget, map(key_of_item, items))
    with ProgressBar(lambda: session.err) as progress:
        for number, one in enumerate(asked, start=1):
            counting.compile(one, phases_of(progress, f"{number} of {len(asked)}, {one}"))
    for name, why in counting.left_out:
        session.warn(f"{name} is left out: {why}")
    if not counting.compiles:
        raise MorelloError("no spec could be compiled, so that there is nothing to count")
    tallies = tuple(counting.tally(item) for item in items)
    for tally in (tally for tally in tallies if not tally.compiles):
        session.warn(f"{tally.key[0]} '{tally.key[1]}' is for none of the targets; -t names one")
    compiles, left_out = tuple(counting.compiles), tuple(counting.left_out)
    return Used(compiles, tallies, tuple(notes(tallies)), left_out)


def _targets(declared: Sequence[Source]) -> list[str]:
    """Targets that files declare, or declare kernels for; if none, the best of this machine."""
    trees = [parse_target(source) for source in declared if source.name.endswith(".mtarget")]
    found = {target.name for tree in trees for target in tree.targets}
    found |= {kernel.target for tree in trees for kernel in tree.kernels}
    return sorted(found) or [NATIVE]


def _items(
    definitions: Definitions, declared: Sequence[Source], targets: Iterable[str]
) -> list[Rule | Microkernel]:
    """Rules and kernels to count: those that files declare, or all that there are for targets."""
    every = {k.name: k for target in definitions.targets.values() for k in target.kernels}
    items: list[Rule | Microkernel] = [*definitions.rules, *every.values()]
    own = [item for item in items if item.declaration.span.source in declared]
    kernels = {k.name: k for name in targets for k in definitions.targets[name].kernels}
    return own or [*definitions.rules, *kernels.values()]


class _Counting:
    """Compiles one spec after the other; of each the counts are kept, and nothing else."""

    def __init__(
        self, definitions: Definitions, memo: Memo, budget: Budget | None, keys: Iterable[Key]
    ) -> None:
        self._definitions = definitions
        self._memo = memo
        self._budget = budget
        self._lost = set(keys)
        self._closest: dict[Key, tuple[Compile, Closest]] = {}
        self.compiles: list[Compile] = []
        self.left_out: list[tuple[str, str]] = []

    def compile(self, asked: Asked, progress: Callable[[Progress], None]) -> None:
        """Compile and count; a spec that cannot be compiled is left out."""
        try:
            kernel = compile_spec(
                asked.source,
                spec=asked.spec,
                defines=asked.defines,
                target=asked.target,
                definitions=self._definitions,
                progress=progress,
                memo=self._memo,
                budget=self._budget,
            )
        except MorelloError as error:
            self.left_out.append((str(asked), str(error).partition("\n")[0]))
            return
        use = use_of(kernel.plan, lambda phase: progress(Progress(0, 0, f"counting: {phase}")))
        found = Compile(asked.spec, asked.source.name, asked.target, kernel.cost, use)
        self.compiles.append(found)
        self._lost -= set(use.won)
        for key, near in closest(kernel.plan, self._lost).items():
            if key not in self._closest or near.ratio < self._closest[key][1].ratio:
                self._closest[key] = (found, near)

    def tally(self, item: Rule | Microkernel) -> Tally:
        """What all compiles together say of a rule or kernel."""
        key = key_of_item(item)
        nearest = self._closest.get(key) if key in self._lost else None
        return Tally(item, compiles_with(item, self.compiles), nearest)
