"""Whole compiled programs against the reference, on random and on nasty inputs.

Of a large program a sample is compared (`morello.verify.sample`). What is not, is at least written,
and does not depend on what was in memory before: the function runs twice on the same inputs, with
outputs that hold different bytes before, and the results must be the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import numpy as np
from msgspec import Struct

from morello.errors import MorelloError
from morello.ir.goal import Goal
from morello.ir.numeric import Array
from morello.ir.programs.tree import Loop, Node, ParallelLoop, walk
from morello.reference.bounded import Bounded
from morello.reference.compare import check_close
from morello.reference.goals import goal_reference
from morello.reference.inputs import KINDS, make_all
from morello.reference.partial import Selection, taken, whole
from morello.reference.steps import Steps
from morello.runtime.execution import Executable
from morello.runtime.library import Passed
from morello.runtime.signature import Signature, aligned_bytes, check_gaps, view_of
from morello.verify.sample import Sample, sample_of

SEED = 0

FILLINGS = (0xA5, 0x5A)
"""Bytes of the outputs before a run."""


class VerificationReport(Struct, frozen=True):
    """What was tried.

    Attributes:
        kinds: Kinds of inputs.
        elements: How many elements of outputs were compared with the reference, over all kinds.
        total: How many there are.
    """

    kinds: tuple[str, ...]
    elements: int
    total: int

    @property
    def sampled(self) -> bool:
        """Whether some elements were not compared. They were written, the same in two runs."""
        return self.elements < self.total

    def __str__(self) -> str:
        """What was found, after "verified: "."""
        kinds = f"{len(self.kinds)} kinds of inputs"
        each, every = (n // len(self.kinds) for n in (self.elements, self.total))
        if not self.sampled:
            return f"equal to the reference: all {every:,} elements, {kinds}"
        return (
            f"{each:,} of {every:,} elements (a sample) equal to the reference, {kinds}; "
            "the others were written, the same in two runs, and not compared"
        )


def verify_function(
    goal: Goal,
    signature: Signature,
    function: Executable,
    *,
    body: Node | None = None,
    flushes: bool = False,
) -> VerificationReport:
    """Run a function on every kind of input that the reference knows and compare.

    Args:
        goal: What it should compute.
        signature: Its arguments.
        function: The function, or a program that runs it.
        body: Its program: a sample of a large output has elements where loops of it end.
        flushes: One of its kernels says that it flushes subnormal numbers.

    Raises:
        MismatchError: A result is wrong; output, kind of input, element and both values are named.
        MorelloError: An element is not written, or not the same whenever the function runs.
    """
    steps = Steps.of(goal)
    names = [output.name for output in signature.outputs]
    sample = sample_of(steps, names, _boundaries(body))
    elements = 0
    for number, kind in enumerate(KINDS):
        values = make_all(kind, [(a.shape, a.dtype) for a in signature.inputs], SEED)
        given = dict(zip((a.name for a in signature.inputs), values, strict=True))
        passed = [a.pack(v) for a, v in zip(signature.inputs, values, strict=True)]
        results = _run(signature, function, passed, twice=number == 0)
        for name, selection, right in _expected(goal, sample, given, flushes=flushes):
            actual = np.asarray(taken(results[name], selection))
            check_close(actual, right, name=f"{name} ({kind} inputs)", selection=selection)
            elements += actual.size
    total = sum(prod(output.shape) for output in signature.outputs) * len(KINDS)
    return VerificationReport(tuple(KINDS), min(elements, total), total)


def _run(
    signature: Signature, function: Executable, passed: Sequence[Passed], *, twice: bool
) -> dict[str, Array]:
    """All outputs by name; the same in two runs, or else one is enough."""
    runs = []
    for filling in FILLINGS if twice else FILLINGS[:1]:
        memory = [aligned_bytes(output.bytes) for output in signature.outputs]
        for each in memory:
            each[...] = filling
        views = map(view_of, signature.outputs, memory)
        results = function.results(*passed, out=tuple(views))
        runs.append([o.unpack(r) for o, r in zip(signature.outputs, results, strict=True)])
        for output, each in zip(signature.outputs, memory, strict=True):
            check_gaps(output, each, filling)
    for argument, first, last in zip(signature.outputs, runs[0], runs[-1], strict=True):
        differ = first.view(_unsigned(first)) != last.view(_unsigned(last))
        if twice and differ.any():
            index = [int(i) for i in np.unravel_index(np.argmax(differ), differ.shape)]
            count = f"{np.count_nonzero(differ)} of {differ.size} elements"
            raise MorelloError(
                f"{argument.name}{index} is not the same in two runs, or not written ({count})"
            )
    return {o.name: result for o, result in zip(signature.outputs, runs[0], strict=True)}


def _expected(
    goal: Goal, sample: Sample, given: Mapping[str, Array], *, flushes: bool
) -> Iterator[tuple[str, Selection, Bounded]]:
    """What outputs should be, with the elements of each that this is about."""
    if not sample.goals:
        for output, right in zip(
            goal.outputs, goal_reference(goal, given, flushes=flushes), strict=True
        ):
            yield output.name, whole(output.shape), right
    for part in sample.goals:
        found = part.run(given, flushes=flushes)
        for name in part.wanted:
            yield name, part.needed[name], found[name]


def _boundaries(body: Node | None) -> list[int]:
    """Where loops end: there the last full tiles do, and remainders begin."""
    if body is None:
        return []
    loops = (n for n in walk(body) if isinstance(n, Loop | ParallelLoop))
    return sorted({end for n in loops for end in (n.step, n.count * n.step)})


def _unsigned(array: Array) -> np.dtype[np.unsignedinteger]:
    """What compares elements bit by bit."""
    return np.dtype(f"u{array.dtype.itemsize}")
