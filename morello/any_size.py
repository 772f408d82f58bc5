"""One function for any size that a call brings, from programs for a few sizes.

    layer = morello.compile_any_size("layer.mspec", target=NAME)  # spec layer(M <= 512, ...)
    y = layer(x, w)                                               # x has 1 to 512 rows

Rows are computed apart from each other (`morello.checking.run_time`), so that a few programs are
one: it takes blocks of rows, the largest first. Their costs say for which sizes it has some
(`morello.codegen.blocks`). Weights are packed once, for all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from morello.arguments import as_source, check_kinds, check_name, goal_of
from morello.codegen.blocks import candidates, chosen_sizes, loss
from morello.codegen.generate import Writer
from morello.compiler import search_statistics, solved_computations
from morello.definitions import Definitions, load_definitions
from morello.errors import UsageError
from morello.ir.goal import Goal, GoalTensor
from morello.ir.programs.emitted import CSource, EmitOptions, SizingEmitter
from morello.ir.programs.tree import Program
from morello.kernel import Kernel
from morello.language.parse import parse_spec
from morello.memo.memo import process_memo
from morello.records import replace
from morello.runtime.compiled import CompiledSpec
from morello.runtime.signature import Signature, in_order, signature_of
from morello.search.planning.budget import Budget
from morello.search.search import UNLIMITED, Progress

if TYPE_CHECKING:
    from morello.building.spec import SpecBuilder
    from morello.language.source import Source
    from morello.memo.memo import Memo
    from morello.runtime.library import BoundCall, CompiledFunction, Out, Passed
    from morello.toolchain.machine import Machine
    from morello.verify.program import VerificationReport


class AtSize(CompiledSpec):
    """A function for any size, as it is called for one: bound, timed and verified as a kernel is.

    Attributes:
        verification: What the last `verify` found, if it was called.
    """

    def __init__(self, whole: AnySizeKernel, goal: Goal, signature: Signature) -> None:
        """``signature``: that of the whole function at this size."""
        super().__init__(goal, whole.program, whole.c_source, whole.machine)
        self.signature = signature
        self.verification: VerificationReport | None = None
        self._whole = whole

    @property
    def function(self) -> CompiledFunction:
        """The function, built and loaded once for all sizes: see `CompiledSpec.function`."""
        if self._function is None:
            self._function = self._whole.function.at(self.signature)
        return self._function

    def verify(self) -> VerificationReport:
        """Run it and compare with the reference: see `Kernel.verify`."""
        from morello.verify.program import verify_function  # noqa: PLC0415

        with self.executable() as function:
            self.verification = verify_function(
                self.goal, self.signature, function, flushes=self._first.flushes
            )
        return self.verification

    def __repr__(self) -> str:
        """The function with its arguments."""
        return f"<kernel {self._declaration}>"


class AnySizeKernel(CompiledSpec):
    """A spec compiled for any size of one dimension: C source, and, once called, a function.

    What does not depend on the size is as of other kernels; what does is that of the limit.

    Attributes:
        goal: What was asked for, at the limit of the size.
        size: What the size is called, its limit, and which dimension of each argument it is.
        program: One for the limit, which packs the weights.
        kernels: Those for blocks of rows, by how many, the largest first. They take weights as they
            are packed for all.
        loss: How much more than with programs for many more sizes it is predicted to cost, in the
            mean of all sizes: a share.
        verification: What the last `verify` found, by size.
    """

    def __init__(
        self,
        goal_at: Callable[[int], Goal],
        goal: Goal,
        program: Program,
        kernels: Mapping[int, Kernel],
        lost: float,
        source: CSource,
        asked: Machine | None,
    ) -> None:
        """Made by `compile_any_size`; ``goal_at`` gives what was asked for at a size."""
        super().__init__(goal, program, source, asked)
        assert goal.at_run_time is not None
        self.size, self.program = goal.at_run_time, program
        self.kernels, self.loss = kernels, lost
        self.verification: Mapping[int, VerificationReport] = {}
        self._goal_at = goal_at
        self._axes = {row.name: row.axis for row in self.size.rows}
        self._made: dict[int, AtSize] = {}
        self.signature = signature_of(program, source).at(self.size.limit, self._axes)

    def at(self, size: int) -> AtSize:
        """What is called for one size: it is bound, timed and verified as a kernel is.

        Raises:
            UsageError: The size is not from 1 to the limit.
        """
        found = self._made.get(size)
        if found is not None:
            return found
        if not isinstance(size, int) or not 1 <= size <= self.size.limit:
            raise UsageError(
                f"{self.size.name} is {size!r} in a call of '{self.name}'",
                help=f"it is from 1 to {self.size.limit}: {self.size.name} <= {self.size.limit}",
            )
        found = AtSize(self, self._goal_at(size), self.signature.at(size, self._axes))
        return self._made.setdefault(size, found)

    def __call__(self, /, *inputs: Passed, out: Out | None = None, **named: Passed) -> Any:
        """Compute the outputs from numpy arrays; the first one that has the size tells it.

        Arguments and errors are those of `CompiledSpec.__call__`.
        """
        if named:
            inputs = in_order(self.signature, inputs, named)
        return self._told_by(inputs)(*inputs, out=out)

    def bind(self, /, *inputs: Passed, out: Out | None = None, **named: Passed) -> BoundCall:
        """A call with these arguments, for many: see `CompiledSpec.bind`."""
        if named:
            inputs = in_order(self.signature, inputs, named)
        return self._told_by(inputs).bind(*inputs, out=out)

    def verify(self) -> Mapping[int, VerificationReport]:
        """Run it for sizes around those of its blocks, and compare with the reference.

        What is found is kept in ``verification``.

        Raises:
            MismatchError: A result is wrong; the worst element is named.
            MorelloError: An element is not written, or there is no C compiler, it fails, or this
                machine lacks instructions.
        """
        self.verification = {size: self.at(size).verify() for size in self._to_verify()}
        return self.verification

    def _to_verify(self) -> list[int]:
        """Sizes of which every block runs: alone, after another one, and before a rest."""
        around = {n + more for n in self.kernels for more in (-1, 0, 1)}
        sizes = {1, 2, 3, sum(self.kernels), self.size.limit, *around}
        return sorted(n for n in sizes if 1 <= n <= self.size.limit)

    def _told_by(self, inputs: Sequence[Passed]) -> AtSize:
        """What is called for the size of the first of these arrays that has it."""
        for argument, array in zip(self.signature.inputs, inputs, strict=False):
            axis, shape = self._axes.get(argument.name), getattr(array, "shape", ())
            if axis is not None and len(shape) == len(argument.shape):
                return self.at(int(shape[axis]))
        return self.at(self.size.limit)  # its checks say what is wrong

    def __repr__(self) -> str:
        """The function, and what it is made of."""
        sizes = ", ".join(map(str, self.kernels))
        return f"<kernel {self.name} for any {self.size.name}, in blocks of {sizes}>"


def compile_any_size(
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
    machine: Machine | None = None,
    name: str | None = None,
) -> AnySizeKernel:
    """Compile a spec with a size that calls bring, such as ``M <= 512``, to one function for all.

    Programs are searched for blocks of 1 to 8 rows, and of some larger numbers. The few of them
    that together lose least, over all sizes up to the limit, are the function's.

    Args:
        source: As for `compile_spec`.
        spec: As there.
        defines: As there, of the other parameters.
        target: As there.
        definitions: As there.
        progress: As there, of one search after the other.
        annotate: As there.
        memo: As there.
        budget: As there, of each search.
        workers: As there.
        machine: As there.
        name: As there.

    Raises:
        UsageError: As `compile_spec`; or no size is brought by calls, or the target's emitter
            writes no such function.
        MorelloError: As `compile_spec`.
    """
    check_kinds(
        spec=spec,
        defines=defines,
        target=target,
        definitions=definitions,
        progress=progress,
        memo=memo,
        budget=budget,
        workers=workers,
        name=name,
    )
    definitions = definitions or load_definitions()
    text = as_source(source)
    whole, chosen = goal_of(text, spec, defines or {}, target, definitions)
    size = whole.at_run_time
    if size is None:
        raise UsageError(
            f"calls of '{whole.name}' bring no size",
            help=f"declare one, as in: spec {whole.name}(M <= 512); or use morello.compile",
        )
    emitter = definitions.emitters[chosen.emitter]
    if not isinstance(emitter, SizingEmitter):
        raise UsageError(
            f"nothing writes a function for any size for {chosen.name}",
            help=f"fix it: -D {size.name}={size.limit}",
        )
    options = EmitOptions(annotate)
    solve = partial(
        solved_computations,
        definitions,
        target=chosen,
        memo=memo if memo is not None else process_memo(),
        budget=Budget.parse(budget) if isinstance(budget, str) else budget or UNLIMITED,
        progress=progress,
        tables=False,
        workers=workers,
    )

    def goal_at(number: int) -> Goal:
        given = {**(defines or {}), size.name: number}
        goal, _ = goal_of(text, spec, given, target, definitions)
        return goal if name is None else replace(goal, name=name)

    def kernel(goal: Goal) -> Kernel:
        started = time.perf_counter()
        solved = solve(goal=goal)
        program, plan, written = Writer(goal, chosen, emitter, options).best(solved)
        statistics = search_statistics(solved, time.perf_counter() - started)
        return Kernel(goal, program, plan, written, statistics, machine)

    limit = whole if name is None else replace(whole, name=name)
    first = kernel(replace(limit, at_run_time=None))
    packed = _as_packed(first.program)
    if packed is None:  # then all take weights as they are declared
        packed = {t.name: replace(t, role="input") for t in limit.tensors if t.role == "weight"}
        first = kernel(_with_tensors(limit, packed))
    kernels = {
        number: kernel(_with_tensors(goal_at(number), packed)) for number in candidates(size.limit)
    }
    costs = {number: own.cost for number, own in kernels.items()}
    sizes = chosen_sizes(costs, size.limit)
    rows = [(number, kernels[number].program) for number in sizes]
    emitted = emitter.emit_sizes(rows, first.program, size, options)
    check_name(name, emitted.name)
    return AnySizeKernel(
        goal_at,
        limit,
        first.program,
        {number: kernels[number] for number in sizes},
        loss(sizes, costs, size.limit),
        emitted,
        machine,
    )


def brings_size(source: Source, spec: str | None, defines: Mapping[str, int]) -> bool:
    """Whether a file's spec, or its only one, leaves a size to the calls."""
    return any(
        parameter.limit is not None and parameter.name not in defines
        for declared in parse_spec(source).specs
        if spec in (None, declared.name)
        for parameter in declared.parameters
    )


def _as_packed(program: Program) -> dict[str, GoalTensor] | None:
    """Weights as inputs that lie as they are packed, by name; none if one becomes something else.

    Such as numbers of another type, which no input of the same computation is.
    """
    packed = {packing.weight.name: packing.packed for packing in program.packings}
    found = {}
    for weight in (t for t in program.arguments if t.role == "weight"):
        own = packed.get(weight.name, weight)
        if (own.dtype, own.shape) != (weight.dtype, weight.shape):
            return None
        found[weight.name] = GoalTensor(weight.name, "input", own.dtype, own.shape, own.layout)
    return found


def _with_tensors(goal: Goal, others: Mapping[str, GoalTensor]) -> Goal:
    """The goal on other tensors of these names."""

    def other(tensor: GoalTensor) -> GoalTensor:
        whole = None if tensor.whole is None else other(tensor.whole)
        return others.get(tensor.name) or replace(tensor, whole=whole)

    computations = (replace(c, operands=tuple(map(other, c.operands))) for c in goal.computations)
    return replace(
        goal,
        computations=tuple(computations),
        tensors=tuple(map(other, goal.tensors)),
        lookups=tuple(replace(x, table=other(x.table)) for x in goal.lookups),
        at_run_time=None,
    )
