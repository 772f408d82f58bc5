"""Compiles one case, runs it on several kinds of inputs, and holds it against the oracle."""

from __future__ import annotations

import re
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np

import morello
from morello.definitions import Definitions
from morello.records import replace
from morello.runtime.program import built_program
from morello.runtime.signature import check_gaps, view_of
from tests.end_to_end.kernels import small_machines

from .cases import Array, Case
from .inputs import KINDS, arrays, without_subnormals

TILE_SIZES = (1, 4, 8)
BUDGET = "30000 specs"
PATTERN = 0xA5
"""Each byte of outputs before a call, so that an element that is not written shows."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a case. ``group``: what is alike of several, such as an error's first line.

    ``decided``: the share of elements of outputs at which the oracle knows the right value.
    """

    kind: str
    group: str = ""
    detail: str = ""
    decided: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """As it is written to files and pipes."""
        return asdict(self)


@cache
def machines() -> Definitions:
    """Small machines with few sizes of tiles: a search takes a second or two."""
    found = small_machines()
    targets = {name: replace(t, sizes=TILE_SIZES) for name, t in found.targets.items()}
    return replace(found, targets=targets)


def compiled(case: Case, target: str, memo: morello.Memo, definitions: Definitions) -> Any:
    """The kernel of a case."""
    return morello.compile(
        case.text, target=target, definitions=definitions, memo=memo, budget=BUDGET
    )


def attempt(
    case: Case,
    target: str,
    seed: tuple[int, ...],
    *,
    sanitize: bool = False,
    definitions: Definitions | None = None,
) -> Outcome:
    """Compile a case, run it, and say what came of it; no exception is let through."""
    try:
        kernel = compiled(case, target, morello.Memo(), definitions or machines())
        return checked(kernel, case, seed, sanitize=sanitize)
    except morello.MorelloError as error:
        return _told(error)
    except Exception as error:  # whatever it is, it is no diagnostic
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{frame.filename.rpartition('morello/')[2]}:{frame.lineno}"
        return Outcome("crash", f"{type(error).__name__} in {place}", traceback.format_exc())


def _told(error: morello.MorelloError) -> Outcome:
    """A diagnostic: a refusal, a budget that is too small, or something that is wrong."""
    first = str(error).partition("\n")[0]
    if "budget" in first:
        return Outcome("budget", "the budget is too small", first)
    if isinstance(error, morello.DiagnosticsError):
        return Outcome("refused", error.diagnostics[0].code, str(error))
    if isinstance(error, morello.NoImplementationError):
        operators = " ".join(re.findall(r"(\w+)\(", first))
        return Outcome("refused", f"nothing implements {operators}"[:90], str(error))
    return Outcome("fault", re.sub(r"'[^']*'|\d+", "#", first)[:90], str(error))


def checked(kernel: Any, case: Case, seed: tuple[int, ...], *, sanitize: bool = False) -> Outcome:
    """Run a kernel on all kinds of inputs."""
    shares = []
    for kind in KINDS if not sanitize else ("plain", "special"):
        given = arrays(case, kind, seed)
        if kernel.program.flushes:  # it may say NaN of infinity times one of those
            given = {name: without_subnormals(array) for name, array in given.items()}
        expected = case.values(given)
        found = (_sanitized if sanitize else _called)(kernel, given)
        for output in case.outputs:
            value, result = expected[output.name], found[output.name]
            wrong = value.wrong(result)
            if wrong.any():
                place = tuple(int(i) for i in np.argwhere(wrong)[0])
                detail = (
                    f"inputs '{kind}': {int(wrong.sum())} of {wrong.size} elements of"
                    f" '{output.name}' are wrong; at {list(place)} it is {result[place]},"
                    f" expected {value.text(place)}"
                )
                return Outcome("wrong", _rules(kernel), detail)
            shares.append(float(value.decided().mean()))
    return Outcome("right", decided=float(np.mean(shares)))


def _rules(kernel: Any) -> str:
    """The rules of a plan that reuse memory or fuse: what wrong programs have in common."""
    names = set(re.findall(r"[a-z]+(?:_[a-z]+)+", kernel.plan.render()))
    telling = sorted(n for n in names if re.search(r"at_output|in_place|online|beside|fuse", n))
    return " ".join(telling)[:90] or "other rules"


def _called(kernel: Any, given: Mapping[str, Array]) -> dict[str, Array]:
    signature = kernel.signature
    inputs = [kernel.pack(a.name, given[a.name]) for a in signature.inputs]
    before = [np.array(i) if isinstance(i, np.ndarray) else None for i in inputs]
    memory = [np.full(a.bytes, PATTERN, np.uint8) for a in signature.outputs]
    out = [view_of(a, own) for a, own in zip(signature.outputs, memory, strict=True)]
    kernel(*inputs, out=out[0] if len(out) == 1 else tuple(out))
    for array, old in zip(inputs, before, strict=True):
        if old is not None and np.asarray(array).tobytes() != old.tobytes():
            raise morello.MorelloError("the program wrote to an input")
    for argument, own in zip(signature.outputs, memory, strict=True):
        check_gaps(argument, own, PATTERN)
    return {
        a.name: kernel.unpack(a.name, array)
        for a, array in zip(signature.outputs, out, strict=True)
    }


def _sanitized(kernel: Any, given: Mapping[str, Array]) -> dict[str, Array]:
    signature = kernel.signature
    inputs = [a.pack(given[a.name]) for a in signature.inputs]
    with built_program(kernel.c_source, signature, sanitize=True) as program:
        found = program.results(*inputs)
    return {a.name: a.unpack(v) for a, v in zip(signature.outputs, found, strict=True)}
