"""Graphs: several operations of which some compute what others read, and operators made of them.

A *graph* computes one tensor. It becomes one operator (`operation_of`), whose dimensions are those
of its nodes, matched by how tensors are indexed: a dimension of the operator stands for those of
all nodes that index the same tensors alike. To make the output smaller along a dimension is to make
every node smaller along it, if all agree on what that means; otherwise the dimension is *pinned*,
and no loop divides it as long as the graph is whole.

Where every node but the last assigns (``=``) in the element type of the output, the graph is also
one statement, with the expressions of its nodes inlined. What it has to say is then all in the
statement, as that of a declared operator is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from morello.language import ast
from morello.spec.dtypes import DType
from morello.spec.operators import OperandIndex, Operation, Operator
from morello.spec.substitution import Substitution

Access = tuple[OperandIndex, ...]
"""How a tensor is indexed, one sum of dimensions for each of its own."""


@dataclass(frozen=True)
class Node:
    """An operation of one statement, on tensors by name: inputs first, the output last."""

    operation: Operation
    tensors: tuple[str, ...]

    @property
    def output(self) -> str:
        """The tensor that it computes."""
        return self.tensors[-1]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The tensors that it reads, in the order of the operation's operands."""
        return self.tensors[:-1]


@dataclass(frozen=True)
class Graph:
    """Nodes, each after those that compute what it reads; the last one computes the output.

    ``dtypes`` are the element types of all tensors. Graphs are made by `graph_of`, which gives
    equal ones equal names.
    """

    nodes: tuple[Node, ...]
    dtypes: tuple[tuple[str, DType], ...]

    @property
    def output(self) -> str:
        """The tensor that it is for."""
        return self.nodes[-1].output

    @cached_property
    def computed(self) -> Mapping[str, Node]:
        """The node of every tensor that is computed."""
        return {node.output: node for node in self.nodes}

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Tensors that are read and not computed, in the order in which they are first read."""
        read = (name for node in self.nodes for name in node.inputs)
        return tuple(dict.fromkeys(name for name in read if name not in self.computed))

    @property
    def locals(self) -> tuple[str, ...]:
        """Tensors that are computed on the way."""
        return tuple(node.output for node in self.nodes[:-1])

    def dtype(self, tensor: str) -> DType:
        """Element type of a tensor."""
        return dict(self.dtypes)[tensor]

    def occurrences(self, tensor: str) -> Iterator[tuple[Node, int]]:
        """Nodes that a tensor is an operand of, with its position among their operands."""
        for node in self.nodes:
            for position, name in enumerate(node.tensors):
                if name == tensor:
                    yield node, position

    @cached_property
    def key(self) -> str:
        """What tells graphs apart whose tensors have canonical names."""
        return self.formula(self._exact_name)

    def formula(
        self,
        name_of: Callable[[Node], str] = lambda node: node.operation.operator.name,
        tensors: Mapping[str, str] | None = None,
    ) -> str:
        """Its nodes as calls, nested where a tensor is read once.

        Args:
            name_of: What a node is called.
            tensors: Other names of the inputs.
        """
        reads = [name for node in self.nodes for name in node.inputs]
        texts = dict(tensors or {})
        shared: list[str] = []
        for node in self.nodes:
            arguments = [texts.get(name, name) for name in node.inputs]
            arguments += [f"{name}={value:g}" for name, value in node.operation.scalars]
            text = f"{name_of(node)}({', '.join(arguments)})"
            if node is self.nodes[-1] or reads.count(node.output) == 1:
                texts[node.output] = text
            else:
                shared.append(f"{node.output} = {text}")
        return "; ".join((*shared, texts[self.output]))

    def _exact_name(self, node: Node) -> str:
        operation = node.operation
        scalars = "".join(f" {name}={value!r}" for name, value in operation.scalars)
        return (
            f"{operation.operator.name}/{operation.group_rank}{scalars}:{self.dtype(node.output)}"
        )


@dataclass(frozen=True, slots=True)
class Part:
    """An operation that is a part of a graph, and the tensors of the graph that it is on."""

    operation: Operation
    tensors: tuple[str, ...]


def graph_of(nodes: Iterable[Node], output: str, dtypes: Mapping[str, DType]) -> Graph:
    """The graph of what the output needs of these nodes.

    Tensors keep their names. Nodes are in an order that depends on what reads what alone.
    """
    by_output = {node.output: node for node in nodes}
    ordered: dict[str, Node] = {}

    def visit(name: str) -> None:
        node = by_output.get(name)
        if node is None or name in ordered:
            return
        for read in node.inputs:
            visit(read)
        ordered[name] = node

    visit(output)
    found = tuple(ordered.values())
    named = dict.fromkeys(name for node in found for name in node.tensors)
    return Graph(found, tuple((name, dtypes[name]) for name in named))


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
    names = _canonical_names(graph)
    renamed = _renamed(graph, names)
    original = {new: old for old, new in names.items()}
    tensors = tuple(original[name] for name in (*renamed.inputs, renamed.output))
    return Part(Operation(_operator(renamed), 0, accumulating), tensors)


def expanded(node: Node) -> tuple[Node, ...]:
    """The nodes that an operation of several statements stands for; else the node itself."""
    operation = node.operation
    parts = operation.operator.parts
    if not parts:
        return (node,)
    names = dict(zip(operation.names, node.tensors, strict=True))
    nodes: list[Node] = []
    for part in parts:
        names.setdefault(part.output.name, f"{node.output}.{part.output.name}")
        scalars = tuple((n, v) for n, v in operation.scalars if n in part.scalars)
        rank = operation.group_rank if part.group else 0
        tensors = tuple(names[p.name] for p in part.parameters)
        nodes.append(Node(Operation(part, rank, False, scalars), tensors))
    return tuple(nodes)


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
            numbered = (f"{wanted}{n}" for n in range(2, len(taken) + 3))
            names[tensor] = next(n for n in (wanted, *numbered) if n not in taken)

    for node in graph.nodes:
        for tensor, declared in zip(node.inputs, node.operation.names, strict=False):
            name(tensor, declared)
        name(node.output, node.operation.operator.name.replace(".", "_"))
    return names


def _renamed(graph: Graph, names: Mapping[str, str]) -> Graph:
    nodes = tuple(Node(n.operation, tuple(names[t] for t in n.tensors)) for n in graph.nodes)
    return Graph(nodes, tuple((names[t], dtype) for t, dtype in graph.dtypes))


@lru_cache(maxsize=4096)
def _operator(graph: Graph) -> Operator:
    indexing = _Indexing(graph)
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
            tuple(indexing.hidden()),
        ),
    )


@dataclass(frozen=True)
class Composition:
    """What an operator that stands for a graph has beyond a declared one.

    Attributes:
        graph: The graph; its inputs and its output are named as the operator's operands.
        locals: How the operator's dimensions index each tensor that is computed on the way.
        dims: The operator's dimensions that each operation is about, by the tensor it computes.
        pinned: Dimensions that no loop may divide while the graph is whole.
        alike: Groups of dimensions that always have the same size.
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
    hidden: tuple[Access, ...] = ()
    _parts: dict[tuple[str, bool], tuple[Part, Part]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @cached_property
    def intermediates(self) -> tuple[str, ...]:
        """Tensors that may be computed first, to be read by the rest.

        Nothing is gained by keeping what elementwise operations hand to each other: they are one
        expression, unless one leaves margins, or some of them would evaluate it again and again for
        elements of its own. No sum is computed twice: what both parts need of one has to be there
        before. What serves another tensor alone, that has to be kept, is computed with it where
        loops over that one divide all on the way.
        """
        kept = [
            name
            for name in self.graph.locals
            if not self._stays_inside(name) and not self._sums_twice(name)
        ]
        return tuple(name for name in kept if not any(self._serves(name, other) for other in kept))

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

    @property
    def sums(self) -> int:
        """How many of its operations reduce."""
        return sum(n.operation.operator.reduction is not None for n in self.graph.nodes)

    def occurrences(self, name: str) -> list[Node]:
        """The operations that a tensor is an operand of."""
        return [node for node, _ in self.graph.occurrences(name)]

    def is_statistic(self, name: str) -> bool:
        """Whether all that reads a tensor is elementwise, and reads its elements many times."""
        readers = [n for n, _ in self.graph.occurrences(name) if n.output != name]
        rank = len(self.locals[name])
        return all(
            reader.operation.operator.reduction is None and len(reader.operation.dims) > rank
            for reader in readers
        )

    def _sums_twice(self, name: str) -> bool:
        graph = self.graph
        before = graph_of(graph.nodes, name, dict(graph.dtypes)).nodes
        others = [node for node in graph.nodes if node.output != name]
        after = graph_of(others, graph.output, dict(graph.dtypes)).nodes
        return any(node in after for node in before if node.operation.operator.reduction)

    def _serves(self, name: str, other: str) -> bool:
        """Whether a tensor is there for another one alone, and with none but its dimensions.

        The other one has to be kept: what reads it would evaluate it again and again. Or it is what
        becomes of a sum, element by element.
        """
        own = {dim for index in self.locals[name] for dim, _ in index.terms}
        readers = [n for n in self.occurrences(other) if n.output != other]
        again = any(len(self.locals[other]) < len(n.operation.dims) for n in readers)
        sums = self.graph.computed[name].operation.operator.reduction is not None
        if name == other or not (again or (sums and own == self.dims[other])):
            return False
        dtypes = dict(self.graph.dtypes)
        rest = (node for node in self.graph.nodes if node.output != other)
        if name in graph_of(rest, self.graph.output, dtypes).computed:
            return False
        before = graph_of(self.graph.nodes, name, dtypes).computed
        between = graph_of(self.graph.nodes, other, dtypes).computed.keys() - before.keys()
        return own.union(*(self.dims[tensor] for tensor in between)) <= self.dims[other]

    def _stays_inside(self, name: str) -> bool:
        graph, node = self.graph, self.graph.computed[name]
        return all(
            reader.operation.operator.reduction is None
            and not reader.operation.framed
            and len(reader.operation.dims) == len(node.operation.dims)
            and graph.dtype(reader.output) == graph.dtype(name)
            for reader, _ in graph.occurrences(name)
        )


# --------------------------------------------------------------------------- dimensions

_Dim = tuple[int, str]
"""A dimension of a node: the node's position and the name."""


class _Classes:
    """Dimensions of nodes that are the same one. No two of one node ever become so."""

    def __init__(self, dims: Iterable[_Dim]) -> None:
        self.members = {dim: frozenset([dim]) for dim in dims}

    def join(self, left: _Dim, right: _Dim) -> None:
        """Make two classes one, unless a node has a dimension in each."""
        ours, theirs = self.members[left], self.members[right]
        if ours == theirs or {n for n, _ in ours} & {n for n, _ in theirs}:
            return
        for dim in ours | theirs:
            self.members[dim] = ours | theirs


class _Indexing:
    """How the dimensions of a graph's operator index its tensors."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.span = graph.nodes[-1].operation.operator.statement.span
        self._names = self._named(self._classes())
        self._values: dict[str, OperandIndex] = {}
        self._follow_windows()
        self.pinned = frozenset(self._pins())
        self.locals = {name: self.access(name) for name in graph.locals}

    # ------------------------------------------------------------------ classes and names

    def _uses(self) -> Iterator[tuple[str, int, Access]]:
        """Every tensor with the position of a node that has it as an operand, and its indices."""
        for position, node in enumerate(self.graph.nodes):
            for name, access in zip(node.tensors, node.operation.operands, strict=True):
                yield name, position, access

    def _classes(self) -> _Classes:
        classes = _Classes((i, d) for i, n in enumerate(self.graph.nodes) for d in n.operation.dims)
        first: dict[tuple[str, int], _Dim] = {}
        for name, position, access in self._uses():
            for place, index in enumerate(access):
                if (plain := index.alone) is not None:
                    dim = (position, plain)
                    classes.join(first.setdefault((name, place), dim), dim)
        return classes

    def _named(self, classes: _Classes) -> dict[_Dim, str]:
        """A name for every dimension of a node, that of its class; the output's come first."""
        names: dict[_Dim, str] = {}
        for position, node in reversed(list(enumerate(self.graph.nodes))):
            for dim in node.operation.dims:
                if (position, dim) not in names:
                    name = _unused(dim, set(names.values()))
                    names |= dict.fromkeys(classes.members[position, dim], name)
        return names

    def _in_own(self, position: int, index: OperandIndex) -> OperandIndex:
        """An index of a node in the operator's dimensions."""
        terms: dict[str, int] = {}
        for dim, factor in index.terms:
            name = self._names[position, dim]
            for inner, times in self._values.get(name, OperandIndex(((name, 1),))).terms:
                terms[inner] = terms.get(inner, 0) + factor * times
        return OperandIndex(tuple(terms.items()), index.low, index.high)

    # ------------------------------------------------------------------ windows

    def _follow_windows(self) -> None:
        """Let what is read through a window only, as ``h + r``, be computed there.

        The dimension of its producer is then that sum, and so of everything that the producer reads
        along it.
        """
        for position, node in reversed(list(enumerate(self.graph.nodes[:-1]))):
            for place, index in enumerate(node.operation.operands[-1]):
                (dim, _), *_ = index.terms
                name = self._names[position, dim]
                seen = self._reads(node.output, place)
                framed = index.margins or any(i.margins for i in seen)
                if len(seen) != 1 or framed or name in self._values:
                    continue
                if self._may_follow(name, seen):
                    self._values[name] = seen.pop()

    def _reads(self, tensor: str, place: int) -> set[OperandIndex]:
        """How nodes index one dimension of a tensor that they read."""
        return {
            self._in_own(i, access[place])
            for name, i, access in self._uses()
            if name == tensor and self.graph.nodes[i].output != tensor
        }

    def _may_follow(self, name: str, window: set[OperandIndex]) -> bool:
        """Whether a dimension may become a window of others: it is in no output, nor reduced."""
        own = OperandIndex(((name, 1),))
        if own in window or any(name in dict(index.terms) for index in window):
            return False
        for position, node in enumerate(self.graph.nodes):
            dims = {d for d in node.operation.dims if self._names[position, d] == name}
            if not dims:
                continue
            if node is self.graph.nodes[-1] or dims & set(node.operation.reduced_dims):
                return False
            for place, index in enumerate(node.operation.operands[-1]):
                if dims & {d for d, _ in index.terms} and self._reads(node.output, place) - {
                    own,
                    *window,
                }:
                    return False
        return True

    # ------------------------------------------------------------------ pins

    def _seen(self, tensor: str, place: int) -> list[OperandIndex]:
        """The different ways in which one dimension of a tensor is indexed, the writer's first."""
        found = [
            (self.graph.nodes[i].output != name, self._in_own(i, access[place]))
            for name, i, access in self._uses()
            if name == tensor
        ]
        return list(dict.fromkeys(index for _, index in sorted(found, key=lambda f: f[0])))

    def _pins(self) -> Iterator[str]:
        """Dimensions that nodes do not agree on, and those of which some node needs all."""
        ranks = {name: len(access) for name, _, access in self._uses()}
        for tensor, rank in ranks.items():
            for place in range(rank):
                seen = self._seen(tensor, place)
                if len(seen) > 1:
                    yield from (d for index in seen for d, _ in index.terms)
                    if tensor not in self.graph.computed:
                        yield f"{tensor}_{place}"
        yield from self._recomputing()
        for position, node in enumerate(self.graph.nodes):
            if node.operation.operator.restricted:
                for dim in set(node.operation.dims).difference(node.operation.divisible_dims):
                    whole = self._in_own(position, OperandIndex(((dim, 1),)))
                    yield from (inner for inner, _ in whole.terms)
        outputs = {self._names[len(self.graph.nodes) - 1, d] for d in self._last.output_dims}
        for position, node in enumerate(self.graph.nodes):
            for dim in node.operation.reduced_dims:
                for inner, _ in self._in_own(position, OperandIndex(((dim, 1),))).terms:
                    if node is not self.graph.nodes[-1] or inner in outputs:
                        yield inner

    def hidden(self) -> Iterator[Access]:
        """How nodes index dimensions of tensors, where that tells sizes that no operand does."""
        operands = (*self.graph.inputs, self.graph.output)
        known = {d for name in operands for index in self.access(name) for d, _ in index.terms}
        inside = {d for name in self.graph.locals for i in self.access(name) for d, _ in i.terms}
        if inside <= known:
            return
        ranks = {name: len(access) for name, _, access in self._uses()}
        for tensor, rank in ranks.items():
            for place in range(rank):
                yield (*self._seen(tensor, place), self.access(tensor)[place])

    def alike(self) -> Iterator[tuple[str, ...]]:
        """Groups of different dimensions that index the same dimension of a tensor."""
        ranks = {name: len(access) for name, _, access in self._uses()}
        groups: list[set[str]] = []
        for tensor, rank in ranks.items():
            for place in range(rank):
                indices = (*self._seen(tensor, place), self.access(tensor)[place])
                group = {plain for index in indices if (plain := index.alone) is not None}
                joined = [other for other in groups if other & group]
                groups = [other for other in groups if other not in joined]
                groups.append(group.union(*joined))
        yield from (tuple(sorted(group)) for group in groups if len(group) > 1)

    def _recomputing(self) -> Iterator[str]:
        """Dimensions of which every part needs all of some sum: a loop would compute it again."""
        last = len(self.graph.nodes) - 1
        own = {
            d
            for dim in self._last.dims
            for d, _ in self._in_own(last, OperandIndex(((dim, 1),))).terms
        }
        for name, position, access in self._uses():
            node = self.graph.nodes[position]
            if position < last and name == node.output and node.operation.operator.reduction:
                yield from own - {d for i in access for d, _ in self._in_own(position, i).terms}

    @property
    def _last(self) -> Operation:
        return self.graph.nodes[-1].operation

    # ------------------------------------------------------------------ results

    def access(self, tensor: str) -> Access:
        """How the operator's dimensions index a tensor.

        An input on which nodes do not agree has a dimension of its own there.
        """
        rank = next(len(access) for name, _, access in self._uses() if name == tensor)
        found = []
        for place in range(rank):
            first, *others = self._seen(tensor, place)
            alone = not others or tensor in self.graph.computed
            found.append(first if alone else OperandIndex(((f"{tensor}_{place}", 1),)))
        return tuple(found)

    def dims(self) -> dict[str, frozenset[str]]:
        """The operator's dimensions that each operation is about, by the tensor it computes."""
        return {
            node.output: frozenset(
                inner
                for dim in node.operation.dims
                for inner, _ in self._in_own(position, OperandIndex(((dim, 1),))).terms
            )
            for position, node in enumerate(self.graph.nodes)
        }

    def stated(self) -> Iterator[tuple[str, int]]:
        """Dimensions whose size the declaration of a node states."""
        for position, node in enumerate(self.graph.nodes):
            for dim, size in node.operation.stated:
                plain = self._in_own(position, OperandIndex(((dim, 1),))).alone
                if plain is not None:
                    yield plain, size

    def parameter(self, tensor: str) -> ast.TensorParameter:
        """The operator's parameter for an input or the output."""
        indices = tuple(index.written(self.span) for index in self.access(tensor))
        return ast.TensorParameter(tensor, str(self.graph.dtype(tensor)), indices, span=self.span)

    def statement(self) -> tuple[ast.Statement, bool]:
        """The last node's statement, with the others inlined where that says everything."""
        complete = self._is_one_statement()
        values: dict[str, ast.Expr] = {}
        for position, node in enumerate(self.graph.nodes):
            substitution = Substitution(
                tensors=dict(zip(node.operation.names, node.tensors, strict=True)),
                accesses={t: self.access(t) for t in node.tensors},
                dims={
                    d: self._in_own(position, OperandIndex(((d, 1),))) for d in node.operation.dims
                },
                scalars=dict(node.operation.scalars),
                values=values if complete else {},
            )
            written = substitution.statement(node.operation.operator.statement)
            values[node.output] = written.value
        return written, complete

    def _is_one_statement(self) -> bool:
        *before, last = self.graph.nodes
        dtype = self.graph.dtype(last.output)
        assigned = all(
            node.operation.operator.reduction is None and self.graph.dtype(node.output) == dtype
            for node in before
        )
        ranks = {name: len(access) for name, _, access in self._uses()}
        agreed = all(len(self._seen(t, p)) == 1 for t, rank in ranks.items() for p in range(rank))
        # In the terms of a sum, what has fewer dimensions would be evaluated again and again.
        once = last.operation.operator.reduction is None or all(
            len(node.operation.dims) == len(last.operation.dims) for node in before
        )
        return assigned and agreed and once and not last.operation.framed


def _unused(wanted: str, taken: set[str]) -> str:
    numbered = (f"{wanted}{n}" for n in range(2, len(taken) + 3))
    return next(n for n in (wanted, *numbered) if n not in taken)


__all__ = [
    "Access",
    "Composition",
    "Graph",
    "Node",
    "Part",
    "expanded",
    "graph_of",
    "operation_of",
    "part_of",
]
