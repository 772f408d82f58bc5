"""Whole compiled programs against the reference, on random and on nasty inputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from morello.reference.compare import check_close, reference
from morello.reference.inputs import KINDS, make_all
from morello.spec.goal import Goal
from morello.toolchain.library import CompiledFunction
from morello.toolchain.signature import Signature

SEED = 0


@dataclass(frozen=True, slots=True)
class VerificationReport:
    """What was tried: kinds of inputs, and the number of elements that were compared."""

    kinds: tuple[str, ...]
    elements: int


def verify_function(
    goal: Goal, signature: Signature, function: CompiledFunction, *, flushes: bool = False
) -> VerificationReport:
    """Run a function on every kind of input that the reference knows and compare.

    ``flushes``: one of its kernels says that it flushes subnormal numbers.

    Raises:
        MismatchError: A result is wrong; kind of input, element and both values are named.
    """
    elements = 0
    for kind in KINDS:
        values = make_all(kind, [(a.shape, a.dtype) for a in signature.inputs], SEED)
        given = dict(zip((a.name for a in signature.inputs), values, strict=True))
        operands = [given[t.name] for t in goal.operands[:-1]]
        dtype = goal.operands[-1].dtype
        expected = reference(goal.operation, goal.sizes, operands, dtype, flushes=flushes)
        passed = [a.pack(v) for a, v in zip(signature.inputs, values, strict=True)]
        [output] = signature.outputs  # a spec has one
        actual = output.unpack(np.asarray(function(*passed)))
        check_close(actual, expected, name=f"{goal.operands[-1].name} ({kind} inputs)")
        elements += actual.size
    return VerificationReport(tuple(KINDS), elements)
