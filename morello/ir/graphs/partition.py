"""Where long graphs are cut, so that the time and memory they take grow with their length only.

Statements are inlined into each other, so an operation that reads a tensor twice doubles what is
written for it: forty of them in a chain would be a million million terms. A tensor that would make
an expression or a graph too large is therefore kept in memory: by its terms, the tensors that it
reads, or its operations. So is one whose size nothing else would tell: what is filled has no
operand, and what sums it up has no trace of it in its result. Where sums are cut is in
`morello.ir.graphs.multi_output`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache

from msgspec import Struct

from morello.ir.graphs.graph import Node
from morello.ir.operators import OperandIndex, Operator
from morello.ir.sizes import dims_told
from morello.language import ast
from morello.language.traverse import subexpressions

MOST_NODES = 128
"""Operations of one graph."""

MOST_TERMS = 200
"""Parts of one expression, with everything inlined. Walks over it take a few frames for each."""


MOST_READS = 12
"""Tensors that one expression reads, with everything inlined: machines have few registers, and a
kernel may want each of these tensors in one."""


class _Growth(Struct, frozen=True):
    """What computes a tensor: its expression's terms and reads, and its graph's operations."""

    terms: int
    reads: frozenset[str]
    nodes: frozenset[str]

    @property
    def too_large(self) -> bool:
        sizes = (self.terms, len(self.reads), len(self.nodes))
        return any(n > most for n, most in zip(sizes, _MOST, strict=True))


_MOST = (MOST_TERMS, MOST_READS, MOST_NODES)


def tensors_to_keep(nodes: Sequence[Node], outputs: Collection[str]) -> list[str]:
    """The tensors to keep so that no graph is too large, besides the outputs.

    Args:
        nodes: Operations, each after those whose results it reads.
        outputs: Tensors that are kept in any case.
    """
    kept: dict[str, None] = dict.fromkeys(outputs)
    known: dict[str, _Growth] = {}
    for node in nodes:
        inputs = {name: known[name] for name in node.inputs if name in known and name not in kept}
        grown = _grown(node, inputs)
        for name in sorted(inputs, key=lambda n: (-inputs[n].terms, -len(inputs[n].nodes), n)):
            if not grown.too_large:
                break
            kept[name] = None
            del inputs[name]
            grown = _grown(node, inputs)
        known[node.output] = grown
    return [name for name in kept if name not in outputs]


def tensors_that_tell_sizes(nodes: Sequence[Node], kept: Collection[str]) -> list[str]:
    """The tensors to keep so that operands of every graph tell the sizes of all dimensions.

    Args:
        nodes: Operations, each after those whose results it reads.
        kept: Tensors that are kept in any case.
    """
    found: dict[str, None] = {}
    untold: dict[str, frozenset[int]] = {}
    for node in nodes:
        operation, tells = node.operation, list[OperandIndex]()
        for name, access in zip(node.inputs, operation.operands, strict=False):
            hidden = untold.get(name, ())
            tells += (index for place, index in enumerate(access) if place not in hidden)
        output = operation.operands[-1]
        told = dims_told(operation, tells)
        if not dims_told(operation, [*tells, *output]).issuperset(operation.dims):
            more = [name for name in node.inputs if untold.pop(name, ())]
            found |= dict.fromkeys(more)
            # With those kept, the operands of this one tell every size.
            told = frozenset(operation.dims)
        if node.output not in kept:
            untold[node.output] = frozenset(
                place for place, index in enumerate(output) if not told.issuperset(index.dims)
            )
    return list(found)


def _grown(node: Node, inputs: dict[str, _Growth]) -> _Growth:
    """What computes the output of a node, where these inputs are not in memory."""
    own, reads = _terms(node.operation.operator)
    found = [inputs.get(name, _read(name)) for name in node.inputs]
    inlined = sum(
        reads.get(n, 1) * g.terms for n, g in zip(node.operation.names, found, strict=False)
    )
    within = frozenset([node.output]).union(*(growth.nodes for growth in found))
    if node.operation.operator.reduction:  # is not inlined: what reads it reads an element
        return _Growth(1, frozenset([node.output]), within)
    return _Growth(own + inlined, frozenset[str]().union(*(g.reads for g in found)), within)


def _read(name: str) -> _Growth:
    """Of a tensor that is in memory."""
    return _Growth(1, frozenset([name]), frozenset())


@lru_cache(maxsize=4096)
def _terms(operator: Operator) -> tuple[int, dict[str, int]]:
    """The parts of an operator's expression that read no tensor, and how often each is read."""
    reads: dict[str, int] = {}
    own = 0
    for part in subexpressions(operator.statement.value):
        if isinstance(part, ast.Element):
            reads[part.tensor] = reads.get(part.tensor, 0) + 1
        else:
            own += 1
    return own, reads
