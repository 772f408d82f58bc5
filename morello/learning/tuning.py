"""Tuning: the fastest of many different programs for a goal, found by measuring, and kept.

Costs are those of this machine where it is calibrated. Programs are drawn, so that they are of
different kinds, and measured in rounds; where there is a model for this processor, it says what to
begin with. What is kept is how the fastest one is made, for this processor and compiler. It is used
again where its C code is still what was measured. A compile that does not ask for it is the same as
ever.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from morello.arguments import LEARNED, goal_of
from morello.codegen.goals import context_for, title
from morello.compiler import compile_spec
from morello.definitions import Definitions
from morello.errors import MorelloError
from morello.filling.work import fingerprint_of
from morello.ir.goal import Goal
from morello.ir.programs.emitted import EmitOptions
from morello.ir.target import Target
from morello.kernel import Kernel, SearchStatistics
from morello.language.source import Source
from morello.learning.recipe import Recipe, RecipeError
from morello.learning.remaking import digest, recipe_for, remade
from morello.memo.memo import Memo
from morello.ranking.models import model_for
from morello.records import replace
from morello.resources import write_whole
from morello.runtime.autotune import place_of
from morello.runtime.contests import Here
from morello.runtime.machines import machine_for
from morello.search.planning.budget import Budget
from morello.search.search import Progress
from morello.toolchain.machine import Machine
from morello.verify.program import VerificationReport

PROGRAMS = 24
"""That are measured."""

DRAWN = 256
"""Plans that they are taken from."""

FORMAT = 1

NAME = "tuned"
"""Of the function, in code that is compared."""


class Tuned(Struct, frozen=True):
    """What tuning has found.

    Attributes:
        kernel: The fastest program.
        gain: How many times as fast as the first choice it is.
        programs: How many were measured.
        known: Whether that was kept from before.
    """

    kernel: Kernel
    gain: float
    programs: int
    known: bool


class _Kept(Struct, frozen=True):
    """A file of what was found.

    ``text`` is the SHA-256 of the C code; ``verification`` the arguments of its report.
    """

    format: int
    goal: str
    target: str
    place: str
    date: str
    recipe: dict[str, Any]
    text: str
    gain: float
    programs: int
    verification: dict[str, Any]


def tune(
    source: Source,
    *,
    spec: str | None = None,
    defines: Mapping[str, int] | None = None,
    target: str | None = None,
    definitions: Definitions,
    memo: Memo,
    progress: Callable[[Progress], None] | None = None,
    annotate: bool = False,
    budget: str | Budget | None = None,
    name: str | None = None,
    machine: Machine | None = None,
    again: bool = False,
    warn: Callable[[str], None],
) -> Tuned:
    """The fastest program for a goal: as is known, or as measuring finds.

    What is not said here is as for `morello.compile`.

    Args:
        source: Text of specs.
        spec: Which one.
        defines: Values of its parameters.
        target: The target's name.
        definitions: Operators, rules and targets.
        memo: Beside its file there is a directory where what is found is kept.
        progress: Called now and then.
        annotate: Whether the C code names rules.
        budget: Of the search.
        name: Of the function.
        machine: Where programs are built and run.
        again: Whether to measure what is known.
        warn: Takes a sentence if nothing can be kept.

    Raises:
        MorelloError: The spec is wrong, nothing implements it, or no program can be measured here.
    """
    goal, chosen = goal_of(source, spec, defines or {}, target, definitions)
    if name is not None:
        goal = replace(goal, name=name)
    here: Here[VerificationReport] = Here(machine)
    here.check(goal, chosen)
    place = json.dumps(to_builtins(place_of(machine_for(chosen, machine))))
    path = _path(memo, definitions, goal, chosen, place)
    options = EmitOptions(annotate)
    if path is not None and not again:
        found = _known(path, definitions, goal, chosen, options, machine)
        if found is not None:
            return found
    kernel = compile_spec(
        source,
        spec=spec,
        defines=defines,
        target=chosen.name,
        definitions=definitions,
        progress=progress,
        annotate=annotate,
        memo=memo,
        budget=budget,
        measure=PROGRAMS,
        pool=DRAWN,
        rank=LEARNED if _is_learned(chosen, definitions) else None,
        name=name,
        machine=machine,
    )
    seconds = [row.seconds for row in kernel.measurements]
    (fastest,) = (row.seconds for row in kernel.measurements if row.chosen)
    # One that was given up early may have had quicker moments than the fastest had later.
    found = Tuned(kernel, max(1.0, seconds[0] / fastest), len(seconds), known=False)
    if path is not None:
        try:
            _keep(path, found, definitions, goal, chosen, place)
        except OSError as error:
            warn(f"what tuning found is not kept: {error}")
    return found


def _is_learned(target: Target, definitions: Definitions) -> bool:
    try:
        model_for(target, definitions.learning)
    except MorelloError:
        return False
    return True


def _path(
    memo: Memo, definitions: Definitions, goal: Goal, target: Target, place: str
) -> Path | None:
    """The file of a goal; none where nothing is kept.

    The function's name is no part of it, as it is none of what is computed.
    """
    store = memo.store
    if store is None or store.path is None:
        return None
    fingerprint = fingerprint_of(context_for(definitions, target), goal)
    tensors = [(t.role, str(t)) for t in goal.tensors]
    said = (FORMAT, fingerprint, title(goal), tensors, goal.threads, target.name, place)
    key = blake2b(repr(said).encode(), digest_size=16).hexdigest()
    return store.path.with_suffix(".tuned") / f"{key}.json"


def _known(
    path: Path,
    definitions: Definitions,
    goal: Goal,
    target: Target,
    options: EmitOptions,
    machine: Machine | None,
) -> Tuned | None:
    """What a file says; none if there is none, or its recipe makes another program now."""
    started = time.perf_counter()
    try:
        kept = _Kept(**json.loads(path.read_bytes()))
        if kept.format != FORMAT:
            return None
        if _text(kept.recipe, definitions, goal, target) != kept.text:
            return None
        (kernel,) = remade(definitions, goal, target, [kept.recipe], options, machine=machine)
        report = VerificationReport(**kept.verification)
    except (OSError, ValueError, TypeError, RecipeError):
        return None
    kernel.verification = replace(report, kinds=tuple(report.kinds))
    kernel.statistics = SearchStatistics(0, 0, time.perf_counter() - started)
    return Tuned(kernel, kept.gain, kept.programs, known=True)


def _keep(
    path: Path, found: Tuned, definitions: Definitions, goal: Goal, target: Target, place: str
) -> None:
    """Write the file.

    Raises:
        OSError: It cannot be written.
    """
    recipe, report = recipe_for(found.kernel.plan), found.kernel.verification
    assert report is not None
    kept = _Kept(
        FORMAT,
        title(goal),
        target.name,
        place,
        datetime.now(UTC).isoformat(timespec="seconds"),
        dict(recipe),
        _text(recipe, definitions, goal, target),
        found.gain,
        found.programs,
        to_builtins(report),
    )
    write_whole(path, json.dumps(to_builtins(kept), indent=2, allow_nan=False).encode())


def _text(recipe: Recipe, definitions: Definitions, goal: Goal, target: Target) -> str:
    """The SHA-256 of the C code that a recipe gives, whatever the function is called."""
    (plain,) = remade(definitions, replace(goal, name=NAME), target, [recipe])
    return digest(plain.source)
