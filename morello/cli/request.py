"""From the arguments of a sub-command to a compiled kernel: reading, loading, progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from morello.cli.memos import open_memo
from morello.cli.progress import ProgressBar
from morello.cli.session import Session
from morello.cli.tables import require_known
from morello.compiler import compile_for, compile_spec
from morello.definitions import Definitions, load_definitions
from morello.definitions.project_files import named_sources, project_sources
from morello.errors import MorelloError
from morello.ir.target import Target
from morello.kernel import Kernel, MultiTargetKernel
from morello.language.load import load_source, source_from_bytes
from morello.language.parse import parse_spec
from morello.language.source import Source
from morello.memo.memo import Memo
from morello.records import replace
from morello.report.documents import Document
from morello.runtime.target_choice import NATIVE, native_target
from morello.search.planning.budget import Budget
from morello.search.search import Progress

if TYPE_CHECKING:
    from morello.any_size import AnySizeKernel
    from morello.learning.tuning import Tuned

STDIN = "-"


class Request(Struct, frozen=True):
    """What a sub-command was asked to compile; see the options of the same names."""

    file: str
    target: str | None
    defines: Mapping[str, int]
    spec: str | None
    budget: Budget | None
    memo: str | None
    no_memo: bool


def read_source(file: str) -> Source:
    """The text of a file that the user names; ``-`` is the standard input.

    Raises:
        MorelloError: The standard input is closed; see also `morello.language.load`.
    """
    if file != STDIN:
        return load_source(file)
    if sys.stdin is None:
        raise MorelloError("the standard input is closed", help="name a file instead of -")
    return source_from_bytes(sys.stdin.buffer.read(), "<stdin>")


def chosen_target(definitions: Definitions, name: str) -> Target:
    """A target by name, or this machine's best.

    Raises:
        MorelloError: There is none of the name.
    """
    if name == NATIVE:
        return native_target(definitions)
    require_known("target", name, definitions.targets)
    return definitions.targets[name]


def local_sources(session: Session) -> list[Source]:
    """Definitions that are no plugin's: files of the project's table, and of options."""
    return [
        *project_sources(),
        *named_sources("rules", session.rules),
        *named_sources("kernels", session.kernels),
    ]


def definitions_for(
    session: Session, extra_files: Iterable[Source] = (), *, fitted: bool = True
) -> Definitions:
    """All definitions: of plugins, of the project's table, of options, of the given texts.

    Warns of plugins that are broken, and of old words. For ``fitted``, see
    `morello.definitions.load_definitions`.
    """
    texts = [*local_sources(session), *extra_files]
    definitions = load_definitions(texts, fitted=fitted, warn=False)
    session.show(definitions.warnings)
    for plugin in definitions.broken:
        session.warn(str(plugin))
    return definitions


def compile_request(
    session: Session, request: Request, *, rank: str | None = None, memo: Memo | None = None
) -> Kernel:
    """Compile what was asked for, with a progress bar; warns if the search was coarsened.

    Without a memo, the one that is asked for is opened. It stays open until the command ends: plans
    ask it for what they are to show.
    """
    with _compiling(session, request, annotate=False, name=None, memo=memo) as (source, options):
        kernel = compile_spec(source, target=request.target, rank=rank, **options)
    _warn_if_coarse(session, kernel)
    return kernel


def tune_request(
    session: Session,
    request: Request,
    *,
    annotate: bool,
    name: str | None,
    again: bool,
    before: Callable[[str | None], object] | None,
) -> Tuned:
    """The same, of the program that tuning finds, or has found."""
    from morello.learning.tuning import tune  # noqa: PLC0415

    with _compiling(session, request, annotate, name, None, before) as (source, options):
        tuned = tune(source, target=request.target, again=again, warn=session.warn, **options)
    _warn_if_coarse(session, tuned.kernel)
    return tuned


def compile_request_any_size(
    session: Session,
    request: Request,
    *,
    annotate: bool,
    name: str | None,
    before: Callable[[str | None], object] | None,
    **others: Any,
) -> Kernel | AnySizeKernel:
    """The same, of a spec with a size that calls bring for any of its values.

    ``before`` is called ahead of the search, with the name that the function will have, or none
    where the text leaves that open. ``others``: more options of `compile_spec`, for any other spec.
    """
    from morello.any_size import brings_size, compile_any_size  # noqa: PLC0415

    kernel: Kernel | AnySizeKernel
    with _compiling(session, request, annotate, name, None, before) as (source, options):
        if any(others.values()) or not brings_size(source, request.spec, request.defines):
            kernel = compile_spec(source, target=request.target, **options, **others)
        else:
            kernel = compile_any_size(source, target=request.target, **options)
    for one in [kernel] if isinstance(kernel, Kernel) else kernel.kernels.values():
        _warn_if_coarse(session, one)
    return kernel


def compile_request_for(
    session: Session,
    request: Request,
    targets: Sequence[str],
    *,
    annotate: bool,
    name: str | None,
    before: Callable[[str | None], object] | None,
) -> MultiTargetKernel:
    """The same for several targets, as one function."""
    with _compiling(session, request, annotate, name, None, before) as (source, options):
        kernel = compile_for(source, targets, **options)
    for one in kernel.kernels.values():
        _warn_if_coarse(session, one)
    return kernel


@contextmanager
def _compiling(
    session: Session,
    request: Request,
    annotate: bool,
    name: str | None,
    memo: Memo | None,
    before: Callable[[str | None], object] | None = None,
) -> Iterator[tuple[Source, dict[str, Any]]]:
    """The text, and what any compile of it is given, while a progress bar is shown."""
    source = read_source(request.file)
    definitions = definitions_for(session)
    if before is not None:
        before(name or request.spec or _only_spec(source))
    if memo is None:
        memo = open_memo(session, request.memo, off=request.no_memo)
        click.get_current_context().call_on_close(memo.close)
    with ProgressBar(lambda: session.err) as progress:
        yield (
            source,
            {
                "spec": request.spec,
                "defines": request.defines,
                "definitions": definitions,
                "progress": progress,
                "annotate": annotate,
                "memo": memo,
                "budget": request.budget,
                "name": name,
                "machine": session.machine,
            },
        )


def _warn_if_coarse(session: Session, kernel: Kernel) -> None:
    if kernel.statistics.coarsening is not None:
        session.warn(f"the search was {kernel.statistics.coarsening}")


def _only_spec(source: Source) -> str | None:
    """The name of a file's spec, where it has one; what is wrong with the file is an error."""
    names = {spec.name for spec in parse_spec(source).specs}
    return names.pop() if len(names) == 1 else None


def statistics_json(kernel: Kernel) -> Document:
    """What the search of a kernel did, for tools."""
    statistics = kernel.statistics
    coarsening = statistics.coarsening
    return {
        "families": statistics.families,
        "cells": statistics.cells,
        "recalled_families": statistics.recalled,
        "from_memo": statistics.from_memo,
        "seconds": statistics.seconds,
        "coarsened": None
        if coarsening is None
        else {"limit": coarsening.limit, "changes": list(coarsening.changes)},
    }


def statistics_text(kernel: Kernel) -> str:
    """The same in one line."""
    statistics = kernel.statistics
    if statistics.from_memo:
        return f"recalled from the memo, {statistics.seconds:.2f} s"
    text = (
        f"searched: {statistics.cells:,} Specs in {statistics.families:,} families, "
        f"{statistics.seconds:.2f} s"
    )
    if statistics.recalled:
        text += f"; {statistics.recalled:,} more families were recalled from the memo"
    return text


# ------------------------------------------------------------------------- several specs


class Asked(Struct, frozen=True):
    """One spec of a file for one target, with the values that its parameters are to have."""

    source: Source
    spec: str
    defines: Mapping[str, int]
    target: str

    def __str__(self) -> str:
        return f"{self.spec} for {self.target}"


def asked_specs(
    definitions: Definitions,
    files: Sequence[Source],
    targets: Sequence[str],
    defines: Mapping[str, int],
    otherwise: Sequence[str] = (NATIVE,),
) -> list[Asked]:
    """Every spec of files, for targets of options, or its file's, or else for others.

    A spec takes the values of those parameters that it has.

    Raises:
        MorelloError: A target is unknown, or no spec has a parameter that is given a value.
    """
    for name in targets:
        if name != NATIVE:
            require_known("target", name, definitions.targets)
    found: list[Asked] = []
    parameters: set[str] = set()
    for source in files:
        tree = parse_spec(source)
        of_file = [tree.target.id] if tree.target else None
        chosen = targets or of_file or otherwise
        names = [native_target(definitions).name if n == NATIVE else n for n in chosen]
        for target in dict.fromkeys(names):
            for spec in tree.specs:
                known = {parameter.name for parameter in spec.parameters}
                own = {n: v for n, v in defines.items() if n in known}
                found.append(Asked(source, spec.name, own, target))
                parameters |= known
    for name in defines if found else ():
        require_known("parameter", name, parameters)
    return found


def phases_of(progress: Callable[[Progress], None], whole: str) -> Callable[[Progress], None]:
    """Progress of one compile of several."""
    return lambda step: progress(replace(step, phase=f"{whole}: {step.phase}"))
