"""Loads built libraries, and calls their functions with numpy arrays."""

from __future__ import annotations

import ctypes
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from morello.errors import MorelloError, UsageError
from morello.ir.numeric import Array
from morello.runtime.driver import repeat_name
from morello.runtime.passing import PackedWeight, Passing
from morello.runtime.signature import (
    AnyArray,
    ArgumentInfo,
    Signature,
    aligned_bytes,
    allocate,
    argument_of,
    check_argument,
    check_output,
    check_overlap,
)
from morello.toolchain.addresses import address_of
from morello.toolchain.machine import NAME_A_RUNNER, Machine

Passed = AnyArray | PackedWeight
"""What stands for an argument in a call."""

Out = AnyArray | Sequence[AnyArray]
"""Where results go: an array for each output, which may stand alone where there is one."""


class BoundCall:
    """A call with its arguments: it does no more than run the function.

    What was passed is looked at once, and kept alive. It owns a workspace: it must not run in two
    threads at once.

    Attributes:
        out: The arrays that it writes, as a call returns them.
    """

    __slots__ = ("_addresses", "_function", "_kept", "out")

    def __init__(self, function: Callable[..., object], kept: Sequence[Array], out: Any) -> None:
        """``kept``: what the function takes the addresses of."""
        self._function = function
        self._kept = kept
        self._addresses = tuple(map(address_of, kept))
        self.out = out

    def __call__(self) -> Any:
        """Compute the outputs from what the inputs hold now."""
        self._function(*self._addresses)
        return self.out


class CompiledFunction:
    """A function of a loaded library, called with numpy arrays.

    It may be called from several threads at once: each has a workspace of its own, which it keeps
    until it ends, and the interpreter's lock is released while the function runs.
    """

    def __init__(self, library: ctypes.CDLL, signature: Signature) -> None:
        """See `load`."""
        self.signature = signature
        self._library = library
        self._function = _without_result(
            library[signature.name], len(signature.arguments) + 1, signature.size
        )
        self._repeat = getattr(library, repeat_name(signature.name), None)
        self._packers = {
            a.name: _without_result(library[a.packing.function], 3)
            for a in signature.arguments
            if a.packing is not None
        }
        self._target = getattr(library, f"{signature.name}_target", None)
        self._local = threading.local()
        self._passing = Passing(signature)
        self._inputs, self._outputs = signature.inputs, signature.outputs

    def at(self, signature: Signature) -> CompiledFunction:
        """The function for another size that calls bring, with the same workspaces."""
        found = CompiledFunction(self._library, signature)
        found._local = self._local
        return found

    @property
    def target(self) -> str | None:
        """Which of several targets it calls; none where it was compiled for one."""
        if self._target is None:
            return None
        self._target.restype = ctypes.c_char_p
        name: bytes = self._target()
        return name.decode()

    def __call__(self, *inputs: Passed, out: Out | None = None) -> Any:
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
        if type(out) is np.ndarray:  # how small kernels are called, and all that is needed then
            addresses = self._passing.addresses((*inputs, out))
            if addresses is not None:
                self._function(*addresses, self._workspace())
                return out
        outputs = self.results(*inputs, out=out)
        return outputs[0] if len(outputs) == 1 else outputs

    def results(self, *inputs: Passed, out: Out | None = None) -> tuple[Any, ...]:
        """The same with a tuple of the outputs, however many there are."""
        outputs = self._written(len(inputs), out)
        arrays = (*inputs, *outputs)
        addresses = self._passing.addresses(arrays)
        if addresses is None:
            memory = self._checked(arrays)  # alive until the call is done
            addresses = list(map(address_of, memory))
        self._function(*addresses, self._workspace())
        return outputs

    def bind(self, *inputs: Passed, out: Out | None = None) -> BoundCall:
        """A call with these arguments, to be made many times.

        Arguments and errors are those of a call; a weight that is an array is packed here and now.
        """
        outputs = self._written(len(inputs), out)
        memory = self._checked((*inputs, *outputs))
        kept = (*memory, aligned_bytes(self.signature.workspace_bytes))
        return BoundCall(self._function, kept, outputs[0] if len(outputs) == 1 else outputs)

    def pack(self, name: str, values: AnyArray) -> Passed:
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
        memory = aligned_bytes(argument.taken_bytes)
        memory[:] = 0  # gaps between panels are nobody's, and go to files with the rest
        pack = self._packers[argument.name]
        pack(address_of(passed), address_of(memory), self._workspace())
        return PackedWeight(self.signature.name, argument, memory)

    def prepare_repeated(self, arrays: Sequence[Passed]) -> Callable[[int], object] | None:
        """A call that runs the function a number of times in C, so that nothing else is timed.

        None where the library was built without `morello.runtime.driver.repeat_driver`.

        Args:
            arrays: All arguments: inputs and weights, then outputs. They are kept alive. Weights
                are packed here and now.

        Raises:
            UsageError: An argument does not fit.
        """
        if self._repeat is None:
            return None
        memory = self._checked(arrays)
        table = (ctypes.c_void_p * len(memory))(*map(address_of, memory))
        workspace = aligned_bytes(self.signature.workspace_bytes)
        return _Repeated(
            self._repeat, table, address_of(workspace), (*memory, workspace), self.signature.size
        )

    def _written(self, inputs: int, out: Out | None) -> tuple[AnyArray, ...]:
        expected, outputs = self._inputs, self._outputs
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

    def _checked(self, arrays: Sequence[Passed]) -> list[Array]:
        """What the function reads and writes of what is passed for all arguments."""
        arguments = self.signature.arguments
        if len(arrays) != len(arguments):
            raise UsageError(
                f"'{self.signature.name}' was given {len(arrays)} arrays; "
                f"expected {len(arguments)}: " + ", ".join(a.name for a in arguments)
            )
        memory = [self._memory(a, passed) for a, passed in zip(arguments, arrays, strict=True)]
        check_overlap(self.signature, memory)
        return memory

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

    def _workspace(self) -> int:
        """The address of this thread's workspace."""
        local = self._local
        try:
            return local.address  # type: ignore[no-any-return]
        except AttributeError:  # the first call in this thread
            local.workspace = aligned_bytes(self.signature.workspace_bytes)
            local.address = address_of(local.workspace)
            return local.address  # type: ignore[no-any-return]


class _Repeated(Struct, frozen=True):
    """The C driver with its arguments; ``kept`` keeps their arrays alive."""

    driver: Callable[..., Any]
    table: ctypes.Array[ctypes.c_void_p]
    workspace: int
    kept: Sequence[Array]
    size: int | None

    def __call__(self, count: int) -> object:
        first = () if self.size is None else (ctypes.c_size_t(self.size),)
        workspace = ctypes.c_void_p(self.workspace)
        return self.driver(ctypes.c_int64(count), self.table, workspace, *first)


def _without_result(function: Any, addresses: int, size: int | None = None) -> Callable[..., Any]:
    """A C function that takes so many addresses and returns nothing; before them a size."""
    first = () if size is None else (ctypes.c_size_t,)
    function.argtypes = (*first, *(ctypes.c_void_p,) * addresses)
    function.restype = None
    called: Callable[..., Any] = function
    return called if size is None else partial(called, size)


def load(
    library: Path,
    signature: Signature,
    *,
    flags: Sequence[str] = (),
    features: Sequence[str] = (),
    machine: Machine | None = None,
) -> CompiledFunction:
    """Load a library and take one function from it.

    A private copy is loaded, so that the file may be replaced and loaded again, by this process
    too; a loaded library stays until the process ends.

    Args:
        library: A shared library.
        signature: The function.
        flags: Those that it was built with: this machine must be able to run it.
        features: Those of a processor that it needs besides.
        machine: This one, with the compiler to ask what the operating system does not list.

    Raises:
        MorelloError: The library cannot be loaded, lacks the function, or needs instructions that
            this machine lacks.
    """
    (machine or Machine()).require(flags, features, f"'{signature.name}'")
    try:
        with tempfile.TemporaryDirectory(prefix="morello-") as directory:
            copy = Path(shutil.copy(library, Path(directory, "library.so")))
            loaded = ctypes.CDLL(str(copy), mode=ctypes.RTLD_LOCAL)
    except OSError as error:
        raise MorelloError(
            f"cannot load '{library}': {error.strerror or error}",
            help=f"build it again, with a C compiler for this machine, {NAME_A_RUNNER}",
        ) from error
    try:
        return CompiledFunction(loaded, signature)
    except AttributeError:
        raise MorelloError(
            f"'{library}' has no function '{signature.name}'", help="build it again"
        ) from None
