"""The C that runs a network: its kernels, one after the other, and what is done between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from math import prod

from jinja2 import Environment, StrictUndefined, Template
from msgspec import Struct

from morello.codegen.c.names import unique
from morello.errors import MorelloError
from morello.ir.numeric import Array
from morello.networks.kinds import UnsupportedNodeError
from morello.networks.longs import LONG, NARROW
from morello.networks.memory import Arena, Place, bytes_of, is_in_place
from morello.networks.network import Network, Node
from morello.networks.partition import Step

C_TYPES: Mapping[str, str] = {
    "float32": "float",
    "float64": "double",
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
    "int64": "int64_t",
    "int32": "int32_t",
    "int8": "int8_t",
    "uint8": "uint8_t",
    "bool": "float",
}
"""What C calls an element type; truth that is computed is a number."""


class Argument(Struct, frozen=True):
    """An argument of the network's function."""

    name: str
    type: str
    shape: list[int]
    c: str
    argument: str


def arguments_of(network: Network) -> list[Argument]:
    """The inputs, and then the outputs.

    Raises:
        MorelloError: One has an element type that no argument has.
    """
    found: list[Argument] = []
    roles = (("in", network.inputs), ("out", network.outputs))
    for role, name in ((role, name) for role, names in roles for name in names):
        value = network.values[name]
        if value.dtype not in C_TYPES or value.dtype == "bool":
            raise MorelloError(
                f"'{name}' is of {value.dtype}",
                help=f"arguments are of {', '.join(t for t in C_TYPES if t != 'bool')}",
            )
        c_name = unique(f"{role}_{name}", {a.argument for a in found})
        shape = list(value.shape)
        found.append(Argument(name, value.dtype, shape, C_TYPES[value.dtype], c_name))
    return found


def check_types(network: Network, nodes: Iterable[Node]) -> None:
    """Demand that what is done between kernels is on tensors that C has.

    Raises:
        UnsupportedNodeError: One has another element type.
    """
    for node in nodes:
        for name in (*filter(None, node.inputs), *node.results):
            value = network.values[name]
            if value.dtype not in C_TYPES:
                message = f"'{name}' is of {value.dtype}"
                help = f"between kernels there are {', '.join(C_TYPES)}"
                raise UnsupportedNodeError(node, message, help=help)


class Writer(Struct, frozen=True):
    """Writes the steps of a network.

    Attributes:
        network: The network.
        arena: Where its values lie.
        constants: Where each constant lies that is read between kernels.
        arguments: C names of the network's arguments.
        calls: The number of each node that is left to the user, by its first output.
    """

    network: Network
    arena: Arena
    constants: Mapping[str, int]
    arguments: Mapping[str, str]
    calls: Mapping[str, int]

    def call(
        self, kernel: str, names: Sequence[str], weights: Mapping[str, int], scratch: int | None
    ) -> str:
        """The call of a kernel.

        Args:
            kernel: Its name.
            names: Its arguments, the output last.
            weights: Where those lie in the file of weights that are in it.
            scratch: Where its workspace is, if it has one.
        """
        passed = []
        for name in names:
            if name in weights:
                passed.append(f"(const {self._type(name)} *)(w + {weights[name]})")
            else:
                passed.append(self.pointer(name, const=name != names[-1]))
        passed.append("NULL" if scratch is None else f"a + {scratch}")
        return f"  {kernel}({', '.join(passed)});"

    def between(self, node: Node) -> str:
        """What is done between kernels; nothing where a value is in its place already."""
        return _BETWEEN[node.operator](self, node)

    def pointer(self, name: str, *, const: bool = True) -> str:
        """The address of a value."""
        type_ = f"{'const ' if const else ''}{self._type(name)} *"
        place = self.arena.places[name]
        base, offset = self._base(place)
        if place.argument and not offset:
            argument = self.network.values[place.argument]
            if C_TYPES[argument.dtype] == self._type(name):
                return base
        return f"({type_})({base} + {offset})"

    def _base(self, place: Place) -> tuple[str, int]:
        if place.constant:
            return "w", self.constants[place.constant] + place.offset
        if place.argument:
            name = self.arguments[place.argument]
            return (f"(unsigned char *){name}" if place.offset else name), place.offset
        return "a", place.offset

    def _type(self, name: str) -> str:
        return C_TYPES[self.network.values[name].dtype]

    def copied(self, output: str) -> str:
        """A copy of what is computed elsewhere to an argument."""
        size = bytes_of(self.network, output)
        return f"  memcpy({self.arguments[output]}, {self.pointer(output)}, {size});"

    def concat(self, node: Node) -> str:
        """Copies of what is not in its place."""
        network, result = self.network, self.network.shape(node.output)
        axis = node.attributes["axis"]
        there = is_in_place(network, node, self.arena)
        rows, lines, offset = prod(result[:axis]), [], 0
        stride = bytes_of(network, node.output) // rows
        for name, done in zip(node.inputs, there, strict=True):
            size = bytes_of(network, name) // rows
            target = self.pointer(node.output, const=False)
            if not done:
                lines += [
                    f"  for (size_t i = 0; i < {rows}; i++) {{",
                    f"    memcpy((unsigned char *){target} + i * {stride} + {offset},",
                    f"        (const unsigned char *){self.pointer(name)} + i * {size}, {size});",
                    "  }",
                ]
            offset += size
        return "\n".join(lines) or "  /* all of it is computed in its place */"

    def move(self, node: Node) -> str:
        """Elements by a table of places."""
        source, table = node.inputs
        count = self.network.values[node.output].elements
        places = f"(const int32_t *)(w + {self.constants[table]})"
        return _lines(
            f"const int32_t *const places = {places};",
            f"{self._array('from', source)}",
            f"{self._array('to', node.output, const=False)}",
            f"for (size_t i = 0; i < {count}; i++) to[i] = from[places[i]];",
        )

    def convert(self, node: Node) -> str:
        """Elements in another type. Whole numbers of 64 bits have to be numbers of 32."""
        count = self.network.values[node.output].elements
        each = f"for (size_t i = 0; i < {count}; i++)"
        checked = [
            "int lost = 0;",
            f"{each} lost |= to[i] != from[i];",
            "if (lost) return -3;",
        ]
        return _lines(
            self._array("from", node.inputs[0]),
            self._array("to", node.output, const=False),
            f"{each} to[i] = ({self._type(node.output)})from[i];",
            *(checked if narrows(self.network, node) else ()),
        )

    def lookup(self, node: Node) -> str:
        """Rows of a table by indices that are data.

        A negative one counts from the end, and none may be outside; or the nearest row is meant.
        """
        table, indices = node.inputs
        rows = self.network.shape(table)[0]
        size = bytes_of(self.network, table) // rows
        count = self.network.values[indices].elements
        if node.attributes["nearest"]:
            found = [
                "const int64_t from_0 = indices[i] < 0 ? 0 : indices[i];",
                f"const int64_t row = from_0 < {rows} ? from_0 : {rows - 1};",
            ]
        else:
            found = [
                f"const int64_t row = indices[i] < 0 ? (int64_t)indices[i] + {rows} : indices[i];",
                f"if (row < 0 || row >= {rows}) return -1;",
            ]
        return _lines(
            self._array("indices", indices),
            f"const unsigned char *const table = (const unsigned char *){self.pointer(table)};",
            f"unsigned char *const to = (unsigned char *){self.pointer(node.output, const=False)};",
            f"for (size_t i = 0; i < {count}; i++) {{",
            *(f"  {line}" for line in found),
            f"  memcpy(to + i * {size}, table + (size_t)row * {size}, {size});",
            "}",
        )

    def call_back(self, node: Node) -> str:
        """A call of the user's function."""
        number = self.calls[node.output]
        inputs = [self.pointer(name) if name else "NULL" for name in node.inputs]
        outputs = [self.pointer(name, const=False) for name in node.results]
        return _lines(
            f"const void *const inputs[] = {{{', '.join(inputs) or 'NULL'}}};",
            f"void *const outputs[] = {{{', '.join(outputs)}}};",
            "if (model->callback == NULL) return -2;",
            f"const int status = model->callback(model->user, {number}, inputs, outputs);",
            "if (status != 0) return status;",
        )

    def _array(self, name: str, value: str, *, const: bool = True) -> str:
        type_ = f"{'const ' if const else ''}{self._type(value)} *const"
        return f"{type_} {name} = {self.pointer(value, const=const)};"


def narrows(network: Network, node: Node) -> bool:
    """Whether a node makes whole numbers of 64 bits ones of 32, in which networks compute."""
    if node.operator != "Convert":
        return False
    return [network.values[name].dtype for name in (*node.inputs, node.output)] == [LONG, NARROW]


def _lines(*lines: str) -> str:
    return "\n".join(["  {", *(f"    {line}" for line in lines), "  }"])


_BETWEEN: dict[str, Callable[[Writer, Node], str]] = {
    "Concat": Writer.concat,
    "Call": Writer.call_back,
    "Lookup": Writer.lookup,
    "Convert": Writer.convert,
    "Move": Writer.move,
}


def constants_between(network: Network, steps: Sequence[Step]) -> dict[str, Array]:
    """The constants that are read between kernels, or wanted, by name."""
    read = (name for step in steps if isinstance(step, Node) for name in step.inputs)
    names = dict.fromkeys([*filter(None, read), *network.outputs])
    return {name: data for name in names if (data := network.data(name)) is not None}


@cache
def template(name: str) -> Template:
    """A template of this package."""
    text = files("morello.networks").joinpath(f"templates/{name}.jinja").read_text("utf-8")
    environment = Environment(
        undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False
    )
    return environment.from_string(text)
