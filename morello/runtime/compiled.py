"""A function that was compiled from a spec, for one target or several: called, bound, timed.

What builds and runs it (compiler drivers, the reference) is imported when it is run: to compile
takes less time than that.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from morello.errors import UsageError
from morello.ir.goal import Goal
from morello.ir.numeric import Array
from morello.ir.programs.emitted import CSource
from morello.ir.programs.tree import Program
from morello.runtime.signature import AnyArray, Signature, argument_of, in_order, signature_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from morello.runtime.execution import Executable
    from morello.runtime.library import BoundCall, CompiledFunction, Out, Passed
    from morello.runtime.timing import Timing
    from morello.toolchain.machine import Machine


class CompiledSpec:
    """C source, and, once called, a loaded function.

    The C compiler runs at the first call that needs it. It may be used from several threads at
    once: every call has a workspace of its own, and the interpreter's lock is released while it
    runs. What threads may not share is an array that one of them writes.

    Attributes:
        goal: What was asked for: tensors with all sizes known.
    """

    def __init__(
        self, goal: Goal, program: Program, source: CSource, asked: Machine | None
    ) -> None:
        """``program``: that of the target that the machine must be for; ``asked``: a machine."""
        self.goal = goal
        self._first = program
        self._source = source
        self._asked = asked
        self._building = threading.Lock()
        self._function: CompiledFunction | None = None

    @property
    def name(self) -> str:
        """Name of the C function."""
        return self._source.name

    @property
    def source(self) -> str:
        """The C file."""
        return self._source.source

    @property
    def header(self) -> str:
        """The header that declares the functions."""
        return self._source.header

    @property
    def c_source(self) -> CSource:
        """Source and header with the flags that they need."""
        return self._source

    @cached_property
    def signature(self) -> Signature:
        """Arguments of the C function, with shapes, dtypes and layouts."""
        return signature_of(self._first, self._source)

    @cached_property
    def machine(self) -> Machine:
        """Where it is built and run: see `morello.runtime.machines.machine_for`."""
        from morello.runtime.machines import machine_for  # noqa: PLC0415

        return machine_for(self._first.target, self._asked)

    @property
    def function(self) -> CompiledFunction:
        """The function, built and loaded by the first thread that asks; others wait for it.

        Raises:
            MorelloError: There is no C compiler, it fails, or this machine lacks instructions.
            UsageError: It runs under a runner, and not in this process.
        """
        with self._building:
            if self._function is None:
                from morello.runtime.execution import build_function  # noqa: PLC0415

                self._function = build_function(self._source, self.signature, self.machine)
            return self._function

    @contextmanager
    def executable(self) -> Iterator[Executable]:
        """What runs it: the function, or under a runner a program, until the block ends.

        Raises:
            MorelloError: As `function`.
        """
        if self.machine.is_here:
            yield self.function
            return
        from morello.runtime.program import built_program  # noqa: PLC0415

        with built_program(self._source, self.signature, machine=self.machine) as program:
            yield program

    def __call__(self, /, *inputs: Passed, out: Out | None = None, **named: Passed) -> Any:
        """Compute the outputs from numpy arrays.

        Args:
            inputs: Inputs and weights in the order of the spec, of exactly its dtypes, shapes and
                layouts, or what `pack` gave. A weight that is an array is packed in every call.
            out: Where to write: an array, or of several outputs a tuple or list of one for each, in
                the order of the spec; by default new arrays.
            named: The inputs and weights that are not in ``inputs``, by their names. One that is
                called ``out`` is passed by position.

        Returns:
            The output, or a tuple of them where the spec has several.

        Raises:
            UsageError: An argument does not fit, with what is wrong and what to do.
        """
        if named:
            inputs = in_order(self.signature, inputs, named)
        function = self._function or self.function  # without the lock, once it is there
        return function(*inputs, out=out)

    def bind(self, /, *inputs: Passed, out: Out | None = None, **named: Passed) -> BoundCall:
        """A call with these arguments, for many: it does no more than run the function.

        Arguments and errors are those of a call. That looks at its arrays each time, this once.
        Without ``out`` it has arrays of its own for the outputs, and writes them in every call.
        """
        if named:
            inputs = in_order(self.signature, inputs, named)
        return self.function.bind(*inputs, out=out)

    def pack(self, name: str, values: AnyArray) -> Passed:
        """What to pass for an argument, once for as many calls as one likes.

        A weight is packed by the kernel's C code as the kernel wants it. Of any other argument it
        is a copy, aligned and in the spec's layout; only for a layout with panels has that another
        shape: see `morello.runtime.signature.ArgumentInfo.passed_shape`.

        Raises:
            UsageError: There is no such argument, or the array has another shape or dtype.
            MorelloError: Where C code packs: as `function`.
        """
        argument = argument_of(self.signature, name)
        if argument.passed_as_declared:
            return argument.pack(values)
        return self.function.pack(name, values)

    def unpack(self, name: str, passed: Array) -> Array:
        """What was passed for an argument, with the shape that the spec gives it.

        Raises:
            UsageError: There is no such argument, or the array cannot be passed for it.
        """
        return argument_of(self.signature, name).unpack(passed)

    def time(self, *, repeats: int = 21, warmup: int = 2, min_seconds: float = 0.002) -> Timing:
        """Measure how many seconds a call takes, on random inputs, weights packed before.

        Args:
            repeats: Batches of calls that count.
            warmup: Batches before those.
            min_seconds: How long a batch takes at least; that makes its number of calls.

        Raises:
            UsageError: ``repeats`` is below 1, ``warmup`` below 0, or ``min_seconds`` not between 0
                and 3,600; or one is no number.
            MorelloError: As `function`; or it runs under a runner whose times do not count.
        """
        from morello.runtime.timing import time_functions  # noqa: PLC0415

        self.machine.require_timing(f"'{self.name}'")
        with self.executable() as function:
            return time_functions(
                {self.name: function},
                self.random_arguments(),
                repeats=repeats,
                warmup=warmup,
                min_seconds=min_seconds,
            )[self.name]

    def random_arguments(self) -> list[Array]:
        """Arrays for all arguments of the function: random inputs, and outputs."""
        from morello.runtime.execution import random_arguments  # noqa: PLC0415

        return random_arguments(self.signature)

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied: a loaded function belongs to its process."""
        raise UsageError(
            "a kernel cannot be pickled or copied",
            help="compile it in each process: what was solved is in the memo",
        )

    @property
    def _declaration(self) -> str:
        inputs = ", ".join(map(str, self.signature.inputs))
        return f"{self.name}({inputs}) -> {', '.join(map(str, self.signature.outputs))}"
