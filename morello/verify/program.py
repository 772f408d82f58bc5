"""Whole compiled programs against the reference, on random and on nasty inputs."""

from __future__ import annotations

from dataclasses import dataclass

from morello.reference.compare import check_close
from morello.reference.goals import goal_reference
from morello.reference.inputs import KINDS, make_all
from morello.spec.goal import Goal
from morello.toolchain.library import CompiledFunction
from morello.toolchain.signature import Signature

SEED = 0


@dataclass(frozen=True, slots=True)
class VerificationReport:
    """What was tried: kinds of inputs, and the number of elements of outputs that were compared."""

    kinds: tuple[str, ...]
    elements: int


def verify_function(
    goal: Goal, signature: Signature, function: CompiledFunction, *, flushes: bool = False
) -> VerificationReport:
    """Run a function on every kind of input that the reference knows and compare.

    ``flushes``: one of its kernels says that it flushes subnormal numbers.

    Raises:
        MismatchError: A result is wrong; output, kind of input, element and both values are named.
    """
    elements = 0
    for kind in KINDS:
        values = make_all(kind, [(a.shape, a.dtype) for a in signature.inputs], SEED)
        given = dict(zip((a.name for a in signature.inputs), values, strict=True))
        expected = goal_reference(goal, given, flushes=flushes)
        passed = [a.pack(v) for a, v in zip(signature.inputs, values, strict=True)]
        results = function.results(*passed)
        for output, result, right in zip(signature.outputs, results, expected, strict=True):
            actual = output.unpack(result)
            check_close(actual, right, name=f"{output.name} ({kind} inputs)")
            elements += actual.size
    return VerificationReport(tuple(KINDS), elements)
