"""What a compiled function takes: its arguments, and numpy arrays checked against them.

An argument is passed as an array of its logical shape whose strides are those of its layout.
Strides cannot say that a layout has panels: such an argument is passed as it lies in memory, in an
array with one more dimension (`ArgumentInfo.passed_shape`).

Arrays of other libraries in the processor's memory are taken where they lie, by DLPack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from mmap import PAGESIZE
from typing import Any, Protocol, TypeVar

import numpy as np
from msgspec import Struct

from morello.errors import MorelloError, UsageError
from morello.ir.arrays import from_memory, to_memory
from morello.ir.dtypes import DType
from morello.ir.layout import Layout, Order, row_major
from morello.ir.numeric import Array
from morello.ir.programs.emitted import CSource, EmittedPacking
from morello.ir.programs.tree import Program
from morello.language.diagnostics import suggestion
from morello.records import replace
from morello.toolchain.addresses import address_of

T = TypeVar("T")

PROCESSOR = 1
"""The processor's own memory, as DLPack numbers devices."""

_MOST_WORK = 100_000
"""Of finding out whether arrays overlap that have elements between each other's: milliseconds."""

ALIGNMENT = 64
"""Bytes to which outputs and workspaces that are allocated here are aligned: a cache line."""


class SupportsDLPack(Protocol):
    """An array of any library that hands arrays on (the Python array API's ``__dlpack__``)."""

    def __dlpack__(self, **options: Any) -> Any:
        """A capsule with the array."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """The kind of the device whose memory it is in, and which one of these."""


AnyArray = Array | SupportsDLPack


class ArgumentInfo(Struct, frozen=True):
    """One argument: a whole tensor. ``role`` is ``input``, ``weight`` or ``output``.

    ``packing``: what makes that which the function takes of a weight; other arguments have none.
    """

    name: str
    role: str
    dtype: DType
    shape: tuple[int, ...]
    layout: Layout
    packing: EmittedPacking | None = None

    @property
    def passed_as_declared(self) -> bool:
        """Whether no code has to pack it."""
        return self.packing is None or self.packing.copies

    @property
    def bytes(self) -> int:
        """Bytes that it takes, with what fills up panels."""
        return self.layout.elements(self.shape) * self.dtype.bytes

    @property
    def taken_bytes(self) -> int:
        """Bytes that the function takes for it: of a weight, what packing writes."""
        return self.bytes if self.packing is None else self.packing.bytes

    @property
    def passed_shape(self) -> tuple[int, ...]:
        """Shape of the array that is passed: its own, or that in memory if it has panels."""
        return self.layout.shape_in_memory(self.shape) if self.layout.panel else self.shape

    @property
    def passed_order(self) -> Order:
        """Dimensions of the array that is passed, the slowest first."""
        in_memory = row_major(len(self.passed_shape)).order
        return in_memory if self.layout.panel else self.layout.order

    @property
    def passed_strides(self) -> tuple[int, ...]:
        """Bytes between neighbours along each dimension of the array that is passed."""
        layout = self.layout if self.layout.stated else Layout(self.passed_order)
        return tuple(n * self.dtype.bytes for n in layout.strides(self.passed_shape))

    def __str__(self) -> str:
        weight = "weight " if self.role == "weight" else ""
        plain = self.layout == row_major(len(self.shape))
        layout = "" if plain else f" layout {self.layout}"
        if self.layout.stated:
            layout = f" {self.layout}"
        return f"{weight}{self.name}: {self.dtype}[{', '.join(map(str, self.shape))}]{layout}"

    def pack(self, values: AnyArray) -> Array:
        """A copy, to be passed, of an array of its logical shape; panels are filled up with 0.

        Raises:
            UsageError: It is no array, or has another shape or dtype.
        """
        values = _check_type(self, values)
        if values.shape != self.shape:
            raise _misshapen(self, values, self.shape)
        passed = allocate(self)
        if self.layout.panel:
            values = to_memory(self.layout, values).reshape(self.passed_shape)
        passed[...] = values
        return passed

    def unpack(self, passed: Array) -> Array:
        """What was passed, with its logical shape: itself, or a copy if it has panels.

        Raises:
            UsageError: It is nothing that could have been passed.
        """
        check_argument(self, passed)
        if not self.layout.panel:
            return passed
        return from_memory(self.layout, self.shape, passed.reshape(-1))


class Signature(Struct, frozen=True):
    """A C function ``void NAME(arguments..., void *workspace)``.

    ``size``: a number that it is passed before them, where calls bring a size.
    """

    name: str
    arguments: tuple[ArgumentInfo, ...]
    workspace_bytes: int = 0
    size: int | None = None

    def at(self, size: int, axes: Mapping[str, int]) -> Signature:
        """The same for another size of a dimension: ``axes`` says which, of some arguments."""
        arguments = (
            replace(
                a,
                shape=tuple(size if d == axes.get(a.name) else n for d, n in enumerate(a.shape)),
            )
            for a in self.arguments
        )
        return replace(self, arguments=tuple(arguments), size=size)

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
    packings = iter(source.packings)
    arguments = (
        ArgumentInfo(
            t.name,
            t.role,
            t.dtype,
            t.shape,
            t.layout,
            next(packings) if t.role == "weight" else None,
        )
        for t in program.arguments
    )
    return Signature(source.name, tuple(arguments), source.workspace_bytes)


def argument_of(signature: Signature, name: str) -> ArgumentInfo:
    """The argument of this name.

    Raises:
        UsageError: There is none.
    """
    found = {a.name: a for a in signature.arguments}
    if name not in found:
        raise UsageError(f"there is no argument '{name}'", help=suggestion(str(name), found))
    return found[name]


def in_order(signature: Signature, inputs: tuple[T, ...], named: Mapping[str, T]) -> tuple[T, ...]:
    """What is passed for the inputs by position and by name, in the order of the signature.

    Raises:
        UsageError: There is no input of a name, or an input is passed twice or not at all.
    """
    names = [a.name for a in signature.inputs]
    if len(inputs) > len(names):
        return inputs  # what counts them refuses that
    passed = dict(zip(names, inputs, strict=False))
    takes = f"it takes: {', '.join(names) or 'none'}"
    for name in named:
        if name not in names:
            output = name in (a.name for a in signature.outputs)
            help = "outputs are passed as out=..." if output else takes
            raise UsageError(f"'{signature.name}' has no input '{name}'", help=help)
        if name in passed:
            message = f"input '{name}' of '{signature.name}' is passed by position and by name"
            raise UsageError(message, help=takes)
    passed |= named
    missing = next((name for name in names if name not in passed), None)
    if missing is not None:
        raise UsageError(f"input '{missing}' of '{signature.name}' is missing", help=takes)
    return tuple(passed[name] for name in names)


# ------------------------------------------------------------------------------- checks


def check_argument(argument: ArgumentInfo, array: object) -> Array:
    """Demand that an array can be passed for an argument as it is.

    Raises:
        UsageError: It cannot: its type, dtype, shape, alignment or layout; with advice.
    """
    name = argument.name
    array = _check_type(argument, array)
    if array.shape != argument.passed_shape:
        raise _misshapen(argument, array, argument.passed_shape)
    own = zip(array.strides, argument.passed_strides, array.shape, strict=True)
    if any(found != expected for found, expected, size in own if size > 1):
        raise _strided(argument, array)
    if not array.flags.aligned:
        raise UsageError(
            f"'{name}' does not begin at a multiple of its {argument.dtype.bytes}-byte elements",
            help=_help(argument, f"pass {name}.copy(order='K')"),
        )
    return array


def _check_type(argument: ArgumentInfo, array: object) -> Array:
    name, dtype = argument.name, argument.dtype.numpy
    if not isinstance(array, np.ndarray) and hasattr(array, "__dlpack__"):
        array = _seen_by_numpy(argument, array)
    if not isinstance(array, np.ndarray):
        raise UsageError(
            f"'{name}' is a {type(array).__name__}; expected a numpy array",
            help=_help(argument, f"pass np.asarray({name}, dtype={argument.dtype.python})"),
        )
    if isinstance(array, np.ma.MaskedArray):
        raise UsageError(
            f"'{name}' is a masked array; its mask would be ignored",
            help=_help(argument, f"pass {name}.filled(VALUE), or {name}.data for all elements"),
        )
    if array.dtype != dtype:
        advice = f"pass {name}.astype({argument.dtype.python})"
        if array.dtype.kind == "u" and dtype.kind in "fV" and array.itemsize == dtype.itemsize:
            advice = f"pass {name}.view({argument.dtype.python}) where it holds bits; else " + (
                f"{name}.astype({argument.dtype.python})"
            )
        raise UsageError(
            f"'{name}' has dtype {array.dtype}; expected {dtype}", help=_help(argument, advice)
        )
    return array


def _seen_by_numpy(argument: ArgumentInfo, array: Any) -> Array:
    """An array of another library, where it lies."""
    name, kind = argument.name, type(array).__name__
    device, _ = array.__dlpack_device__()
    if device != PROCESSOR:
        raise UsageError(
            f"'{name}' is a {kind} in the memory of another device",
            help=_help(argument, f"pass {name}.cpu(), or whatever copies it to the processor's"),
        )
    try:
        return np.from_dlpack(array)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise UsageError(
            f"'{name}' is a {kind} that numpy cannot see without a copy: {error}",
            help=_help(argument, f"pass a numpy array of {argument.dtype.python}"),
        ) from error


def _help(argument: ArgumentInfo, advice: str) -> str:
    """What to pass instead: for an output no copy, which would leave the array unwritten."""
    if argument.role != "output":
        return advice
    return "a copy would be written, and not this: pass another array, or none to have one made"


def _misshapen(argument: ArgumentInfo, array: Array, expected: tuple[int, ...]) -> UsageError:
    name, layout = argument.name, argument.layout
    found = f"'{name}' has shape {array.shape}; expected {expected}"
    if array.shape == argument.shape:
        return UsageError(
            f"{found}: layout {layout}, as it lies in memory",
            help=f"pass kernel.pack('{name}', {name}), once for as many calls as you like",
        )
    return UsageError(found, help="compile the Spec for the sizes that are needed")


def _strided(argument: ArgumentInfo, array: Array) -> UsageError:
    name, order = argument.name, argument.passed_order
    if argument.layout.stated:
        raise UsageError(
            f"'{name}' has strides {array.strides} bytes; expected {argument.passed_strides}",
            help=_help(argument, f"pass kernel.pack('{name}', {name})"),
        )
    if order == row_major(len(order)).order:
        expected, advice = "row-major", f"np.ascontiguousarray({name})"
    elif order == row_major(len(order)).order[::-1]:
        expected, advice = "column-major", f"np.asfortranarray({name})"
    else:
        inverse = tuple(int(i) for i in np.argsort(order))
        expected = f"layout {order}"
        advice = f"np.ascontiguousarray({name}.transpose({order})).transpose({inverse})"
    return UsageError(
        f"'{name}' has strides {array.strides} bytes; expected {expected} without gaps",
        help=_help(argument, f"pass {advice}"),
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
            written = "output" in (argument.role, other.role)
            if written and _overlap(array, memory):
                raise UsageError(
                    f"'{argument.name}' shares memory with '{other.name}'",
                    help="an output needs memory of its own: pass a copy",
                )


def _overlap(array: Array, other: Array) -> bool:
    """Whether they have elements in common, as far as that can be told at once."""
    if not np.may_share_memory(array, other):
        return False
    try:
        return np.shares_memory(array, other, max_work=_MOST_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


# ------------------------------------------------------------------------------- memory


def aligned_bytes(count: int) -> Array:
    """So many bytes, not initialised, from a multiple of `ALIGNMENT`; of a page if they fill one.

    A load may wait for a store that is on its way to the same place of another page: softmax takes
    1.2 times as long where its output begins 64 bytes after its input does. All begin at 0.
    """
    alignment = PAGESIZE if count >= PAGESIZE else ALIGNMENT
    memory = np.empty(count + alignment, np.uint8)
    start = -address_of(memory) % alignment
    return memory[start : start + count]


def allocate(argument: ArgumentInfo) -> Array:
    """An array to be passed for an argument: aligned, not initialised."""
    return view_of(argument, aligned_bytes(argument.bytes))


def check_gaps(argument: ArgumentInfo, memory: Array, filling: int) -> None:
    """Demand that every byte between the elements of an output is still what it was.

    Args:
        argument: The output.
        memory: Its bytes.
        filling: What each was.

    Raises:
        MorelloError: Something was written there.
    """
    if not argument.layout.stated:
        return
    between = np.ones(argument.bytes, np.uint8)
    view_of(argument, between)[...] = 0
    if (memory[between == 1] != filling).any():
        raise MorelloError(
            f"elements between those of '{argument.name}' were written",
            help="a kernel or the emitter writes where it must not",
        )


def view_of(argument: ArgumentInfo, memory: Array) -> Array:
    """The bytes of an argument, seen as the array that is passed."""
    if argument.layout.stated:
        return from_memory(argument.layout, argument.shape, memory.view(argument.dtype.numpy))
    order, shape = argument.passed_order, argument.passed_shape
    physical = memory.view(argument.dtype.numpy).reshape([shape[d] for d in order])
    if order == row_major(len(order)).order:
        return physical
    return physical.transpose(np.argsort(order).tolist())
