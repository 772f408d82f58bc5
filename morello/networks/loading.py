"""A network that was imported, as a function of numpy arrays."""

from __future__ import annotations

import ctypes
import hashlib
import json
import math
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from morello.errors import MorelloError, UsageError
from morello.ir.numeric import Array
from morello.networks.callbacks import Callbacks, Function
from morello.runtime.library import BoundCall, Out
from morello.runtime.signature import aligned_bytes
from morello.startup.cache import entry
from morello.toolchain.addresses import address_of
from morello.toolchain.build import build
from morello.toolchain.machine import Machine

if TYPE_CHECKING:
    from morello.runtime.timing import Timing

MORE_BITS = -3
"""What a network's function gives where a whole number of 64 bits has more than 32."""

ARGUMENTS = "arguments that the network takes: "


class NetworkArgument(Struct, frozen=True):
    """An input or an output of a network."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}{list(self.shape)}"


class LoadedNetwork:
    """A network of a directory that ``morello import`` has written.

    It may be called from several threads at once: each has an arena of its own. Memory of outputs
    that nobody holds any more is used again, as the arena is: from the system it would come page by
    page, zeroed, which takes longer than many a network.

    Attributes:
        name: The network's name.
        inputs: What it takes.
        outputs: What it gives.
        arena_bytes: Memory that a call needs for what is computed on the way.
        target: Name of the target that it was compiled for.
        cost: Predicted cycles of all calls of kernels.
    """

    def __init__(
        self,
        directory: Path,
        manifest: Mapping[str, Any],
        library: ctypes.CDLL,
        callbacks: Callbacks | None,
    ) -> None:
        """See `load_network`."""
        self.name: str = manifest["name"]
        self.inputs = _arguments(manifest["inputs"])
        self.outputs = _arguments(manifest["outputs"])
        self.arena_bytes: int = manifest["arena"]
        self.target: str = manifest["target"]
        self.cost = sum(k["cycles"] * k["calls"] for k in manifest["kernels"])
        self._run = library[f"{self.name}_run"]
        self._run.argtypes = (ctypes.c_void_p,) * (2 + len(self.inputs) + len(self.outputs))
        path = directory / f"{self.name}.weights"
        try:
            self._weights = aligned_bytes(path.stat().st_size)
            with path.open("rb") as stream:
                read = stream.readinto(self._weights.data)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise MorelloError(f"cannot read '{path}': {reason}") from error
        self._model = (ctypes.c_void_p * 5)()
        init = library[f"{self.name}_init"]
        init.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
        if init(ctypes.addressof(self._model), address_of(self._weights), read) != 0:
            raise MorelloError(
                f"'{path}' has not the weights of this network", help="import it again"
            )
        self._callbacks = callbacks
        if callbacks is not None:
            self._model[3] = ctypes.cast(callbacks.pointer, ctypes.c_void_p)
        self._local = threading.local()

    def __repr__(self) -> str:
        takes, gives = (", ".join(map(str, side)) for side in (self.inputs, self.outputs))
        return f"<network {self.name}({takes}) -> {gives}>"

    def __call__(self, *inputs: Any, out: Out | None = None, **named: Any) -> Any:
        """Run the network.

        Args:
            inputs: Arrays, in the order of ``inputs``.
            out: Where to write: an array, or of several outputs a tuple or list of one for each, in
                order; by default new arrays.
            named: The other inputs, by their names. One that is called ``out`` is passed by
                position.

        Returns:
            The output, or a tuple of them where there are several.

        Raises:
            UsageError: An array is missing, or is of another type or shape.
            MorelloError: An index lies outside the table that it looks up, or a whole number of 64
                bits has more than 32, in which it is computed.
            Exception: What a function of the user has raised.
        """
        arrays = self._checked(inputs, named)
        outputs = self._new_outputs() if out is None else self._given_outputs(out, arrays)
        self._call(*map(address_of, (*arrays, *outputs, self._arena())))
        return _one_or_all(outputs)

    def bind(self, *inputs: Any, out: Out | None = None, **named: Any) -> BoundCall:
        """A call with these arrays, to be made many times: it does no more than run the network.

        It computes from what the inputs hold when it runs, and writes the same outputs each time.
        Arguments and errors are those of a call. Inputs have to be arrays without gaps.
        """
        arrays = self._checked(inputs, named, bound=True)
        made = [self._new_output(each) for each in self.outputs]
        outputs = made if out is None else self._given_outputs(out, arrays)
        kept = (*arrays, *outputs, aligned_bytes(self.arena_bytes))
        return BoundCall(self._call, kept, _one_or_all(outputs))

    def time(self, *, repeats: int = 21, warmup: int = 2, min_seconds: float = 0.002) -> Timing:
        """Measure how many seconds a call takes, on random numbers. Integers of over 8 bits are 0.

        Args:
            repeats: Batches of calls that count.
            warmup: Batches before those.
            min_seconds: How long a batch takes at least; that makes its number of calls.

        Raises:
            UsageError: ``repeats`` is below 1, ``warmup`` below 0, or ``min_seconds`` not between 0
                and 3,600; or one is no number.
            Exception: What a function of the user has raised.
        """
        from morello.runtime.timing import repeated, time_alternately  # noqa: PLC0415

        call = self.bind(*random_inputs(self.inputs))
        return time_alternately(
            {self.name: repeated(call)}, repeats=repeats, warmup=warmup, min_seconds=min_seconds
        )[self.name]

    def _call(self, *addresses: int) -> None:
        """Run the network on arrays for inputs, then outputs, then the arena."""
        status = self._run(ctypes.addressof(self._model), *addresses)
        raised = self._callbacks.raised() if self._callbacks else None
        if raised is not None:
            raise raised
        if status == MORE_BITS:
            raise MorelloError(
                f"'{self.name}' computes with 32 bits, and was given a number of more",
                help="check the inputs of int64, and what functions give",
            )
        if status != 0:
            raise MorelloError(
                f"an index that '{self.name}' looks up lies outside its table",
                help="check the inputs that are indices",
            )

    def _checked(
        self, inputs: tuple[Any, ...], named: dict[str, Any], *, bound: bool = False
    ) -> list[Any]:
        """Arrays for the inputs; of ``bound`` ones no copies, which would not change with them."""
        known = [each.name for each in self.inputs]
        given = dict(zip(known, inputs, strict=False))
        if len(inputs) > len(known) or given.keys() & named.keys() or named.keys() - set(known):
            raise UsageError(f"'{self.name}' takes other arrays", help=self._help())
        given |= named
        arrays = []
        for each in self.inputs:
            if each.name not in given:
                raise UsageError(f"input '{each.name}' is missing", help=self._help())
            array = np.asarray(given[each.name])
            if bound and not (array is given[each.name] and array.flags.c_contiguous):
                raise UsageError(
                    f"input '{each.name}' cannot be bound: it is no array, or has gaps",
                    help=f"pass np.ascontiguousarray({each.name})",
                )
            if array.dtype == np.bool_ and each.dtype == "uint8":
                array = array.view(np.uint8)
            if array.dtype != each.dtype or array.shape != each.shape:
                found = f"{array.dtype}{list(array.shape)}"
                raise UsageError(f"input '{each.name}' is {found}", help=f"expected {each}")
            arrays.append(np.ascontiguousarray(array))
        return arrays

    def _help(self) -> str:
        return ARGUMENTS + ", ".join(map(str, self.inputs))

    def _given_outputs(self, out: Out, inputs: Sequence[Any]) -> list[Any]:
        """What the user gives for the outputs, if it fits."""
        given = list(out) if isinstance(out, tuple | list) else [out]
        if len(given) != len(self.outputs):
            wanted = ", ".join(map(str, self.outputs))
            raise UsageError(
                f"'{self.name}' was given {len(given)} arrays as out", help=f"expected {wanted}"
            )
        for position, (each, array) in enumerate(zip(self.outputs, given, strict=True)):
            if not isinstance(array, np.ndarray):
                raise UsageError(f"output '{each.name}' is no array", help=f"expected {each}")
            if array.dtype != each.dtype or array.shape != each.shape:
                found = f"{array.dtype}{list(array.shape)}"
                raise UsageError(f"output '{each.name}' is {found}", help=f"expected {each}")
            if not (array.flags.c_contiguous and array.flags.writeable):
                raise UsageError(
                    f"output '{each.name}' has gaps, or cannot be written",
                    help=f"pass np.empty({each.shape}, '{each.dtype}')",
                )
            if any(np.may_share_memory(array, o) for o in (*inputs, *given[:position])):
                raise UsageError(
                    f"output '{each.name}' shares memory with another array",
                    help="an output needs memory of its own: pass a copy",
                )
        return given

    def _new_output(self, each: NetworkArgument) -> Any:
        memory = aligned_bytes(math.prod(each.shape) * np.dtype(each.dtype).itemsize)
        return memory.view(each.dtype).reshape(each.shape)

    def _new_outputs(self) -> list[Any]:
        """Arrays for the outputs, not initialised, in memory that no other array uses."""
        kept = self._local.__dict__.setdefault("outputs", [None] * len(self.outputs))
        arrays = []
        for position, each in enumerate(self.outputs):
            memory = kept[position]
            # Views hold the array that owns the memory: those of this one and of the call to count.
            if memory is None or sys.getrefcount(memory.base) > 2:
                size = math.prod(each.shape) * np.dtype(each.dtype).itemsize
                memory = kept[position] = aligned_bytes(size)
            arrays.append(memory.view(each.dtype).reshape(each.shape))
        return arrays

    def _arena(self) -> Any:
        """This thread's arena."""
        if not hasattr(self._local, "arena"):
            self._local.arena = aligned_bytes(self.arena_bytes)
        return self._local.arena


def _one_or_all(outputs: Sequence[Any]) -> Any:
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def random_inputs(arguments: Sequence[NetworkArgument], largest: int = 0) -> list[Array]:
    """Random inputs of a network, the same each time.

    They are normally distributed. Truths and integers of 8 bits are any; others may be indices, and
    are from 0 to ``largest``: 0 is an index of any table.
    """
    rng = np.random.default_rng(0)
    drawn = list[Array]()
    for argument in arguments:
        dtype, shape = np.dtype(argument.dtype), argument.shape
        if dtype.kind not in "biu":
            values: Array = rng.standard_normal(shape)
        elif dtype.kind == "b":
            values = rng.integers(2, size=shape)
        elif dtype.itemsize == 1:
            limits = np.iinfo(dtype)
            values = rng.integers(limits.min, limits.max, shape, endpoint=True)
        else:
            values = rng.integers(0, largest, shape, endpoint=True)
        drawn.append(values.astype(dtype))
    return drawn


def _arguments(rows: list[Mapping[str, Any]]) -> tuple[NetworkArgument, ...]:
    return tuple(NetworkArgument(r["name"], r["dtype"], tuple(r["shape"])) for r in rows)


def load_network(
    directory: str | Path,
    *,
    callbacks: Mapping[str, Function] | None = None,
    machine: Machine | None = None,
) -> LoadedNetwork:
    """Build and load the network in a directory that ``morello import`` has written.

    The library is kept among the start-up files: to load the same network again takes no compiler.

    Args:
        directory: Where the network is.
        callbacks: What computes the nodes that were left to functions, by their names: of arrays,
            an array or a tuple of them.
        machine: The C compiler, if it is to be another one.

    Raises:
        MorelloError: There is no network, or it is another one's; there is no C compiler, or it
            fails; or this machine lacks instructions.
        UsageError: The machine has a runner, though the network runs in this process; or a callback
            is missing, or has no node.
    """
    directory = Path(directory)
    manifest = _manifest(directory)
    name = manifest["name"]
    kernels = (f"kernels/{kernel['name']}" for kernel in manifest["kernels"])
    paths = [directory / f"{stem}.{suffix}" for stem in (name, *kernels) for suffix in "ch"]
    try:
        texts = {path.name: path.read_text(encoding="utf-8") for path in paths}
    except OSError as error:
        raise MorelloError(f"cannot read '{error.filename}': {error.strerror}") from error
    left = manifest["calls"]
    called = Callbacks(left, callbacks or {}) if left or callbacks else None
    built = library(manifest, texts, machine or Machine())
    return LoadedNetwork(directory, manifest, built, called)


def library(manifest: Mapping[str, Any], texts: Mapping[str, str], machine: Machine) -> ctypes.CDLL:
    """The library of a network, built or kept from an earlier time.

    Args:
        manifest: What the network's file says: ``name``, ``flags``, ``features``, ``threads``.
        texts: Its C files, by their names.
        machine: Where it is built and run.

    Raises:
        MorelloError, UsageError: As `load_network`.
    """
    name, flags = manifest["name"], ("-O3", *manifest["flags"])
    if not machine.is_here:
        raise UsageError(
            f"'{name}' runs under {machine}, and cannot be called from Python",
            help="import networks, and load them, on a machine that runs the target",
        )
    machine.require(manifest["flags"], manifest["features"], f"'{name}'")
    digest = hashlib.sha256(repr(sorted(texts.items())).encode()).digest()
    kept = entry("network", digest, *flags, str(machine.compiler))
    contents = kept.read()
    with tempfile.TemporaryDirectory(prefix="morello-") as temporary:
        output = Path(temporary, f"{name}.so")
        if contents is None:
            build(texts, machine.compiler, flags, output, openmp=manifest["threads"] > 1)
            kept.write(output.read_bytes())
        else:
            output.write_bytes(contents)
        return ctypes.CDLL(str(output))


def _manifest(directory: Path) -> Mapping[str, Any]:
    """What the network's file says of it."""
    for path in sorted(directory.glob("*.json")):
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(document, dict) and {"arena", "kernels", "inputs"} <= document.keys():
            return document
    raise MorelloError(
        f"'{directory}' has no network", help="name a directory that 'morello import' has written"
    )
