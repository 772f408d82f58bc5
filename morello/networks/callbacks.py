"""Functions of the user that compute what a network leaves to them, on numpy arrays."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from morello.errors import UsageError
from morello.ir.numeric import Array
from morello.language.diagnostics import suggestion

FAILED = 1
"""What the C function returns when a function has raised an error."""

Function = Callable[..., Any]

_Pointers = ctypes.POINTER(ctypes.c_void_p)
_Prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, _Pointers, _Pointers)


class Callbacks:
    """The one C function that the network calls, for all nodes that are left to the user."""

    def __init__(
        self, calls: Sequence[Mapping[str, Any]], functions: Mapping[str, Function]
    ) -> None:
        """``calls``: what the network's file says of these nodes; ``functions``: by their names.

        Raises:
            UsageError: One is missing, or there is no such node.
        """
        names = [call["name"] for call in calls]
        for call in calls:
            if call["name"] not in functions:
                raise UsageError(
                    f"{call['operator']} '{call['name']}' is left to a function of yours",
                    help=f"pass it: callbacks={{'{call['name']}': function}}",
                )
        for name in functions:
            if name not in names:
                message = f"no node '{name}' is left to a function"
                raise UsageError(message, help=suggestion(name, names))
        self._calls = calls
        self._functions = [functions[name] for name in names]
        self._local = threading.local()
        self.pointer = _Prototype(self._call)

    def raised(self) -> BaseException | None:
        """The error that the last function of this thread has raised; it is forgotten."""
        error: BaseException | None = getattr(self._local, "error", None)
        self._local.error = None
        return error

    def _call(self, _user: int | None, number: int, inputs: Any, outputs: Any) -> int:
        try:
            self._compute(number, inputs, outputs)
        except BaseException as error:  # C passes no exception on
            self._local.error = error
            return FAILED
        return 0

    def _compute(self, number: int, inputs: Any, outputs: Any) -> None:
        call = self._calls[number]
        given = [
            None if each is None else _meant(_array(each, inputs[place]), each["dtype"])
            for place, each in enumerate(call["inputs"])
        ]
        results = self._functions[number](*given)
        every = results if isinstance(results, tuple) else (results,)
        if len(every) != len(call["outputs"]):
            raise UsageError(
                f"the function for '{call['name']}' gives {len(every)} arrays",
                help=f"{len(call['outputs'])} are expected",
            )
        for place, (each, result) in enumerate(zip(call["outputs"], every, strict=True)):
            array = np.asarray(result)
            if array.shape != tuple(each["shape"]):
                raise UsageError(
                    f"the function for '{call['name']}' gives an array of {list(array.shape)}",
                    help=f"expected {each['dtype']}{each['shape']}",
                )
            _array(each, outputs[place])[...] = array


def _array(tensor: Mapping[str, Any], address: int) -> Array:
    """A tensor where it lies; truth is a number there."""
    dtype = np.dtype("float32" if tensor["dtype"] == "bool" else tensor["dtype"])
    count = int(np.prod(tensor["shape"], dtype=np.int64))
    memory = (ctypes.c_uint8 * (count * dtype.itemsize)).from_address(address)
    return np.ctypeslib.as_array(memory).view(dtype).reshape(tensor["shape"])


def _meant(array: Array, dtype: str) -> Array:
    """What a function is given: its own copy, and truth as truth."""
    return array != 0 if dtype == "bool" else array.copy()
