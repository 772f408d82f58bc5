"""Loads built libraries, and calls their functions with numpy arrays."""

from __future__ import annotations

import ctypes
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from morello.errors import MorelloError, UsageError
from morello.toolchain.compilers import Compiler
from morello.toolchain.driver import repeat_name
from morello.toolchain.host import require_host
from morello.toolchain.signature import (
    ArgumentInfo,
    Array,
    Signature,
    aligned_bytes,
    allocate,
    argument_of,
    check_argument,
    check_output,
    check_overlap,
)


@dataclass(frozen=True, slots=True, eq=False)
class PackedWeight:
    """A weight as one function takes it. ``memory``: its bytes, to be left alone."""

    function: str
    argument: ArgumentInfo
    memory: Array

    def __repr__(self) -> str:
        name, layout = self.argument.name, self.argument.packed.layout
        return f"<weight '{name}' of '{self.function}', {layout}, {self.memory.size} bytes>"


Passed = Array | PackedWeight
"""What stands for an argument in a call."""

Out = Array | tuple[Array, ...] | list[Array]
"""Where results go: an array for each output, which may stand alone where there is one."""


class CompiledFunction:
    """A function of a loaded library, called with numpy arrays.

    It may be called from several threads at once: each has a workspace of its own, which it keeps
    until it ends, and the interpreter's lock is released while the function runs.
    """

    def __init__(self, library: ctypes.CDLL, signature: Signature) -> None:
        """See `load`."""
        self.signature = signature
        self._function = _without_result(library[signature.name])
        self._repeat = getattr(library, repeat_name(signature.name), None)
        self._packers = {
            a.name: _without_result(library[a.packing.function])
            for a in signature.arguments
            if a.packing is not None
        }
        self._local = threading.local()

    def __call__(self, *inputs: Passed, out: Out | None = None) -> Array | tuple[Array, ...]:
        """Compute the outputs.

        Args:
            inputs: Arrays for the inputs and weights, in order, each of exactly the dtype, shape
                and layout of the signature. For a weight, better what `pack` gave: an array is
                packed in every call.
            out: Where to write: an array, or of several outputs a tuple or list of one for each, in
                order. None allocates.

        Returns:
            The output, or a tuple of them where there are several.

        Raises:
            UsageError: An argument does not fit, with what is wrong and what to do.
        """
        outputs = self.results(*inputs, out=out)
        return outputs[0] if len(outputs) == 1 else outputs

    def results(self, *inputs: Passed, out: Out | None = None) -> tuple[Array, ...]:
        """The same with a tuple of the outputs, however many there are."""
        outputs = self._outputs(len(inputs), out)
        self._function(*self._pointers((*inputs, *outputs)), self._workspace())
        return outputs

    def pack(self, name: str, values: Array) -> Passed:
        """What to pass for an argument, for as many calls as one likes.

        Args:
            name: Name of the argument.
            values: An array of its logical shape and dtype.

        Returns:
            A weight that this function takes in a layout of its own, packed by the C code;
            otherwise an array: see `ArgumentInfo.pack`.

        Raises:
            UsageError: There is no such argument, or the array has another shape.
        """
        argument = argument_of(self.signature, name)
        passed = argument.pack(values)
        return passed if argument.passed_as_declared else self._packed(argument, passed)

    def _packed(self, argument: ArgumentInfo, passed: Array) -> PackedWeight:
        memory = aligned_bytes(argument.packed.bytes)
        self._packers[argument.name](_pointer(passed), _pointer(memory), self._workspace())
        return PackedWeight(self.signature.name, argument, memory)

    def prepare(self, arrays: Sequence[Passed]) -> Callable[[], object]:
        """A call without arguments that does no more than run the function.

        Args:
            arrays: All arguments: inputs and weights, then outputs. They are kept alive. Weights
                are packed here and now.

        Returns:
            The call. It owns one workspace: do not run it in two threads at once.

        Raises:
            UsageError: An argument does not fit.
        """
        workspace = aligned_bytes(self.signature.workspace_bytes)
        return partial(self._function, *self._pointers(arrays), _pointer(workspace))

    def prepare_repeated(self, arrays: Sequence[Passed]) -> Callable[[int], object] | None:
        """A call that runs the function a number of times in C, so that nothing else is timed.

        None where the library was built without `morello.toolchain.driver.repeat_driver`.
        Arguments and errors are those of `prepare`.
        """
        if self._repeat is None:
            return None
        pointers = self._pointers(arrays)
        table = (ctypes.c_void_p * len(pointers))(*(p.value for p in pointers))
        workspace = _pointer(aligned_bytes(self.signature.workspace_bytes))
        return _Repeated(self._repeat, table, workspace, tuple(pointers))

    def _outputs(self, inputs: int, out: Out | None) -> tuple[Array, ...]:
        expected, outputs = self.signature.inputs, self.signature.outputs
        if inputs != len(expected):
            names = ", ".join(a.name for a in expected) or "none"
            raise UsageError(
                f"'{self.signature.name}' was called with {inputs} arrays; "
                f"expected {len(expected)}: {names}",
                help="outputs are passed as out=...",
            )
        if out is None:
            return tuple(allocate(a) for a in outputs)
        given = tuple(out) if isinstance(out, tuple | list) else (out,)
        if len(given) != len(outputs):
            names = ", ".join(a.name for a in outputs)
            found = "one array"
            if isinstance(out, tuple | list):
                found = f"{len(given)} array{'' if len(given) == 1 else 's'}"
            raise UsageError(
                f"'{self.signature.name}' was given {found} as out; "
                f"expected {len(outputs)}: {names}",
                help=f"pass out={names if len(outputs) == 1 else f'({names})'}",
            )
        return given

    def _pointers(self, arrays: Sequence[Passed]) -> list[ctypes.c_void_p]:
        """Addresses of all arguments; each keeps its array alive."""
        arguments = self.signature.arguments
        if len(arrays) != len(arguments):
            raise UsageError(
                f"'{self.signature.name}' was given {len(arrays)} arrays; "
                f"expected {len(arguments)}: " + ", ".join(a.name for a in arguments)
            )
        memory = [self._memory(a, passed) for a, passed in zip(arguments, arrays, strict=True)]
        check_overlap(self.signature, memory)
        return [_pointer(array) for array in memory]

    def _memory(self, argument: ArgumentInfo, passed: Passed) -> Array:
        """What the function reads or writes of what is passed for an argument."""
        if isinstance(passed, PackedWeight):
            return self._own(argument, passed).memory
        if argument.role == "output":
            return check_output(argument, passed)
        array = check_argument(argument, passed)
        return array if argument.passed_as_declared else self._packed(argument, array).memory

    def _own(self, argument: ArgumentInfo, passed: PackedWeight) -> PackedWeight:
        if (passed.function, passed.argument) == (self.signature.name, argument):
            return passed
        raise UsageError(
            f"'{argument.name}' of '{self.signature.name}' is {passed!r}",
            help=f"pass what this kernel's pack('{argument.name}', ...) gives",
        )

    def _workspace(self) -> ctypes.c_void_p:
        """This thread's workspace."""
        if not hasattr(self._local, "workspace"):
            self._local.workspace = _pointer(aligned_bytes(self.signature.workspace_bytes))
        workspace: ctypes.c_void_p = self._local.workspace
        return workspace


@dataclass(frozen=True, slots=True)
class _Repeated:
    """The C driver with its arguments; ``kept`` keeps their arrays alive."""

    driver: Callable[..., Any]
    table: ctypes.Array[ctypes.c_void_p]
    workspace: ctypes.c_void_p
    kept: tuple[ctypes.c_void_p, ...]

    def __call__(self, count: int) -> object:
        return self.driver(ctypes.c_int64(count), self.table, self.workspace)


def _without_result(function: Any) -> Callable[..., Any]:
    """A C function that returns nothing."""
    function.restype = None
    called: Callable[..., Any] = function
    return called


def _pointer(array: Array) -> ctypes.c_void_p:
    """The array's address; it keeps the array alive."""
    return array.ctypes.data_as(ctypes.c_void_p)


def load(
    library: Path,
    signature: Signature,
    *,
    flags: Sequence[str] = (),
    compiler: Compiler | None = None,
) -> CompiledFunction:
    """Load a library and take one function from it.

    A private copy is loaded, so that the file may be replaced and loaded again, by this process
    too; a loaded library stays until the process ends.

    Args:
        library: A shared library.
        signature: The function.
        flags: Those that it was built with: this machine must be able to run it.
        compiler: Whom to ask about flags that the operating system does not list.

    Raises:
        MorelloError: The library cannot be loaded, lacks the function, or needs instructions that
            this machine lacks.
    """
    require_host(flags, f"'{signature.name}'", compiler)
    try:
        with tempfile.TemporaryDirectory(prefix="morello-") as directory:
            copy = Path(shutil.copy(library, Path(directory, "library.so")))
            loaded = ctypes.CDLL(str(copy), mode=ctypes.RTLD_LOCAL)
    except OSError as error:
        raise MorelloError(
            f"cannot load '{library}': {error.strerror or error}", help="build it again"
        ) from error
    try:
        return CompiledFunction(loaded, signature)
    except AttributeError:
        raise MorelloError(
            f"'{library}' has no function '{signature.name}'", help="build it again"
        ) from None
