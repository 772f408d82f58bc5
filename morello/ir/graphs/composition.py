"""Operators that stand for graphs, and the parts that graphs are taken apart into.

A graph becomes one operator (`operation_of`), whose dimensions are those of its nodes, matched by
how tensors are indexed (`morello.ir.graphs.indexing`). To make the output smaller along a dimension
is to make every node smaller along it, if all agree on what that means; otherwise the dimension is
*pinned*, and no loop divides it as long as the graph is whole.

Where every node but the last assigns (``=``), the graph is also one statement, with the expressions
of its nodes inlined, each computed in the element type of its node. What it has to say is then all
in the statement, as that of a declared operator is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from msgspec import Struct

from morello.ir.dtypes import DType
from morello.ir.graphs.graph import Graph, Node, graph_of
from morello.ir.graphs.indexing import Access, Indexing
from morello.ir.graphs.reads import with_split_reads
from morello.ir.operators import Operation, Operator
from morello.ir.pruning import prunes


class Part(Struct, frozen=True):
    """An operation that is a part of a graph, and the tensors of the graph that it is on.

    Two operands are one tensor where that is read in two ways.
    """

    operation: Operation
    tensors: tuple[str, ...]


def part_of(graph: Graph, output: str, given: Iterable[str] = (), *, accumulating: bool) -> Part:
    """What computes a tensor of a graph where some of the others are given.

    Args:
        graph: The graph.
        output: The tensor that is computed.
        given: Computed tensors that count as inputs now.
        accumulating: Whether the last operation adds to what the output holds.
    """
    left_out = set(given) - {output}
    nodes = (node for node in graph.nodes if node.output not in left_out)
    return operation_of(graph_of(nodes, output, dict(graph.dtypes)), accumulating=accumulating)


def operation_of(graph: Graph, *, accumulating: bool = False) -> Part:
    """The operation that a graph is, and the tensors that it is on.

    That of a single node is the node's own.
    """
    if len(graph.nodes) == 1:
        (node,) = graph.nodes
        return Part(_form(node.operation, accumulating), node.tensors)
    split, tensor_of = with_split_reads(graph)
    names = _canonical_names(split)
    renamed = _renamed(split, names)
    original = {new: tensor_of.get(old, old) for old, new in names.items()}
    tensors = tuple(original[name] for name in (*renamed.inputs, renamed.output))
    return Part(Operation(_operator(renamed), 0, accumulating), tensors)


def with_operations(whole: Operation, change: Callable[[Operation], Operation]) -> Operation:
    """A graph's operation whose nodes are others, of the same operators; itself if none is."""
    composition = composition_of(whole.operator)
    assert composition is not None, "only a graph has nodes"
    graph = composition.graph
    nodes = tuple(Node(change(node.operation), node.tensors) for node in graph.nodes)
    if nodes == graph.nodes:
        return whole
    operator = _operator(Graph(nodes, graph.dtypes))
    return Operation(operator, whole.group_rank, whole.accumulating)


def composition_of(operator: Operator) -> Composition | None:
    """What it has beyond a declared operator; none if it is one."""
    composition = operator.composition
    assert composition is None or isinstance(composition, Composition)
    return composition


@dataclass(frozen=True)
class Composition:
    """What an operator that stands for a graph has beyond a declared one.

    Attributes:
        graph: The graph; its inputs and its output are named as the operator's operands.
        locals: How the operator's dimensions index each tensor that is computed on the way.
        dims: The operator's dimensions that each operation is about, by the tensor it computes.
        pinned: Dimensions that no loop may divide while the graph is whole.
        alike: Groups of dimensions that always have the same size.
        disagreed: Tensors on the way that operations index in different ways.
        batches: Dimensions that are of the group of a declaration in every operation that has them.
        hidden: Where some dimension is in no operand, what always has the same extent: the indices
            of one dimension of a tensor. Such a dimension is never divided.
        complete: Whether the operator's statement says all that the graph computes.
    """

    graph: Graph
    locals: Mapping[str, Access]
    dims: Mapping[str, frozenset[str]]
    pinned: frozenset[str]
    alike: tuple[tuple[str, ...], ...]
    complete: bool
    disagreed: frozenset[str] = frozenset()
    batches: frozenset[str] = frozenset()
    hidden: tuple[Access, ...] = ()
    _parts: dict[tuple[str, bool], tuple[Part, Part]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @cached_property
    def intermediates(self) -> tuple[str, ...]:
        """Tensors that may be computed first, to be read by the rest.

        What elementwise operations hand to each other stays inside: they are one expression. It
        does not if an operation leaves margins, merges rows, or reads in another order what is read
        elsewhere, too. Nor does it if it is read in several ways, or would be evaluated again for
        many elements of what reads it.

        A slice of an input costs nothing where it is read in place. Slices come before all else,
        one after the other: until then, every part of the graph would have the input's margins.

        No sum is computed twice: what both parts need of one has to be there before. A tensor that
        only serves another one, which has to be kept, is computed with that, if loops over that one
        divide all on the way.
        """
        slices = [name for name in self.graph.locals if self.is_slice(name)]
        if slices:
            return tuple(slices[:1])
        inside = [name for name in self.graph.locals if self._stays_inside(name)]
        others = [name for name in self.graph.locals if name not in inside]
        twice = [name for name in others if self._sums_twice(name)]
        kept = [name for name in others if name not in twice]
        served = [name for name in kept if any(self._serves(name, other) for other in kept)]
        # Each is told without the others: to switch one off only adds to what is kept.
        left_out = {*(inside if inside and prunes("inlined") else ())}
        left_out |= {*(twice if twice and prunes("sums_once") else ())}
        left_out |= {*(served if served and prunes("served") else ())}
        return tuple(name for name in self.graph.locals if name not in left_out)

    @cached_property
    def partly_tileable(self) -> bool:
        """Whether an operation of it says which of its dimensions may be divided."""
        return any(node.operation.operator.partly_tileable for node in self.graph.nodes)

    @cached_property
    def label(self) -> str:
        """Its operations as calls."""
        return self.graph.formula()

    @property
    def hides(self) -> bool:
        """Whether there are dimensions that index only what it computes on the way."""
        return bool(self.hidden)

    @cached_property
    def mixed(self) -> bool:
        """Whether it is computed in several element types."""
        return len({self.graph.dtype(node.output) for node in self.graph.nodes}) > 1

    def converts(self, name: str, dtype: DType) -> bool:
        """Whether all that reads a tensor computes with its elements in this type."""
        return all(self.graph.dtype(reader.output) == dtype for reader in self._readers(name))

    def may_be_overwritten(self, name: str) -> bool:
        """Whether the output may take the place of a tensor that is computed first, and as large.

        What reads the tensor has to be done with an element before that of the output is written.
        Sums are: all that the last operation needs of them is there before it, and loops over a
        graph compute none again for every tile. The last operation has to assign, and whatever is
        elementwise on the way to it to read each tensor as it writes its own.
        """
        last = self.graph.nodes[-1].operation
        if last.operator.reduction is not None or last.framed:
            return False
        of_it = {name}
        for node in self.graph.nodes:
            *inputs, output = zip(node.tensors, node.operation.operands, strict=True)
            if node.operation.operator.reduction is None:
                accesses = [access for tensor, access in inputs if tensor in of_it]
                if any(access != output[1] for access in accesses):
                    return False
                of_it |= {output[0]} if accesses else set()
        return True

    def parts(self, name: str, *, accumulating: bool = False) -> tuple[Part, Part]:
        """What computes an intermediate, and the rest."""
        known = self._parts.get((name, accumulating))
        if known is None:
            graph = self.graph
            known = self._parts[name, accumulating] = (
                part_of(graph, name, accumulating=False),
                part_of(graph, graph.output, [name], accumulating=accumulating),
            )
        return known

    @cached_property
    def sums(self) -> int:
        """How many of its operations reduce."""
        return sum(n.operation.operator.reduction is not None for n in self.graph.nodes)

    def occurrences(self, name: str) -> list[Node]:
        """The operations that a tensor is an operand of."""
        return [node for node, _ in self.graph.occurrences(name)]

    def is_beside(self, name: str) -> bool:
        """Whether an operand is an input that elementwise operations alone read."""
        readers = self.occurrences(name)
        return name != self.graph.output and all(
            reader.operation.operator.reduction is None for reader in readers
        )

    def is_statistic(self, name: str) -> bool:
        """Whether all that reads a tensor is elementwise, and reads its elements many times."""
        rank = len(self.locals[name])
        return all(
            reader.operation.operator.reduction is None and len(reader.operation.dims) > rank
            for reader in self._readers(name)
        )

    def _readers(self, name: str) -> list[Node]:
        return [node for node in self.occurrences(name) if node.output != name]

    def _leading_to(self, name: str, without: str = "") -> Mapping[str, Node]:
        """The operations that compute a tensor, by what they compute, where another is given."""
        nodes = (node for node in self.graph.nodes if node.output != without)
        return graph_of(nodes, name, dict(self.graph.dtypes)).computed

    def _sums_twice(self, name: str) -> bool:
        before, after = self._leading_to(name), self._leading_to(self.graph.output, without=name)
        return any(
            other in after and node.operation.operator.reduction for other, node in before.items()
        )

    def _serves(self, name: str, other: str) -> bool:
        """Whether a tensor is there for another one alone, and with none but its dimensions.

        The other one has to be kept: what reads it would evaluate it again and again. Or it is what
        becomes of a sum, element by element.
        """
        own = {dim for index in self.locals[name] for dim, _ in index.terms}
        rank = len(self.locals[other])
        again = any(rank < len(reader.operation.dims) for reader in self._readers(other))
        sums = self.graph.computed[name].operation.operator.reduction is not None
        if name == other or not (again or (sums and own == self.dims[other])):
            return False
        if name in self._leading_to(self.graph.output, without=other):
            return False
        between = self._leading_to(other).keys() - self._leading_to(name).keys()
        return own.union(*(self.dims[tensor] for tensor in between)) <= self.dims[other]

    def _turns(self, node: Node) -> bool:
        """Whether it reads a tensor in another order that something else reads as well.

        An operand of one operation is read in one order.
        """
        *inputs, output = zip(node.tensors, node.operation.operands, strict=True)
        order = [index.dims for index in output[1]]
        for tensor, access in inputs:
            read = [index.dims for index in access]
            if read != order and sorted(read) == sorted(order) and self._is_shared(tensor):
                return True
        return False

    def _is_shared(self, tensor: str) -> bool:
        """Whether several operations read a tensor, or what it is computed from."""
        before = self._leading_to(tensor).values() if tensor in self.graph.computed else ()
        names = {tensor, *(t for node in before for t in node.inputs)}
        readers = {reader.output for name in names for reader in self.occurrences(name)}
        return len(readers - {node.output for node in before}) > 1

    def is_slice(self, name: str) -> bool:
        """Whether a tensor on the way is a slice of an input."""
        node = self.graph.computed[name]
        return node.operation.operator.slices and node.inputs[0] not in self.graph.computed

    def _stays_inside(self, name: str) -> bool:
        graph, node = self.graph, self.graph.computed[name]
        if node.operation.merges or name in self.disagreed or self._turns(node):
            return False
        return all(
            reader.operation.operator.reduction is None
            and not (reader.operation.framed or reader.operation.merges)
            and len(reader.operation.dims) == len(node.operation.dims)
            for reader, _ in graph.occurrences(name)
        )


def _form(operation: Operation, accumulating: bool) -> Operation:
    return Operation(operation.operator, operation.group_rank, accumulating, operation.scalars)


def _canonical_names(graph: Graph) -> dict[str, str]:
    """Names that depend on the graph's structure alone, by those that its tensors have.

    An input is called as the first operation that reads it does, a computed tensor as what
    computes it; both with a number where that is taken.
    """
    names: dict[str, str] = {}

    def name(tensor: str, wanted: str) -> None:
        if tensor not in names:
            taken = set(names.values())
            # One name more than are taken, so that one is free.
            numbered = (f"{wanted}{n}" for n in range(2, len(taken) + 3))
            names[tensor] = next(n for n in (wanted, *numbered) if n not in taken)

    for node in graph.nodes:
        for tensor, declared in zip(node.inputs, node.operation.names, strict=False):
            name(tensor, declared)
        name(node.output, node.operation.operator.result_name)
    return names


def _renamed(graph: Graph, names: Mapping[str, str]) -> Graph:
    nodes = tuple(Node(n.operation, tuple(names[t] for t in n.tensors)) for n in graph.nodes)
    return Graph(nodes, tuple((names[t], dtype) for t, dtype in graph.dtypes))


@lru_cache(maxsize=4096)
def _operator(graph: Graph) -> Operator:
    indexing = Indexing(graph)
    statement, complete = indexing.statement()
    *inputs, output = (indexing.parameter(t) for t in (*graph.inputs, graph.output))
    return Operator(
        name=graph.key,
        doc="",
        inputs=tuple(inputs),
        output=output,
        scalars=(),
        statement=statement,
        declaration=graph.nodes[-1].operation.operator.declaration,
        stated=tuple(indexing.stated()),
        composition=Composition(
            graph,
            indexing.locals,
            indexing.dims(),
            indexing.pinned,
            tuple(indexing.alike()),
            complete,
            indexing.disagreed,
            indexing.batches(),
            tuple(indexing.hidden()),
        ),
    )
