"""The file of weights: as kernels take them, packed ahead, in the order in which they are used."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from morello.kernel import Kernel
from morello.networks.memory import LINE, lines
from morello.networks.network import AnyData
from morello.runtime.signature import aligned_bytes
from morello.toolchain.addresses import address_of

Make = Callable[[ctypes.CDLL], AnyData]
"""Gives the contents of a part, by the functions of the network's kernels."""


@dataclass(frozen=True, slots=True)
class _Part:
    offset: int
    make: Make


class Weights:
    """The contents of the file: a line that says whose they are, and then all parts.

    Where each part lies is known before the kernels are built that pack it.
    """

    def __init__(self, mark: str) -> None:
        """``mark``: what the first line says."""
        self._mark = f"{mark}\n".encode()
        self._parts: dict[bytes, _Part] = {}
        self.bytes = LINE

    def add(self, data: AnyData) -> int:
        """Where a constant begins in the file; equal ones are there once."""
        return self._place(_digest(data), data.nbytes, lambda _: data)

    def add_packed(self, kernel: Kernel, place: int, data: AnyData) -> int:
        """The same, of a constant as a kernel takes it for an argument."""
        argument = kernel.signature.arguments[place]
        key = b"".join((_digest(data), kernel.name.encode(), b" %d" % place))
        return self._place(
            key, argument.packed.bytes, lambda own: _packed(own, kernel, place, data)
        )

    def _place(self, key: bytes, size: int, make: Make) -> int:
        if key not in self._parts:
            self._parts[key] = _Part(self.bytes, make)
            self.bytes += lines(size)
        return self._parts[key].offset

    @property
    def header(self) -> bytes:
        """How the file begins; what it has after the first line tells it from all others."""
        known = hashlib.sha256(b"".join(b"%d %b" % (p.offset, k) for k, p in self._parts.items()))
        room = LINE - len(self._mark)
        return self._mark + known.digest()[:room].ljust(room, b"\0")

    def contents(self, library: ctypes.CDLL) -> bytes:
        """The whole file."""
        whole = bytearray(self.bytes)
        whole[:LINE] = self.header
        for part in self._parts.values():
            content = np.asarray(part.make(library), order="C").tobytes()
            whole[part.offset : part.offset + len(content)] = content
        return bytes(whole)


def _digest(data: AnyData) -> bytes:
    return hashlib.sha256(np.asarray(data, order="C").tobytes()).digest()


def _packed(library: ctypes.CDLL, kernel: Kernel, place: int, data: AnyData) -> AnyData:
    """What a kernel takes for an argument, by its own function."""
    argument = kernel.signature.arguments[place]
    source = argument.pack(np.asarray(data, order="C").reshape(argument.shape))
    if argument.packing is None:
        return source
    result = aligned_bytes(argument.packed.bytes)
    workspace = aligned_bytes(kernel.signature.workspace_bytes)
    function = library[argument.packing.function]
    function.argtypes = (ctypes.c_void_p,) * 3
    function.restype = None
    function(*map(address_of, (source, result, workspace)))
    return result
