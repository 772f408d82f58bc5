"""The Python interface: from a spec to a kernel that can be called, read, verified and timed.

kernel = morello.compile("matmul.mspec", defines={"N": 512})
c = kernel(a, b)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from morello.arguments import (
    AFFINE,
    LEARNED,
    as_source,
    check_kinds,
    check_name,
    goal_of,
)
from morello.codegen.generate import Solved, Writer, Written
from morello.codegen.goals import context_for, goal_specs
from morello.definitions import Definitions, load_definitions
from morello.errors import UsageError
from morello.ir.goal import Goal
from morello.ir.programs.emitted import ChoosingEmitter, EmitOptions
from morello.ir.spec import Spec
from morello.ir.target import Target
from morello.kernel import Kernel, MultiTargetKernel, SearchStatistics
from morello.language.source import Source
from morello.memo.memo import Memo, process_memo
from morello.records import replace
from morello.runtime.target_choice import named_target, preference
from morello.search.planning.budget import Budget
from morello.search.planning.coarsening import merge
from morello.search.results.solution import Counts
from morello.search.results.solved_view import SolvedView
from morello.search.search import UNLIMITED, Progress, solve_goal

if TYPE_CHECKING:
    from morello.building.spec import SpecBuilder
    from morello.ranking.model import Model
    from morello.ranking.rank import DrawnPlans
    from morello.runtime.autotune import Result
    from morello.runtime.contests import Contest
    from morello.search.results.reconstruct import PlanNode
    from morello.toolchain.machine import Machine
    from morello.verify.program import VerificationReport


def compile_spec(
    source: str | Path | Source | SpecBuilder,
    /,
    *,
    spec: str | None = None,
    defines: Mapping[str, int] | None = None,
    target: str | None = None,
    definitions: Definitions | None = None,
    progress: Callable[[Progress], None] | None = None,
    annotate: bool = False,
    memo: Memo | None = None,
    budget: str | Budget | None = None,
    workers: int | None = None,
    measure: int | None = None,
    pool: int | None = None,
    rank: str | None = None,
    name: str | None = None,
    machine: Machine | None = None,
    contest: Contest[VerificationReport] | None = None,
) -> Kernel:
    """Compile a spec. It may be called from several threads at once.

    Args:
        source: Path of a ``.mspec`` file; or its text (a string with a line break or a brace), or
            its text with the name that diagnostics call it; or a spec built from Python objects.
        spec: Name of the spec, where the file has several.
        defines: Values of the spec's parameters.
        target: Name of the target, or ``native`` for the best that this machine can run; by
            default what the file says.
        definitions: Operators, rules and targets; by default all that is installed.
        progress: Called now and then during the search, and before programs are built and timed. It
            must not wait for another thread's compile.
        annotate: Whether the C code names the file and line of each rule.
        memo: Where to look for what is solved already, such as `Memo.open` gives; by default one
            for the process, in the user's file.
        budget: How much the search may do, such as ``2e6 specs``, ``10 s`` or ``500 MiB``; past
            it, it is coarser. Where the spec has several outputs, and so several searches, they
            share it in equal parts. By default what memory there is.
        workers: Threads that search; by default as many as there are cores, where it is worth it.
        measure: How many programs to build, verify and time: the cheapest by prediction that are
            not alike (see `morello.search.results.plan_signature`, and `Writer.distinct` for
            several outputs), or all, where there are fewer. The fastest is returned. None trusts
            the prediction.
        pool: From how many drawn plans the measured ones are taken, such as 256. They are of
            different kinds then: each plan is the best where all coefficients are other than the
            target says (see `morello.search.results.pool`). They are measured in rounds: which come
            next depends on what the first took (see `morello.ranking.guide`). None measures the
            cheapest.
        rank: What ranks programs: ``affine``, the costs of the target, as by default; or
            ``learned``, this machine's model (see `morello.ranking`). Then plans are drawn without
            measuring too, and the model chooses one where it is sure that it is faster. Where
            programs are to be measured, it says what promises most.
        machine: Where it is built and run, when it is: another compiler, or a runner such as an
            emulator. What it leaves open is as ``MORELLO_CC`` and ``MORELLO_RUNNER`` say, or, where
            this machine cannot run the target's code, as the target says.
        contest: Who measures, such as a worker of a cluster (`morello.learning.contest`); by
            default ``machine``.
        name: Name of the C function, by default the spec's: programs of one spec for several sizes
            or targets, under names of their own, can be linked together.

    Raises:
        DiagnosticsError: The spec is wrong, with every place.
        UsageError: An option makes no sense, or is of another type; no target is named, or one that
            is not there; or the function cannot have the name.
        NoImplementationError: Nothing implements it, with what refused.
        MorelloError: The file cannot be read, or the budget is too small. Where programs are to be
            measured: there is no C compiler, this machine cannot run them, or one is wrong.
    """
    started = time.perf_counter()
    check_kinds(
        spec=spec,
        defines=defines,
        target=target,
        definitions=definitions,
        progress=progress,
        memo=memo,
        budget=budget,
        workers=workers,
        measure=measure,
        pool=pool,
        rank=rank,
        name=name,
    )
    allowed = Budget.parse(budget) if isinstance(budget, str) else budget or UNLIMITED
    definitions = definitions or load_definitions()
    text = as_source(source)
    goal, chosen = goal_of(text, spec, defines or {}, target, definitions)
    if name is not None:
        goal = replace(goal, name=name)
    if measure is not None:
        # Imported here: whoever only wants the C source imports no compiler driver.
        from morello.runtime.autotune import check_counts  # noqa: PLC0415
        from morello.runtime.contests import Contested, Here  # noqa: PLC0415

        check_counts(measure, pool)
        contest = contest or Here(machine)
        contest.check(goal, chosen)
    elif pool is not None and rank != LEARNED:
        raise UsageError(f"pool={pool} without measuring", help="say how many: measure=8")
    model = _model(rank, chosen, definitions)
    memo = memo if memo is not None else process_memo()
    tables = measure is not None or model is not None
    solved = solved_computations(
        definitions, goal, chosen, memo, allowed, progress, tables=tables, workers=workers
    )
    note = "" if model is None else f"\nranked by the model {model.digest}"
    emitter = definitions.emitters[chosen.emitter]
    options = EmitOptions(annotate)
    writer = Writer(goal, chosen, emitter, options, note)
    drawn = _drawn(writer, solved, model, pool)
    if drawn is not None:
        found = [next(writer.programs(solved, [drawn.choices[drawn.chosen]]))]
    elif measure is not None:
        found = writer.distinct(solved, writer.choices(solved), measure)
    else:
        found = [writer.best(solved)]
    check_name(name, found[0][2].name)
    statistics = search_statistics(solved, time.perf_counter() - started)

    def made(written: Written) -> Kernel:
        return Kernel(goal, *written, statistics, machine)

    kernels = list(map(made, found))
    kernel = kernels[0]
    if contest is not None and measure is not None:
        asked = Contested(definitions, text, spec, defines or {}, goal, chosen, options, note)
        hold = partial(contest.hold, asked, report=progress or _silent)
        if drawn is None:
            result = hold(kernels)
            kernel = kernels[result.winner]
        else:
            write = partial(writer.programs, solved)
            kernel, result = _in_rounds(
                drawn, kernel, lambda roots: made(next(write([roots]))), hold, measure
            )
        kernel.measurements, kernel.measured_on = result.measurements, result.place
        kernel.verification = result.verification
    kernel.ranking = drawn.ranking if drawn is not None else None
    return kernel


def compile_programs(
    source: Source,
    spec: str,
    defines: Mapping[str, int],
    target: Target,
    count: int,
    pool: int,
    *,
    definitions: Definitions,
    memo: Memo,
    progress: Callable[[Progress], None] | None = None,
) -> list[Kernel]:
    """So many programs for one spec that differ, the choice of the search first.

    They are what ``measure=count, pool=pool`` of `compile_spec` would measure.

    Raises:
        MorelloError: As `compile_spec`.
    """
    started = time.perf_counter()
    goal, _ = goal_of(source, spec, defines, target.name, definitions)
    solved = solved_computations(definitions, goal, target, memo, UNLIMITED, progress, tables=True)
    writer = Writer(goal, target, definitions.emitters[target.emitter], EmitOptions())
    found = writer.distinct(solved, writer.choices(solved, pool), count)
    statistics = search_statistics(solved, time.perf_counter() - started)
    return [Kernel(goal, *written, statistics) for written in found]


def solve_spec(
    goal: Goal,
    target: Target,
    *,
    definitions: Definitions,
    memo: Memo,
    budget: Budget,
    workers: int | None,
    progress: Callable[[Progress], None] | None,
) -> SearchStatistics:
    """Only search: what is found is in the memo. Arguments and errors are those of `compile_spec`.

    A memo that fills solves what other goals need, too.
    """
    started = time.perf_counter()
    solved = solved_computations(
        definitions, goal, target, memo, budget, progress, tables=False, workers=workers
    )
    return search_statistics(solved, time.perf_counter() - started)


def _model(rank: str | None, target: Target, definitions: Definitions) -> Model | None:
    """What ranks plans, where it is not the costs of the target."""
    if rank not in (None, AFFINE, LEARNED):
        raise UsageError(f"nothing ranks by {rank!r}", help=f"'{AFFINE}' or '{LEARNED}'")
    if rank != LEARNED:
        return None
    from morello.ranking.models import model_for  # noqa: PLC0415

    return model_for(target, definitions.learning)


def _drawn(
    writer: Writer, solved: Solved, model: Model | None, pool: int | None
) -> DrawnPlans | None:
    """Plans of a pool, where one is asked for or a model ranks."""
    if model is None and pool is None:
        return None
    from morello.ranking.rank import DRAWN, DrawnPlans  # noqa: PLC0415

    choices = list(writer.choices(solved, DRAWN if pool is None else pool))
    return DrawnPlans(choices, [writer.plan(solved, roots) for roots in choices], model)


def _in_rounds(
    drawn: DrawnPlans,
    known: Kernel,
    write: Callable[[Sequence[PlanNode]], Kernel],
    hold: Callable[[Sequence[Kernel]], Result[VerificationReport]],
    count: int,
) -> tuple[Kernel, Result[VerificationReport]]:
    """The fastest of some drawn plans, of which the program of the chosen one is known."""
    from morello.runtime.rounds import Rounds  # noqa: PLC0415

    def kernel(place: int) -> Kernel:
        return known if place == drawn.chosen else write(drawn.choices[place])

    return Rounds(drawn.guide.order, kernel, hold).run(count)


def solved_computations(
    definitions: Definitions,
    goal: Goal,
    target: Target,
    memo: Memo,
    budget: Budget,
    progress: Callable[[Progress], None] | None,
    *,
    tables: bool,
    workers: int | None = None,
) -> list[tuple[SolvedView, Spec]]:
    """What the memo knows of each computation, or a search finds; if asked for, all ``tables``.

    Raises:
        UsageError: Calls bring a size, so that there is not one program.
        MorelloError: As `compile_spec`.
    """
    size = goal.at_run_time
    if size is not None:
        raise UsageError(
            f"calls of '{goal.name}' bring '{size.name}'",
            help=f"fix it with -D {size.name}={size.limit}, or defines={{...}} in Python; "
            "'morello compile' and morello.compile_any_size take it as it is",
        )
    memo.consult(definitions.memos)
    context = context_for(definitions, target)
    wanted = goal_specs(target, goal)
    # A chain of statements may have thousands that are equal, but for values of scalars.
    searched = [context.searched_spec(spec) for spec in wanted]
    shared = replace(budget, searches=len(set(searched)))
    ask = memo.solution if tables else memo.answers
    answered: dict[Spec, SolvedView] = {}
    for key, one in zip(searched, wanted, strict=True):
        if key not in answered:
            solve = partial(
                solve_goal, context, one, progress=progress, budget=shared, workers=workers
            )
            answered[key] = ask(context, one, solve, full=budget == UNLIMITED)
    return [(answered[key], one) for key, one in zip(searched, wanted, strict=True)]


def search_statistics(solved: Solved, seconds: float) -> SearchStatistics:
    """What the searches did; where several computations have one, it counts once."""
    views = {id(view): view for view, _ in solved}
    counts = sum((view.counts for view in views.values()), Counts())
    coarsening = merge(view.coarsening for view in views.values())
    return SearchStatistics(counts.families, counts.cells, seconds, coarsening, counts.recalled)


def compile_for(
    source: str | Path | Source | SpecBuilder,
    targets: Sequence[str],
    /,
    *,
    definitions: Definitions | None = None,
    annotate: bool = False,
    machine: Machine | None = None,
    **options: Any,
) -> MultiTargetKernel:
    """Compile a spec for several targets, as one function that picks one of them when it is called.

    The first call looks which of the targets the processor can run. All calls use the one of these
    that goes furthest beyond what it inherits. The least demanding one is for every processor that
    the file is compiled for.

    Args:
        source: As for `compile_spec`.
        targets: Names of targets, in any order, all written by the same emitter.
        definitions: As for `compile_spec`.
        annotate: As for `compile_spec`.
        machine: As for `compile_spec`.
        options: ``spec``, ``defines``, ``progress``, ``memo``, ``budget``, ``workers`` and
            ``name``, as for `compile_spec`.

    Raises:
        UsageError: As `compile_spec`; or the targets cannot share a file, with the reason.
        MorelloError: As `compile_spec`.
    """
    for option in sorted({"measure", "pool", "rank", "target"} & {*options}):
        raise UsageError(f"{option}= is for one target", help="morello.compile takes it")
    if isinstance(targets, str) or not isinstance(targets, Sequence) or not targets:
        raise UsageError(
            f"targets={targets!r} is no list of names", help="pass a list, even of one"
        )
    definitions = definitions or load_definitions()
    every = {t.name: t for t in (named_target(definitions, name) for name in targets)}
    chosen = sorted(every.values(), key=preference, reverse=True)
    emitter = definitions.emitters[chosen[0].emitter]
    alike = all(target.emitter == chosen[0].emitter for target in chosen)
    if not alike or not isinstance(emitter, ChoosingEmitter):
        raise UsageError(
            f"nothing writes one file for {' and '.join(t.name for t in chosen)}",
            help="write a file for each, under names of their own",
        )
    emitter.check_choice(chosen)
    kernels = [
        compile_spec(
            source,
            target=target.name,
            definitions=definitions,
            annotate=annotate,
            machine=machine,
            **options,
        )
        for target in chosen
    ]
    emitted = emitter.emit_choice([k.program for k in kernels], EmitOptions(annotate))
    check_name(options.get("name"), emitted.name)
    return MultiTargetKernel(kernels, emitted, machine)


def _silent(_: Progress) -> None:
    """Nobody asked."""
