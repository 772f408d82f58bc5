"""Graphs that end as an operator of several statements does: what rules for that operator match.

A rule that names ``softmax`` is for every graph that computes its output by the statements of
``softmax``, whoever wrote them: from operands, or from what the rest of the graph computes. Which
tensor and which dimension of the graph then stand for which ones of the declaration is a `Match`.

A loop of such a rule divides a dimension that some of the statements need whole: the rule says how
to put together what the parts give. All else has to be divided along: whatever computes an input
of the matched statements must be able to compute a tile of it, from tiles of its own inputs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from morello.ir.dtypes import DTYPES
from morello.ir.graphs.composition import Composition, composition_of
from morello.ir.graphs.graph import Graph, Node, expanded
from morello.ir.graphs.indexing import Access
from morello.ir.operators import OperandIndex, Operation, Operator
from morello.ir.statements import same_value


@dataclass(frozen=True)
class Match:
    """What of a graph's operation stands for a declared operator's tensors and dimensions.

    Both by the declaration's names; tensors include those that are computed on the way.
    """

    tensors: Mapping[str, str]
    dims: Mapping[str, str]


def match_of(pattern: Operator, operator: Operator, looped: frozenset[str]) -> Match | None:
    """How a graph's operator ends as another operator of several statements does.

    Args:
        pattern: The operator of several statements, without scalars.
        operator: One that stands for a graph.
        looped: Dimensions of the pattern that are to be divided, though it needs them whole.
    """
    composition = composition_of(operator)
    if composition is None:
        return None
    whole = Operation(operator, 0)
    rank = len(whole.operands[-1])
    single = sum(not index.group for index in pattern.output.indices)
    if rank < single or (rank > single and single == len(pattern.output.indices)):
        return None
    operation = Operation(pattern, rank - single)
    found = _Comparison(_graph(operation), composition.graph).tensors()
    if found is None or _read_elsewhere(operation, found, composition.graph):
        return None
    if not _same_types(pattern, found, composition.graph):
        return None
    dims = _dims(operation, whole, composition, found)
    if dims is None:
        return None
    computed = [found[p.name] for p in pattern.inputs if found[p.name] in composition.locals]
    if not all(_gives_tiles(whole, composition, t, dims[d]) for t in computed for d in looped):
        return None
    return Match(found, dims)


def _graph(operation: Operation) -> Graph:
    """The graph of an operation of several statements, its tensors by their declared names."""
    nodes = expanded(Node(operation, operation.names))
    prefix = f"{operation.names[-1]}."
    names = {t: t.removeprefix(prefix) for node in nodes for t in node.tensors}
    renamed = tuple(Node(n.operation, tuple(names[t] for t in n.tensors)) for n in nodes)
    return Graph(renamed, ())


class _Comparison:
    """Compares a pattern's graph with another one, from the output on."""

    def __init__(self, pattern: Graph, graph: Graph) -> None:
        self.pattern = pattern
        self.graph = graph
        self.found: dict[str, str] = {}

    def tensors(self) -> dict[str, str] | None:
        """The tensor of the graph for each one of the pattern, if both end alike."""
        alike = self._same(self.pattern.output, self.graph.output)
        distinct = len(set(self.found.values())) == len(self.found)
        return self.found if alike and distinct else None

    def _same(self, wanted: str, tensor: str) -> bool:
        if wanted in self.found:
            return self.found[wanted] == tensor
        self.found[wanted] = tensor
        node = self.pattern.computed.get(wanted)
        if node is None:
            return True
        other = self.graph.computed.get(tensor)
        return (
            other is not None
            and len(node.tensors) == len(other.tensors)
            and self._same_statement(node.operation, other.operation)
            and all(map(self._same, node.inputs, other.inputs))
        )

    def _same_statement(self, wanted: Operation, own: Operation) -> bool:
        """Whether two operations have the same value, of operands that are indexed alike."""
        return _same_indices(wanted, own) and same_value(
            own.operator.statement,
            wanted.operator.statement,
            dict(zip(wanted.names, own.names, strict=True)),
            dict(own.scalars),
            dict(wanted.scalars),
        )


def _same_indices(wanted: Operation, own: Operation) -> bool:
    """Whether operands are indexed alike, by dimensions under other names."""
    forth: dict[str, str] = {}
    for indices, others in zip(wanted.operands, own.operands, strict=True):
        if len(indices) != len(others):
            return False
        for index, other in zip(indices, others, strict=True):
            if index.alone is None or other.alone is None:
                return False
            if forth.setdefault(index.alone, other.alone) != other.alone:
                return False
    return len(set(forth.values())) == len(forth)


def _read_elsewhere(operation: Operation, found: Mapping[str, str], graph: Graph) -> bool:
    """Whether something that is not matched reads what the matched statements compute."""
    inner = {found[name] for name in found if name not in operation.names}
    matched = inner | {graph.output}
    return any(inner & {*node.inputs} for node in graph.nodes if node.output not in matched)


def _same_types(pattern: Operator, tensors: Mapping[str, str], graph: Graph) -> bool:
    """Whether tensors are of the types that the declaration gives them, each variable one type.

    What is computed on the way is of the output's.
    """
    declared = {p.name: p.dtype for p in pattern.parameters}
    types: dict[str, str] = {name: name for name in DTYPES}
    for name, tensor in tensors.items():
        own = str(graph.dtype(tensor))
        if types.setdefault(declared.get(name, pattern.output.dtype), own) != own:
            return False
    return True


def _dims(
    pattern: Operation, whole: Operation, composition: Composition, tensors: Mapping[str, str]
) -> dict[str, str] | None:
    """The graph's dimension for each one of the pattern, if all have one of their own."""
    found: dict[str, str] = {}
    for name, indices in zip(pattern.names, pattern.operands, strict=True):
        for index, own in zip(indices, _access(whole, composition, tensors[name]), strict=True):
            if index.alone is None or own.alone is None:
                return None
            if found.setdefault(index.alone, own.alone) != own.alone:
                return None
    bound = {d for group in composition.alike for d in group}
    bound |= {d for access in composition.hidden for index in access for d, _ in index.terms}
    distinct = len(set(found.values())) == len(found)
    return found if distinct and not bound & {*found.values()} else None


def _access(whole: Operation, composition: Composition, tensor: str) -> Access:
    """How the dimensions of a graph's operation index a tensor."""
    if tensor in composition.locals:
        return composition.locals[tensor]
    return whole.operands[whole.names.index(tensor)]


def _gives_tiles(whole: Operation, composition: Composition, tensor: str, dim: str) -> bool:
    """Whether what computes a tensor computes a tile along ``dim`` from tiles of its inputs."""
    producer, _ = composition.parts(tensor)
    operation = producer.operation
    pairs = zip(composition.locals[tensor], operation.operands[-1], strict=True)
    own = {found.alone for index, found in pairs if index.alone == dim}
    if not own <= {*operation.divisible_dims}:
        return False
    return all(
        _moves(index, {dim}) == _moves(other, own) != "in a sum"
        for name, access in zip(producer.tensors, operation.operands, strict=True)
        for index, other in zip(_access(whole, composition, name), access, strict=True)
    )


def _moves(index: OperandIndex, dims: Collection[str | None]) -> str:
    """Whether an index is one of these dimensions, has it in a sum, or neither."""
    if index.alone in dims:
        return "alone"
    return "in a sum" if any(d in dims for d, _ in index.terms) else ""
