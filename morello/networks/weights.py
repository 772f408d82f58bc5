"""The file of weights: as kernels take them, packed ahead, in the order in which they are used."""

from __future__ import annotations

import ctypes
import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from morello.errors import MorelloError
from morello.kernel import Kernel
from morello.networks.memory import LINE, lines
from morello.networks.network import AnyData
from morello.runtime.signature import aligned_bytes
from morello.toolchain.addresses import address_of
from morello.toolchain.build import build


class Weights:
    """The contents of the file: a line that says whose they are, and then all of them."""

    def __init__(self, mark: str) -> None:
        """``mark``: what the first line says."""
        self._mark = f"{mark}\n".encode()
        self._parts: list[bytes] = []
        self._known: dict[bytes, int] = {}
        self._end = LINE

    def add(self, data: AnyData) -> int:
        """Where these bytes begin in the file; equal ones are there once."""
        content = np.asarray(data, order="C").tobytes()
        digest = hashlib.sha256(content).digest()
        if digest not in self._known:
            self._known[digest] = self._end
            self._parts.append(content.ljust(lines(len(content)), b"\0"))
            self._end += lines(len(content))
        return self._known[digest]

    def contents(self) -> bytes:
        """The whole file; what its first line has besides tells it from all others."""
        rest = b"".join(self._parts)
        room = LINE - len(self._mark)
        return self._mark + hashlib.sha256(rest).digest()[:room].ljust(room, b"\0") + rest


class Packer:
    """Packs weights, by the functions of kernels: all are built into one library."""

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        self._kernels = kernels
        self._library: ctypes.CDLL | None = None

    def packed(self, kernel: Kernel, place: int, data: AnyData) -> AnyData:
        """What a kernel takes for an argument.

        Raises:
            MorelloError: This machine cannot run the kernels, or there is no compiler.
        """
        argument = kernel.signature.arguments[place]
        source = argument.pack(np.asarray(data, order="C").reshape(argument.shape))
        if argument.packing is None:
            return source
        self._library = self._library or self._built()
        result = aligned_bytes(argument.packed.bytes)
        workspace = aligned_bytes(kernel.signature.workspace_bytes)
        function = self._library[argument.packing.function]
        function.argtypes = (ctypes.c_void_p,) * 3
        function.restype = None
        function(*map(address_of, (source, result, workspace)))
        return result

    def _built(self) -> ctypes.CDLL:
        machine, source = self._kernels[0].machine, self._kernels[0].c_source
        if not machine.is_here:
            raise MorelloError(
                f"weights are packed by running kernels, which run under {machine}",
                help="import the network on a machine that runs the target",
            )
        machine.require(source.flags, source.features, "what packs weights")
        texts = {f"{kernel.name}.c": kernel.source for kernel in self._kernels}
        with tempfile.TemporaryDirectory(prefix="morello-") as directory:
            output = Path(directory, "packing.so")
            build(texts, machine.compiler, ("-O1", *source.flags), output)
            return ctypes.CDLL(str(output), mode=ctypes.RTLD_LOCAL)
