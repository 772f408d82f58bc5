"""One instance of a kernel with its inputs, and the comparison of what came back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from morello.errors import MorelloError
from morello.ir.arrays import from_memory, to_memory
from morello.ir.numeric import Array
from morello.ir.programs.emitted import CSource
from morello.ir.programs.tree import Tensor, View
from morello.reference.compare import check_close, reference
from morello.reference.inputs import KINDS, for_operation
from morello.reference.interpreter import poisoned
from morello.reference.views import part
from morello.verify.families import region
from morello.verify.kernel_programs import KernelProgram
from morello.verify.sandbox import Case, Outcome


@dataclass(frozen=True)
class Trial:
    """A kernel's program, as C, on every kind of inputs. ``seed`` is that of the random numbers."""

    made: KernelProgram
    source: CSource
    seed: int

    @property
    def case(self) -> Case:
        """What is to be run."""
        tensors = self.made.program.arguments
        sizes = tuple(t.layout.elements(t.shape) * t.dtype.bytes for t in tensors)
        runs = [
            tuple(to_memory(t.layout, a).tobytes() for t, a in zip(tensors, arrays, strict=True))
            for arrays in self._arguments
        ]
        return Case(self.source, sizes, tuple(runs))

    def check(self, outcome: Outcome) -> int:
        """Compare every run with the reference.

        Returns:
            The number of elements that were compared.

        Raises:
            MorelloError: What is wrong.
        """
        if isinstance(outcome, str):
            raise MorelloError(outcome)
        elements = 0
        for kind, before, results in zip(KINDS, self._arguments, outcome, strict=True):
            tensors = self.made.program.arguments
            after = [_unpacked(t, r) for t, r in zip(tensors, results, strict=True)]
            elements += self._check_run(kind, before, after)
        return elements

    def _check_run(self, kind: str, before: Sequence[Array], after: Sequence[Array]) -> int:
        instance, views = self.made.instance, self.made.views
        operation = instance.family.operation
        count = len(views)
        if self.made.kept is not None:
            self._check_kept(kind, self.made.kept, before[-1], after)
        before, after = before[:count], after[:count]
        *inputs, old = (part(a, region(v)) for a, v in zip(before, views, strict=True))
        expected = reference(
            operation,
            instance.sizes,
            inputs,
            instance.family.operands[-1].dtype,
            old if operation.accumulating else None,
            flushes=instance.match.kernel.clauses.flushes,
        )
        output = part(after[-1], region(views[-1]))
        check_close(output, expected, name=f"{operation.names[-1]} ({kind} inputs)")
        for name, old_array, new_array in zip(operation.names, before, after, strict=True):
            untouched = old_array.copy()
            if new_array is after[-1]:
                part(untouched, region(views[-1]))[...] = output
            if untouched.tobytes() != new_array.tobytes():
                where = "what lies around " if new_array is after[-1] else ""
                raise MorelloError(f"it changes {where}its operand '{name}' ({kind} inputs)")
        return output.size

    def _check_kept(self, kind: str, kept: View, old: Array, after: Sequence[Array]) -> None:
        """What is kept must be the operand, and what lies around it what it was."""
        instance = self.made.instance
        name = instance.match.kernel.clauses.copied or ""
        position = instance.family.operation.names.index(name)
        wanted = old.copy()
        own = region(self.made.views[position])
        part(wanted, region(kept))[...] = part(after[position], own)
        if wanted.tobytes() != after[-1].tobytes():
            raise MorelloError(f"it does not keep its operand '{name}' ({kind} inputs)")

    @cached_property
    def _arguments(self) -> list[list[Array]]:
        """For each kind of inputs the arrays of all arguments: poison where no operand is."""
        return [self._filled(kind) for kind in KINDS]

    def _filled(self, kind: str) -> list[Array]:
        instance = self.made.instance
        dtypes = [operand.dtype for operand in instance.family.operands]
        operation = instance.family.operation
        values = for_operation(kind, operation, instance.sizes, dtypes, self.seed)
        arrays = [poisoned(t.shape, t.dtype) for t in self.made.program.arguments]
        for array, view, value in zip(arrays, self.made.views, values, strict=False):
            part(array, region(view))[...] = value
        return arrays


def _unpacked(tensor: Tensor, memory: bytes) -> Array:
    return from_memory(tensor.layout, tensor.shape, np.frombuffer(memory, tensor.dtype.numpy))
