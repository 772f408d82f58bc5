"""The few kinds of nodes that networks are made of, whatever file they are from.

Elementwise
    A template over its inputs, in the attribute ``value``; inputs broadcast as numpy's do.
Reduce
    Over the dimensions ``axes``, which stay with size 1, by ``update``: ``+=``, ``max=``, ``min=``.
SoftmaxAlong, LogSoftmaxAlong
    Along ``axis``.
Product
    Of the last two dimensions, either operand ``transposed`` or not.
Filter, Window
    Of images, channels first: sums with filters, and windows that are reduced by ``update``.
Permute, Cut, Frame
    Move elements in ways that subscripts say.
View, Piece
    The same elements in the same order: all of them, or those from the element ``start`` on.
Concat, Lookup, Convert, Move
    What no spec says: done between kernels, by `morello.networks.c_files`.
Call
    What the user's own function computes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from morello.errors import MorelloError
from morello.ir.numeric import Array
from morello.networks.arithmetic import NORMS, TRUNCATED
from morello.networks.network import Network, Node, keeps_order, with_leading_ones
from morello.records import replace

TYPES: Mapping[str, str] = {
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "int32": "s32",
    "int8": "s8",
    "uint8": "u8",
    "bool": "f32",
}
"""What specs call an element type; truth is a number."""

TYPES_ARE = "element types that kernels have: " + ", ".join(TYPES)

LOWEST = -3.4028234e38
"""Of f32: what the largest element of a window ignores."""


class UnsupportedNodeError(MorelloError):
    """A node that cannot be said."""

    def __init__(self, node: Node, reason: str, *, help: str = "") -> None:
        """``reason``: what it does that cannot be said; of a node of these kinds, the file's."""
        node = replace(node, operator=node.origin or node.operator)
        super().__init__(f"cannot import {node}: {reason}", help=help)
        self.reason = f"{node}: {reason}"


def number(value: float) -> str:
    """A number as specs write it: a whole one as it is, else the shortest that is this one in f32.

    Infinite ones become the largest.
    """
    whole = isinstance(value, int)
    text = str(int(value) if whole else np.float32(min(max(value, LOWEST), -LOWEST)))
    return f"({text})" if text.startswith("-") else text


@dataclass(slots=True)
class Translation:
    """One node of a model file as nodes of these kinds; each method adds one, and names its result.

    Attributes:
        network: Takes the values.
        node: The node.
        nodes: What says the same so far.
    """

    network: Network
    node: Node
    nodes: list[Node] = field(default_factory=list)

    # ------------------------------------------------------------------------- the node

    @property
    def inputs(self) -> tuple[str, ...]:
        """The node's inputs; one that is left out at the end is not there, another one is empty."""
        return self.node.inputs

    def input(self, place: int) -> str:
        """An input that may be left out: then it has no name."""
        return self.inputs[place] if place < len(self.inputs) else ""

    @property
    def operator(self) -> str:
        """What the file calls the node's operation."""
        return self.node.operator

    def attribute(self, name: str, default: Any) -> Any:
        """An attribute of the node."""
        return self.node.attributes.get(name, default)

    def result(self, place: int = 0) -> tuple[int, ...]:
        """The shape of an output of the node."""
        return self.network.shape(self.node.outputs[place])

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a value."""
        return self.network.shape(name)

    def type(self, name: str) -> str:
        """The element type of a value."""
        return self.network.values[name].dtype

    def is_float(self, name: str) -> bool:
        """Whether a value's elements are no whole numbers, and no truth."""
        return "float" in self.type(name)

    def limits(self, name: str) -> tuple[float, float]:
        """The least and the largest number of a value's element type."""
        if self.is_float(name):
            return LOWEST, -LOWEST
        limits = np.iinfo(self.type(name))
        return limits.min, limits.max

    def unsupported(self, reason: str) -> UnsupportedNodeError:
        """The error for what cannot be said."""
        return UnsupportedNodeError(self.node, reason)

    def data(self, name: str, what: str) -> Array:
        """The elements of what has to be a constant.

        Raises:
            UnsupportedNodeError: It is computed.
        """
        data = self.network.repeated_data(name)
        if data is None:
            raise self.unsupported(f"its {what} is computed")
        return data

    def number(self, place: int, default: float) -> float:
        """An input that has to be one number, or is left out."""
        name = self.input(place)
        if not name:
            return default
        data = self.data(name, f"input {place + 1}")
        if data.size != 1:
            raise self.unsupported(f"its input {place + 1} is no number")
        return float(data.reshape(()))

    def whole_numbers(self, name: str, place: int) -> tuple[int, ...] | None:
        """Whole numbers that newer files have as a constant input, older ones as an attribute."""
        if name in self.node.attributes:
            return tuple(map(int, self.node.attributes[name]))
        given = self.input(place)
        return None if not given else tuple(map(int, self.data(given, name).reshape(-1)))

    # ------------------------------------------------------------------------- values

    def constant(self, data: Array) -> str:
        """A constant."""
        return self.network.constant(self.node.output, data)

    def _add(
        self, kind: str, inputs: Iterable[str], shape: Iterable[int], dtype: str, **attributes: Any
    ) -> str:
        output = self.network.new(self.node.output, shape, dtype)
        node = self.node
        added = Node(kind, node.name, tuple(inputs), (output,), attributes, node.operator)
        self.nodes.append(added)
        return output

    def elementwise(
        self, value: str, *inputs: str, shape: Sequence[int] | None = None, dtype: str = ""
    ) -> str:
        """A template, with an element type, or the node's output's; in a shape, or its inputs'.

        What inputs repeat is read where it is. If all do, the result is computed once for all.
        """
        shape = tuple(np.broadcast_shapes(*map(self.shape, inputs)) if shape is None else shape)
        dtype = dtype or self.type(self.node.output)
        inputs = tuple(map(self.once, inputs))
        once = np.broadcast_shapes(*map(self.shape, inputs))
        result = self._add("Elementwise", inputs, once, dtype, value=value)
        return self.repeat(result, shape)

    def condition(self, value: str, *inputs: str) -> str:
        """A template that compares, as 0 or 1.

        Whole numbers are compared as what they are: f32 does not have all of 32 bits.
        """
        own = self.type(inputs[0])
        if own != "int32":
            return self.elementwise(value, *inputs)
        return self.cast(self.elementwise(value, *inputs, dtype=own))

    def quotient(self, a: str, b: str) -> str:
        """A quotient; of whole numbers without what is left."""
        return self.elementwise("{0} / {1}" if self.is_float(a) else TRUNCATED, a, b)

    def repeat(self, source: str, shape: Sequence[int]) -> str:
        """A tensor in a shape that it is broadcast to."""
        own = self.shape(source)
        if prod(own) == prod(shape):
            return self.view(source, shape)
        source = self.view(source, with_leading_ones(own, len(shape)))
        result = self._add("Elementwise", [source], shape, self.type(source), value="{0}")
        self.network.repeated[result] = source
        return result

    def reduce(self, source: str, axes: Sequence[int], update: str) -> str:
        """A reduction; dimensions that are reduced have size 1."""
        shape = self.shape(source)
        left = [1 if axis in axes else size for axis, size in enumerate(shape)]
        if prod(left) == prod(shape):
            return source
        dtype = self.type(source)
        return self._add("Reduce", [source], left, dtype, axes=tuple(axes), update=update)

    def along(self, kind: str, source: str, axis: int) -> str:
        """A softmax, or its logarithm."""
        return self._add(f"{kind}Along", [source], self.shape(source), self.type(source), axis=axis)

    def product(
        self, a: str, b: str, *, swap_a: bool = False, swap_b: bool = False, dtype: str = ""
    ) -> str:
        """A product of matrices, summed in an element type or that of the first."""
        left, right = self.shape(a), self.shape(b)
        batch = np.broadcast_shapes(left[:-2], right[:-2])
        shape = (*batch, left[-1 if swap_a else -2], right[-2 if swap_b else -1])
        dtype = dtype or self.type(a)
        return self._add("Product", [a, b], shape, dtype, transposed=(swap_a, swap_b))

    def filter(
        self, image: str, filters: str, shape: Sequence[int], dtype: str, **attributes: Any
    ) -> str:
        """An image with filters, summed in an element type."""
        return self._add("Filter", [image, filters], shape, dtype, **attributes)

    def window(self, image: str, shape: Sequence[int], **attributes: Any) -> str:
        """Windows of an image."""
        return self._add("Window", [image], shape, self.type(image), **attributes)

    def once(self, name: str) -> str:
        """What a tensor repeats, with as many dimensions; the tensor, if it repeats nothing."""
        return self.network.repeated.get(name, name)

    def cast(self, source: str) -> str:
        """The element type of the node's output."""
        given, wanted = (self.type(name) for name in (source, self.node.output))
        data = self.network.data(source)
        if data is not None and given != wanted:
            return self.constant(
                (data != 0).astype("f4") if wanted == "bool" else data.astype(wanted)
            )
        if wanted == "bool" and given != "bool":
            return self.elementwise("1 if {0} != 0 else 0", source)
        if TYPES.get(given, given) == TYPES.get(wanted, wanted):
            return source
        if given in TYPES and wanted in TYPES:
            return self.elementwise("{0}", source)
        return self.convert(source)

    def view(self, source: str, shape: Sequence[int]) -> str:
        """The same elements in another shape."""
        if self.shape(source) == tuple(shape):
            return source
        data = self.network.data(source)
        if data is not None:
            return self.constant(data.reshape(shape))
        return self._add("View", [source], shape, self.type(source))

    def permute(self, source: str, order: Sequence[int]) -> str:
        """Dimensions in another order; a view, where elements stay."""
        shape = self.shape(source)
        result = [shape[axis] for axis in order]
        if keeps_order(shape, order):
            return self.view(source, result)
        data = self.network.data(source)
        if data is not None:
            return self.constant(data.transpose(order))
        return self._add("Permute", [source], result, self.type(source), order=tuple(order))

    def cut(
        self,
        source: str,
        shape: Sequence[int],
        starts: Sequence[int],
        steps: Sequence[int] | None = None,
    ) -> str:
        """A part of a tensor."""
        whole, steps = self.shape(source), tuple(steps or (1,) * len(starts))
        if whole == tuple(shape):
            return source
        data = self.network.data(source)
        if data is not None:
            rows = zip(starts, shape, steps, strict=True)
            return self.constant(data[tuple(slice(a, a + (n - 1) * s + 1, s) for a, n, s in rows)])
        dtype = self.type(source)
        last = max(axis for axis, size in enumerate(whole) if size != shape[axis])
        if prod(shape[:last]) == 1 and (steps[last] == 1 or shape[last] == 1):
            start = sum(own * prod(whole[axis + 1 :]) for axis, own in enumerate(starts))
            return self._add("Piece", [source], shape, dtype, start=start)
        return self._add("Cut", [source], shape, dtype, starts=tuple(starts), steps=steps)

    def frame(self, source: str, before: Sequence[int], shape: Sequence[int], value: float) -> str:
        """A tensor in a larger one, which has one value around it."""
        if self.shape(source) == tuple(shape):
            return source
        dtype, value = self.type(source), value if self.is_float(source) else int(value)
        return self._add("Frame", [source], shape, dtype, before=tuple(before), value=value)

    def concat(self, parts: Sequence[str], axis: int) -> str:
        """Tensors one after the other."""
        if len(parts) == 1:
            return parts[0]
        shape = list(self.shape(parts[0]))
        shape[axis] = sum(self.shape(part)[axis] for part in parts)
        return self._add("Concat", parts, shape, self.type(parts[0]), axis=axis)

    def lookup(self, table: str, indices: str, *, nearest: bool = False) -> str:
        """Rows of a table; an index outside is an error, or means the nearest row."""
        shape = (*self.shape(indices), *self.shape(table)[1:])
        dtype = self.type(table)
        return self._add("Lookup", [table, indices], shape, dtype, nearest=nearest)

    def convert(self, source: str) -> str:
        """The element type of the node's output, where specs do not have both."""
        return self._add("Convert", [source], self.shape(source), self.type(self.node.output))

    def norm(self, source: str, exponent: int, total: Callable[[str], str]) -> str:
        """The root of a sum of powers of magnitudes, where ``total`` says the sum."""
        if exponent not in NORMS:
            raise self.unsupported(f"it is the norm of exponent {exponent}, not of 1 or 2")
        power, root = NORMS[exponent]
        summed = total(self.elementwise(power, source))
        return self.elementwise(root, summed) if root else summed

    def places(self, source: str) -> Array:
        """For each element of a tensor where it lies."""
        shape = self.shape(source)
        return np.arange(prod(shape), dtype=np.int32).reshape(shape)

    def move(self, source: str, places: Array) -> str:
        """The elements at these places."""
        table = self.constant(places.astype(np.int32))
        return self._add("Move", [source, table], places.shape, self.type(source))


Rewrite = Callable[[Translation], "str | Sequence[str]"]
"""Says a node by others: names what it computes for each of the node's outputs, in its shape or as
a view of that."""


def translated(network: Network, node: Node, rewrite: Rewrite) -> list[Node]:
    """The nodes that say the same as one node."""
    translation = Translation(network, node)
    results = rewrite(translation)
    every = [results] if isinstance(results, str) else results
    if lost := {*filter(None, node.outputs[len(every) :])} & network.read():
        raise translation.unsupported(f"its result '{min(lost)}' has no translation")
    for output, result in zip(node.outputs, every, strict=False):
        if output and prod(network.shape(result)) != prod(network.shape(output)):
            shapes = " and ".join(str([*network.shape(name)]) for name in (output, result))
            raise translation.unsupported(f"what the file says of its shape is not so: {shapes}")
        data = network.data(result)
        if output and data is not None:
            network.fix(output, data)
        elif output:
            translation.nodes.append(Node("View", node.name, (result,), (output,)))
            if result in network.repeated and network.shape(result) == network.shape(output):
                network.repeated[output] = network.repeated[result]
    return translation.nodes
