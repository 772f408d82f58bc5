"""Graphs that end as an operator of several statements does."""

from __future__ import annotations

import pytest

from morello.ir.dtypes import DTYPES, DType
from morello.ir.graphs.composition import composition_of, operation_of
from morello.ir.graphs.graph import Node, expanded, graph_of
from morello.ir.graphs.subgraphs import Match, match_of
from morello.ir.operators import Operator
from tests.ir.nodes import Nodes, declared

F32 = DTYPES["f32"]


@pytest.fixture(scope="module")
def node() -> Nodes:
    return Nodes(declared())


def _weighted(node: Nodes, scores: str, rows: str = "v") -> list[Node]:
    """The statements of ``weighted``, by other operators, and the rows transposed or not."""
    return [
        node("largest", scores, "m"),
        node("less", scores, "m", "d"),
        node("product", "d", rows, "o"),
    ]


def _match(node: Nodes, *nodes: Node, **others: DType) -> tuple[Operator, Match | None]:
    every = [inner for node in nodes for inner in expanded(node)]
    dtypes = {name: F32 for node in every for name in node.tensors} | others
    operator = operation_of(graph_of(every, nodes[-1].output, dtypes)).operation.operator
    return operator, match_of(node.operators["weighted"], operator, frozenset("j"))


@pytest.mark.parametrize("scores", ["given", "a product", "several operations", "the operator"])
def test_what_ends_alike(node: Nodes, scores: str) -> None:
    """Whoever wrote the statements, and whatever computes the scores."""
    before = {
        "given": [],
        "the operator": [],
        "a product": [node("product", "q", "k", "x")],
        "several operations": [
            node("product", "q", "k", "s"),
            node("plus", "s", "mask", "t"),
            node("times", "t", "x", factor=0.5),
        ],
    }[scores]
    last = [node("weighted", "x", "v", "o")] if scores == "the operator" else _weighted(node, "x")
    operator, found = _match(node, *before, *last)
    composition = composition_of(operator)
    assert found is not None
    assert composition is not None
    graph = composition.graph
    product = graph.computed[found.tensors["O"]]
    assert product is graph.nodes[-1]
    assert product.inputs == (found.tensors["D"], found.tensors["V"])
    assert graph.computed[found.tensors["D"]].inputs == (found.tensors["X"], found.tensors["M"])
    assert (found.tensors["X"] in composition.locals) == bool(before)
    indices = {n: [i.alone for i in composition.locals[found.tensors[n]]] for n in ("M", "D")}
    assert indices == {"M": [found.dims["i"]], "D": [found.dims["i"], found.dims["j"]]}


def test_another_end(node: Nodes) -> None:
    """What comes after, another statement, and an operand in another place are no match."""
    after = _match(node, *_weighted(node, "x"), node("negate", "o", "y"))
    other = _match(node, node("negate", "x", "m2", rank=1), *_weighted(node, "x")[:1])
    swapped = _match(node, *_weighted(node, "x")[:2], node("product", "v", "d", "o"))
    mixed = _match(
        node,
        node("largest", "z", "m"),
        node("less", "x", "m", "d"),
        node("product", "d", "v", "o"),
    )
    assert [found for _, found in (after, other, swapped, mixed)] == [None] * 4


def test_what_the_rest_reads(node: Nodes) -> None:
    """No other operation may read what the rule computes its own way."""
    rows = [node("product", "d", "w", "v")]
    _, found = _match(node, *_weighted(node, "x")[:2], *rows, node("product", "d", "v", "o"))
    assert found is None


def test_scores_that_need_whole_rows(node: Nodes) -> None:
    """A loop over blocks cannot compute them block by block."""
    _, found = _match(node, node("centred", "s", "x"), *_weighted(node, "x"))
    assert found is None


def test_dimensions_of_one_size(node: Nodes) -> None:
    """Rows and columns of a square can only be divided together."""
    _, found = _match(node, node("product", "s", "s", "x"), *_weighted(node, "x", "s"))
    assert found is None


@pytest.mark.parametrize("tensor", ["x", "v", "m", "o"])
def test_other_types(node: Nodes, tensor: str) -> None:
    """All are of one type in the declaration, so that rules may compute one in place of another."""
    _, found = _match(node, *_weighted(node, "x"), **{tensor: DTYPES["s32"]})
    assert found is None
