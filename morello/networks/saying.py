"""A part of a network as a spec: its nodes as statements with subscripts.

Sizes of 1 say nothing of where elements lie, and most are left out: a tensor is declared with the
dimensions that the first statement uses which reads or writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from morello.ir.layout import Order
from morello.networks.joining import Forms, joined
from morello.networks.kinds import TYPES, TYPES_ARE, UnsupportedNodeError, number
from morello.networks.network import Network, Node, without_ones
from morello.networks.partition import Part
from morello.networks.views import views_of_same

LETTERS = "ijklmpqrs"
ONES = "abcdefgh"
"""Names of dimensions of size 1."""

Slot = tuple[int, str]
Slots = Sequence[Slot]
"""The dimensions of a tensor as they are declared, each with its subscript."""


class PartSpec(Struct, frozen=True):
    """A part as a spec.

    Attributes:
        body: The spec's text from its arguments on: parts that are equal in it are one kernel.
        arguments: The value of each input and weight, in their order; then the output.
    """

    body: str
    arguments: tuple[str, ...]

    def text(self, name: str) -> str:
        """The whole spec."""
        return f"spec {name}({self.body}"


def spec_of(
    part: Part,
    network: Network,
    layouts: Mapping[str, Order] | None = None,
    *,
    threads: int = 1,
) -> PartSpec:
    """The spec of a part.

    Args:
        part: The part.
        network: Its network.
        layouts: In which order the dimensions of values lie that are not row-major.
        threads: How many threads may share the work.

    Raises:
        UnsupportedNodeError: A tensor has an element type that specs do not have.
    """
    scribe = _Scribe(network, part, layouts or {})
    for node in part.nodes:
        _SAY[node.operator](scribe, node)
    return scribe.finished(threads)


@dataclass(slots=True)
class _Scribe:
    """Writes one spec."""

    network: Network
    part: Part
    layouts: Mapping[str, Order]
    names: dict[str, str] = field(default_factory=dict)
    forms: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Sizes of the dimensions that a tensor is declared with."""

    declared: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Roles and element types."""

    lines: list[str] = field(default_factory=list)
    _counts: dict[str, int] = field(default_factory=dict)
    _same: dict[str, str] = field(default_factory=dict)
    """What a value is a view of, by its name."""

    def __post_init__(self) -> None:
        self._same = views_of_same(self.network)

    @property
    def images(self) -> bool:
        """Whether tensors are images, which have all of their dimensions."""
        return any(node.operator in ("Filter", "Window") for node in self.part.nodes)

    def _form(self, name: str) -> tuple[int, ...]:
        """How a tensor is declared: as filters and windows see it, or without ones."""
        shape = self.network.shape(name)
        if not self.images:
            return without_ones(shape)
        for node in self.part.nodes:
            if node.operator in ("Filter", "Window") and self.base(node.inputs[0]) == name:
                return self.network.shape(node.inputs[0])
        return shape

    # ------------------------------------------------------------------------- tensors

    def base(self, name: str) -> str:
        """What a view is of."""
        return self._same.get(name, name)

    def read(self, name: str, slots: Slots) -> str:
        """An element: declares the tensor with these dimensions, if it is not declared."""
        base = self.base(name)
        if base not in self.forms:
            role = "input" if self.network.data(base) is None else "weight"
            self._declare(base, role, [size for size, _ in slots])
        return f"{self.names[base]}[{', '.join(self._subscripts(base, slots))}]"

    def write(
        self,
        name: str,
        slots: Slots,
        value: str,
        *,
        update: str = "=",
        elsewhere: str = "",
        like: str = "",
    ) -> None:
        """A statement. ``like``: a value of the type that the result has, if it is none itself."""
        role = "output" if name == self.part.output else "local"
        self._declare(name, role, [size for size, _ in slots], like)
        rest = f" elsewhere {elsewhere}" if elsewhere else ""
        subscripts = ", ".join(subscript for _, subscript in slots)
        self.lines.append(f"{self.names[name]}[{subscripts}] {update} {value}{rest}")

    def _declare(self, name: str, role: str, form: Sequence[int], like: str = "") -> None:
        value = self.network.values[like or name]
        if value.dtype not in TYPES:
            node = self.part.nodes[0]
            raise UnsupportedNodeError(node, f"'{value.name}' is of {value.dtype}", help=TYPES_ARE)
        letter = {"input": "x", "weight": "w", "local": "t", "output": "y"}[role]
        count = self._counts[letter] = self._counts.get(letter, 0) + 1
        self.names[name] = f"{letter}{count}" if role != "output" else letter
        self.forms[name] = tuple(form)
        self.declared[name] = (role, TYPES[value.dtype])

    def _subscripts(self, base: str, slots: Slots) -> Iterator[str]:
        """Those of a tensor as it is declared: a dimension of size 1 that is not given is 0."""
        large = iter([subscript for size, subscript in slots if size != 1])
        small = iter([subscript for size, subscript in slots if size == 1])
        for size in self.forms[base]:
            yield next(small, "0") if size == 1 else next(large)

    def own_slots(self, name: str) -> Slots:
        """A tensor's dimensions with a letter for each: as it is declared, or without ones."""
        form = self.forms.get(self.base(name))
        if form is None:
            form = self._form(name)
        large, small = iter(LETTERS), iter(ONES)
        return [(size, next(small if size == 1 else large)) for size in form]

    # ------------------------------------------------------------------------- text

    def finished(self, threads: int) -> PartSpec:
        """The spec of all that was written."""
        roles = ("input", "weight", "local", "output")
        ordered = sorted(self.declared, key=lambda name: roles.index(self.declared[name][0]))
        head = f") threads {threads} {{" if threads > 1 else ") {"
        fixed = {self.names[name] for name in ordered if name in self.layouts}
        forms, statements = joined(
            {self.names[name]: self.forms[name] for name in ordered}, self.lines, fixed
        )
        lines = [*(self._declaration(name, forms) for name in ordered), *statements]
        body = "\n".join([head, *(f"  {line}" for line in lines), "}"])
        passed = (name for name in ordered if self.declared[name][0] != "local")
        return PartSpec(body, tuple(passed))

    def _declaration(self, name: str, forms: Forms) -> str:
        own, (role, dtype) = self.names[name], self.declared[name]
        shape, order = ", ".join(map(str, forms[own])), self.layouts.get(name)
        layout = "" if order is None else f" layout ({', '.join(map(str, order))})"
        return f"{role} {own}: {dtype}[{shape}]{layout}"


# --------------------------------------------------------------------------- nodes


def _large(shape: Sequence[int], slots: Slots) -> list[str]:
    """For each dimension of a shape its letter, where slots have them in order; ones have none."""
    letters = iter([letter for size, letter in slots if size != 1])
    return [next(letters) if size != 1 else "" for size in shape]


def _elementwise(scribe: _Scribe, node: Node) -> None:
    network = scribe.network
    shape = network.shape(node.output)
    alike = [
        name
        for name in node.inputs
        if network.shape(name) == shape and scribe.base(name) in scribe.forms
    ]
    slots = scribe.own_slots(alike[0] if alike else node.output)
    letters = _large(shape, slots)
    values = []
    for name in node.inputs:
        data, own = network.data(name), network.shape(name)
        if data is not None and data.size == 1 and data.item() == data.item():
            values.append(_number(node, data.item()))
        elif own == shape:
            values.append(scribe.read(name, slots))
        else:
            aligned = zip(own, letters[len(letters) - len(own) :], strict=True)
            part = [(size, letter) for size, letter in aligned if size != 1]
            if scribe.base(name) in scribe.forms:
                part += [slot for slot in slots if slot[0] == 1]
            values.append(scribe.read(name, part))
    scribe.write(node.output, slots, node.attributes["value"].format(*values))


def _number(node: Node, value: float) -> str:
    """A constant of one number, as specs write it."""
    if isinstance(value, int) and not -(2**31) <= value < 2**31:
        raise UnsupportedNodeError(node, f"it computes with {value}, which has more than 32 bits")
    return number(value)


def _without(scribe: _Scribe, name: str, axes: Sequence[int]) -> tuple[Slots, Slots]:
    """A tensor's dimensions, and those that are left without some axes."""
    shape, slots = scribe.network.shape(name), scribe.own_slots(name)
    gone = {letter for axis, letter in enumerate(_large(shape, slots)) if axis in axes}
    left = [(size, letter) for size, letter in slots if letter not in gone]
    return slots, left


def _reduce(scribe: _Scribe, node: Node) -> None:
    source = node.inputs[0]
    slots, left = _without(scribe, source, node.attributes["axes"])
    value = scribe.read(source, slots)
    scribe.write(node.output, left, value, update=node.attributes["update"])


def _softmax(scribe: _Scribe, node: Node) -> None:
    source, result = node.inputs[0], node.output
    slots, left = _without(scribe, source, (node.attributes["axis"],))
    largest, powers, total, share = (
        f"{result} {what}" for what in ("largest", "powers", "total", "share")
    )
    value = scribe.read(source, slots)
    scribe.write(largest, left, value, update="max=", like=result)
    less = f"{value} - {scribe.read(largest, left)}"
    if node.operator == "LogSoftmaxAlong":
        scribe.write(total, left, f"exp({less})", update="+=", like=result)
        scribe.write(result, slots, f"{less} - log({scribe.read(total, left)})")
        return
    scribe.write(powers, slots, f"exp({less})", like=result)
    scribe.write(total, left, scribe.read(powers, slots), update="+=", like=result)
    scribe.write(share, left, f"1 / {scribe.read(total, left)}", like=result)
    scribe.write(result, slots, f"{scribe.read(powers, slots)} * {scribe.read(share, left)}")


def _product(scribe: _Scribe, node: Node) -> None:
    network = scribe.network
    a, b = node.inputs
    left, right, result = network.shape(a), network.shape(b), network.shape(node.output)
    batch = list(zip(result[:-2], LETTERS, strict=False))
    m, n = result[-2:]
    rows, columns, terms = (
        (m, "m"),
        (n, "n"),
        (left[-2 if node.attributes["transposed"][0] else -1], "k"),
    )

    def operand(name: str, shape: Sequence[int], own: Slots, swapped: bool) -> str:
        leading = shape[:-2]
        shared = batch[len(batch) - len(leading) :]
        outer = [slot for size, slot in zip(leading, shared, strict=True) if size != 1]
        return scribe.read(name, [*outer, *(own[::-1] if swapped else own)])

    swapped = node.attributes["transposed"]
    kept = _rows_and_columns(scribe, rows, columns)
    first = operand(a, left, [d for d in (rows, terms) if d in (*kept, terms)], swapped[0])
    second = operand(b, right, [d for d in (terms, columns) if d in (terms, *kept)], swapped[1])
    outer = [slot for slot in batch if slot[0] != 1]
    scribe.write(node.output, [*outer, *kept], f"{first} * {second}", update="+=")


def _rows_and_columns(scribe: _Scribe, rows: Slot, columns: Slot) -> Slots:
    """Those that a product is said with: a matrix times a vector has one of them.

    There is less to search then. With a second product it is attention, which has both.
    """
    several = sum(node.operator == "Product" for node in scribe.part.nodes) > 1
    large = [slot for slot in (rows, columns) if slot[0] != 1]
    return large if len(large) == 1 and not several else [rows, columns]


def _image(scribe: _Scribe, node: Node) -> tuple[Slots, list[str], str]:
    """The result's dimensions, the subscripts of its places under a window, and the window's."""
    shape, attributes = scribe.network.shape(node.output), node.attributes
    places, inner = "dhw"[5 - len(shape) :], "qrs"[5 - len(shape) :]
    steps = zip(places, inner, attributes["strides"], attributes["dilations"], strict=True)
    seen = [f"{_times(s, o)} + {_times(d, i)}" for o, i, s, d in steps]
    return list(zip(shape, "nf" + places, strict=True)), seen, inner


def _times(factor: int, name: str) -> str:
    return name if factor == 1 else f"{factor} * {name}"


def _filter(scribe: _Scribe, node: Node) -> None:
    x, w = node.inputs
    shape, filters = scribe.network.shape(x), scribe.network.shape(w)
    slots, seen, inner = _image(scribe, node)
    places = list(zip(shape[2:], seen, strict=True))
    window = list(zip(filters[2:], inner, strict=True))
    if node.attributes["depthwise"]:
        image = scribe.read(x, [slots[0], slots[1], *places])
        values = scribe.read(w, [slots[1], *window])
    else:
        image = scribe.read(x, [slots[0], (shape[1], "c"), *places])
        values = scribe.read(w, [slots[1], (filters[1], "c"), *window])
    scribe.write(node.output, slots, f"{image} * {values}", update="+=")


def _window(scribe: _Scribe, node: Node) -> None:
    shape = scribe.network.shape(node.inputs[0])
    slots, seen, _ = _image(scribe, node)
    places = zip(shape[2:], seen, strict=True)
    image = scribe.read(node.inputs[0], [slots[0], slots[1], *places])
    scribe.write(node.output, slots, image, update=node.attributes["update"])


def _permute(scribe: _Scribe, node: Node) -> None:
    shape = scribe.network.shape(node.inputs[0])
    slots = [slot for slot in scribe.own_slots(node.inputs[0]) if slot[0] != 1]
    left = [axis for axis, size in enumerate(shape) if size != 1]
    moved = iter([slots[left.index(axis)] for axis in node.attributes["order"] if axis in left])
    # Those of size 1 are wherever what reads it wants them.
    result = [slot if slot[0] == 1 else next(moved) for slot in scribe.own_slots(node.output)]
    scribe.write(node.output, result, scribe.read(node.inputs[0], slots))


def _cut(scribe: _Scribe, node: Node) -> None:
    source = node.inputs[0]
    shape, result = scribe.network.shape(source), scribe.network.shape(node.output)
    letters = iter(LETTERS)
    inner, outer = [], []
    starts, steps = node.attributes["starts"], node.attributes["steps"]
    for whole, size, start, step in zip(shape, result, starts, steps, strict=True):
        if whole == 1:
            continue
        if size == 1:
            inner.append((whole, str(start)))
            continue
        letter = next(letters)
        part = letter if size == whole else f"{_times(step, letter)} + {start}"
        inner.append((whole, part))
        outer.append((size, letter))
    scribe.write(node.output, outer, scribe.read(source, inner))


def _frame(scribe: _Scribe, node: Node) -> None:
    source = node.inputs[0]
    shape, result = scribe.network.shape(source), scribe.network.shape(node.output)
    letters = "nchw" if len(shape) == 4 else LETTERS
    rest, places, framed = number(node.attributes["value"]), [], False
    inner, outer = [], []
    for own, letter, size, before in zip(
        shape, letters, result, node.attributes["before"], strict=False
    ):
        # What has one place may be read without the dimension: then only a position says where.
        alone = own == 1 < size
        inner.append((own, "0" if alone else letter))
        outer.append((size, letter if alone or size == own else f"{letter} + {before}"))
        framed |= size != own and not alone
        places += [f"{letter} == {before}"] if alone else []
    value = scribe.read(source, inner)
    for place in places:
        value = f"({value} if {place} else {rest})"
    scribe.write(node.output, outer, value, elsewhere=rest if framed else "")


_SAY: dict[str, Callable[[_Scribe, Node], None]] = {
    "Elementwise": _elementwise,
    "Reduce": _reduce,
    "SoftmaxAlong": _softmax,
    "LogSoftmaxAlong": _softmax,
    "Product": _product,
    "Filter": _filter,
    "Window": _window,
    "Permute": _permute,
    "Cut": _cut,
    "Frame": _frame,
}
