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
    Array,
    Signature,
    aligned_bytes,
    allocate,
    check_argument,
    check_output,
    check_overlap,
)


class CompiledFunction:
    """A function of a loaded library, called with numpy arrays.

    It may be called from several threads at once: each has a workspace of its own, and the
    interpreter's lock is released while the function runs.
    """

    def __init__(self, library: ctypes.CDLL, signature: Signature) -> None:
        """See `load`."""
        self.signature = signature
        self._function = library[signature.name]
        self._function.restype = None
        self._repeat = getattr(library, repeat_name(signature.name), None)
        self._local = threading.local()

    def __call__(
        self, *inputs: Array, out: Array | tuple[Array, ...] | list[Array] | None = None
    ) -> Array | tuple[Array, ...]:
        """Compute the outputs.

        Args:
            inputs: Arrays for the inputs and weights, in order, each of exactly the dtype, shape
                and layout of the signature.
            out: Where to write: an array, or one for each output. None allocates.

        Returns:
            The output, or a tuple of them where there are several.

        Raises:
            UsageError: An argument does not fit, with what is wrong and what to do.
        """
        arrays = (*inputs, *self._outputs(len(inputs), out))
        self._function(*self._pointers(arrays), self._workspace())
        outputs = arrays[len(inputs) :]
        return outputs[0] if len(outputs) == 1 else outputs

    def prepare(self, arrays: Sequence[Array]) -> Callable[[], object]:
        """A call without arguments that does no more than run the function.

        Args:
            arrays: All arguments: inputs and weights, then outputs. They are kept alive.

        Returns:
            The call. It owns one workspace: do not run it in two threads at once.

        Raises:
            UsageError: An argument does not fit.
        """
        workspace = aligned_bytes(self.signature.workspace_bytes)
        return partial(self._function, *self._pointers(arrays), _pointer(workspace))

    def prepare_repeated(self, arrays: Sequence[Array]) -> Callable[[int], object] | None:
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

    def _outputs(
        self, inputs: int, out: Array | tuple[Array, ...] | list[Array] | None
    ) -> tuple[Array, ...]:
        expected = self.signature.inputs
        if inputs != len(expected):
            names = ", ".join(a.name for a in expected) or "none"
            raise UsageError(
                f"'{self.signature.name}' was called with {inputs} arrays; "
                f"expected {len(expected)}: {names}",
                help="outputs are passed as out=...",
            )
        if out is None:
            return tuple(allocate(a) for a in self.signature.outputs)
        return tuple(out) if isinstance(out, tuple | list) else (out,)

    def _pointers(self, arrays: Sequence[Array]) -> list[ctypes.c_void_p]:
        """Addresses of all arguments; each keeps its array alive."""
        arguments = self.signature.arguments
        if len(arrays) != len(arguments):
            raise UsageError(
                f"'{self.signature.name}' was given {len(arrays)} arrays; "
                f"expected {len(arguments)}: " + ", ".join(a.name for a in arguments)
            )
        for argument, array in zip(arguments, arrays, strict=True):
            check = check_output if argument.role == "output" else check_argument
            check(argument, array)
        check_overlap(self.signature, arrays)
        return [_pointer(array) for array in arrays]

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
