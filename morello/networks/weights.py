"""The file of weights: as kernels take them, packed ahead, in the order in which they are used."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable

import numpy as np
from msgspec import Struct

from morello.ir.numeric import Array
from morello.kernel import Kernel
from morello.networks.memory import LINE, lines
from morello.runtime.library import CompiledFunction
from morello.runtime.passing import PackedWeight

Make = Callable[[ctypes.CDLL], Array]
"""Gives the contents of a section, by the functions of the network's kernels."""


class _Section(Struct, frozen=True):
    offset: int
    make: Make


class Weights:
    """The contents of the file: a line that says whose they are, and then all of them.

    Where each lies is known before the kernels are built that pack it.
    """

    def __init__(self, mark: str) -> None:
        """``mark``: what the first line says."""
        self._mark = f"{mark}\n".encode()
        self._sections: dict[bytes, _Section] = {}
        self.bytes = LINE

    def add(self, data: Array) -> int:
        """Where a constant begins in the file; equal ones are there once."""
        return self._place(_digest(data), data.nbytes, lambda _: data)

    def add_packed(self, kernel: Kernel, place: int, data: Array) -> int:
        """The same, of a constant as a kernel takes it for an argument."""
        argument = kernel.signature.arguments[place]
        own = hashlib.sha256(kernel.source.encode()).digest()  # another program packs otherwise
        key = b"".join((_digest(data), own, b" %d" % place))
        return self._place(key, argument.taken_bytes, lambda own: _packed(own, kernel, place, data))

    def _place(self, key: bytes, size: int, make: Make) -> int:
        if key not in self._sections:
            self._sections[key] = _Section(self.bytes, make)
            self.bytes += lines(size)
        return self._sections[key].offset

    @property
    def header(self) -> bytes:
        """How the file begins; what it has after the first line tells it from all others."""
        every = (b"%d %b" % (own.offset, key) for key, own in self._sections.items())
        known = hashlib.sha256(b"".join(every))
        room = LINE - len(self._mark)
        return self._mark + known.digest()[:room].ljust(room, b"\0")

    def contents(self, library: ctypes.CDLL) -> bytes:
        """The whole file."""
        whole = bytearray(self.bytes)
        whole[:LINE] = self.header
        for own in self._sections.values():
            content = np.asarray(own.make(library), order="C").tobytes()
            whole[own.offset : own.offset + len(content)] = content
        return bytes(whole)


def _digest(data: Array) -> bytes:
    return hashlib.sha256(np.asarray(data, order="C").tobytes()).digest()


def _packed(library: ctypes.CDLL, kernel: Kernel, place: int, data: Array) -> Array:
    """What a kernel takes for an argument, by its own function."""
    argument = kernel.signature.arguments[place]
    shaped = np.asarray(data, order="C").reshape(argument.shape)
    packed = CompiledFunction(library, kernel.signature).pack(argument.name, shaped)
    return packed.memory if isinstance(packed, PackedWeight) else np.asarray(packed)
