"""What a compiled function takes: its arguments, and numpy arrays checked against them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from morello.errors import UsageError
from morello.program.source import CSource
from morello.program.tree import Program
from morello.spec.dtypes import DType
from morello.spec.layout import Layout, row_major

Array = np.ndarray[Any, np.dtype[Any]]

ALIGNMENT = 64
"""Bytes to which outputs and workspaces that are allocated here are aligned: a cache line."""


@dataclass(frozen=True, slots=True)
class ArgumentInfo:
    """One argument: a packed tensor. ``role`` is ``input``, ``weight`` or ``output``."""

    name: str
    role: str
    dtype: DType
    shape: tuple[int, ...]
    layout: Layout

    @property
    def bytes(self) -> int:
        """Bytes of its elements."""
        return prod(self.shape) * self.dtype.bytes


@dataclass(frozen=True, slots=True)
class Signature:
    """A C function ``void NAME(arguments..., void *workspace)``."""

    name: str
    arguments: tuple[ArgumentInfo, ...]
    workspace_bytes: int = 0

    @property
    def inputs(self) -> tuple[ArgumentInfo, ...]:
        """Inputs and weights, in order."""
        return tuple(a for a in self.arguments if a.role != "output")

    @property
    def outputs(self) -> tuple[ArgumentInfo, ...]:
        """Outputs, in order."""
        return tuple(a for a in self.arguments if a.role == "output")


def signature_of(program: Program, source: CSource) -> Signature:
    """Signature of the function that was emitted for a program."""
    arguments = (
        ArgumentInfo(t.name, t.role, t.dtype, t.shape, t.layout) for t in program.arguments
    )
    return Signature(source.name, tuple(arguments), source.workspace_bytes)


# ------------------------------------------------------------------------------- checks


def check_argument(argument: ArgumentInfo, array: object) -> Array:
    """Demand that an array can be passed for an argument as it is.

    Raises:
        UsageError: It cannot: its type, dtype, shape, alignment or layout; with advice.
    """
    name, dtype = argument.name, argument.dtype.numpy
    if not isinstance(array, np.ndarray):
        raise UsageError(
            f"'{name}' is a {type(array).__name__}; expected a numpy array",
            help=f"pass np.asarray({name}, dtype=np.{dtype})",
        )
    if array.dtype != dtype:
        raise UsageError(
            f"'{name}' has dtype {array.dtype}; expected {dtype}",
            help=f"pass {name}.astype(np.{dtype})",
        )
    if array.shape != argument.shape:
        raise UsageError(
            f"'{name}' has shape {array.shape}; expected {argument.shape}",
            help="compile the Spec for the sizes that are needed",
        )
    if not array.transpose(argument.layout).flags.c_contiguous:
        raise _strided(argument, array)
    if not array.flags.aligned:
        raise UsageError(
            f"'{name}' does not begin at a multiple of its {argument.dtype.bytes}-byte elements",
            help=f"pass {name}.copy(order='K')",
        )
    return array


def _strided(argument: ArgumentInfo, array: Array) -> UsageError:
    name, layout = argument.name, argument.layout
    found = f"'{name}' has strides {array.strides} bytes; expected "
    if layout == row_major(len(layout)):
        return UsageError(
            f"{found}row-major without gaps", help=f"pass np.ascontiguousarray({name})"
        )
    if layout == row_major(len(layout))[::-1]:
        return UsageError(
            f"{found}column-major without gaps", help=f"pass np.asfortranarray({name})"
        )
    inverse = tuple(int(i) for i in np.argsort(layout))
    return UsageError(
        f"{found}layout {layout} without gaps",
        help=f"pass np.ascontiguousarray({name}.transpose({layout})).transpose({inverse})",
    )


def check_output(argument: ArgumentInfo, array: object) -> Array:
    """Demand that an array can be passed for an output.

    Raises:
        UsageError: It cannot; see also `check_argument`.
    """
    checked = check_argument(argument, array)
    if not checked.flags.writeable:
        raise UsageError(
            f"'{argument.name}' is read-only; an output is written",
            help="pass a writable array, or none to have one allocated",
        )
    return checked


def check_overlap(signature: Signature, arrays: Sequence[Array]) -> None:
    """Demand that no output shares memory with another argument.

    Raises:
        UsageError: Two arguments overlap, with their names.
    """
    named = list(zip(signature.arguments, arrays, strict=True))
    for position, (argument, array) in enumerate(named):
        for other, memory in named[:position]:
            # All arrays are packed, so that overlapping bounds are overlapping elements.
            written = "output" in (argument.role, other.role)
            if written and np.may_share_memory(array, memory):
                raise UsageError(
                    f"'{argument.name}' shares memory with '{other.name}'",
                    help="an output needs memory of its own: pass a copy",
                )


# ------------------------------------------------------------------------------- memory


def aligned_bytes(count: int) -> Array:
    """So many bytes, not initialised, from a multiple of `ALIGNMENT` on."""
    memory = np.empty(count + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + count]


def allocate(argument: ArgumentInfo) -> Array:
    """An array for an argument: aligned, in its layout, not initialised."""
    return from_memory(argument, aligned_bytes(argument.bytes))


def from_memory(argument: ArgumentInfo, memory: Array) -> Array:
    """Bytes in an argument's layout, seen as an array of its logical shape."""
    physical = memory.view(argument.dtype.numpy).reshape(
        [argument.shape[d] for d in argument.layout]
    )
    return physical.transpose(np.argsort(argument.layout).tolist())
