"""Addresses of arguments that can be passed as they are: what nearly every call needs, at once.

A call of a small kernel takes less time than to find out by careful checks whether its arrays fit.
Here is only seen that they do; where that cannot be told, the checks of
`morello.runtime.signature` decide, and say what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy import ndarray

from morello.ir.numeric import Array
from morello.runtime.signature import ArgumentInfo, Signature
from morello.toolchain.addresses import address_of


class PackedWeight(Struct, frozen=True, eq=False):
    """A weight as one function takes it. ``memory``: its bytes, to be left alone."""

    function: str
    argument: ArgumentInfo
    memory: Array

    def __repr__(self) -> str:
        name, packing = self.argument.name, self.argument.packing
        form = f", {packing.form}" if packing else ""
        return f"<weight '{name}' of '{self.function}'{form}, {self.memory.size} bytes>"


class Passing:
    """Sees whether arrays fit the arguments of a function.

    Half of the time of a small call is spent here: nothing is looked up twice.
    """

    def __init__(self, signature: Signature) -> None:
        self._fitting = tuple(map(_fitting, signature.arguments))
        places = range(len(signature.arguments))
        size = [a.taken_bytes for a in signature.arguments]
        outputs = [p for p in places if signature.arguments[p].role == "output"]
        self._outputs = [(p, size[p], [(o, size[o]) for o in places if o != p]) for p in outputs]

    def addresses(self, arrays: Sequence[Any]) -> list[int] | None:
        """Addresses of what is passed for all arguments, if that is seen to fit."""
        if len(arrays) != len(self._fitting):
            return None
        found: list[int] = []
        for array, (argument, dtype, shape, strides, alignment) in zip(
            arrays, self._fitting, strict=True
        ):
            if type(array) is ndarray:
                if array.dtype is not dtype or array.shape != shape or array.strides != strides:
                    return None
                address = address_of(array)
                if address % alignment:
                    return None
                found.append(address)
            elif type(array) is PackedWeight and array.argument is argument:
                found.append(address_of(array.memory))
            else:
                return None
        for place, size, others in self._outputs:
            if not arrays[place].flags.writeable:
                return None
            begin = found[place]
            end = begin + size
            for other, extent in others:  # what lies in gaps of the other is seen by checks
                if begin < found[other] + extent and found[other] < end:
                    return None
        return found


def _fitting(
    argument: ArgumentInfo,
) -> tuple[ArgumentInfo, np.dtype[np.generic] | None, tuple[int, ...], tuple[int, ...], int]:
    """An argument, and element type, shape, strides and alignment of an array that fits.

    None does where C code packs a weight in every call.
    """
    shape, strides, dtype = argument.passed_shape, argument.passed_strides, argument.dtype.numpy
    fits = argument.passed_as_declared
    return argument, dtype if fits else None, shape, strides, dtype.itemsize
