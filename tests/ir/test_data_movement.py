"""What a graph only rearranges: what it can be seen in, and what has to lie together for that."""

from __future__ import annotations

import pytest

from morello.ir.dtypes import DTYPES
from morello.ir.graphs.composition import operation_of
from morello.ir.graphs.data_movement import rearranged
from morello.ir.graphs.graph import Node, graph_of
from morello.ir.layout import Axis
from morello.ir.operators import Operator
from tests.ir.nodes import Nodes, declared

F32, BF16 = DTYPES["f32"], DTYPES["bf16"]


@pytest.fixture(scope="module")
def node() -> Nodes:
    return Nodes(declared())


def _operator(*nodes: Node, **types: str) -> Operator:
    dtypes = {t: DTYPES[types.get(t, "f32")] for one in nodes for t in one.tensors}
    return operation_of(graph_of(nodes, nodes[-1].output, dtypes)).operation.operator


def test_a_transpose_is_seen_in_another_order(node: Nodes) -> None:
    read = _operator(node("turned", "x", "t"), node("product", "t", "b", "y"))
    view_map = rearranged(read, "turned", "X")
    assert view_map is not None
    assert (view_map.axes, view_map.joins, view_map.position) == ((Axis(1), Axis(0)), (), 0)
    written = _operator(node("product", "a", "b", "t"), node("turned", "t", "y"))
    view_map = rearranged(written, "product", "turned")
    assert view_map is not None
    assert (view_map.axes, view_map.position) == ((Axis(1), Axis(0)), 1)


def test_rows_that_are_split_are_two_steps_along_one_dimension(node: Nodes) -> None:
    operator = _operator(node("split", "x", "t", width=4), node("product", "t", "b", "y"))
    view_map = rearranged(operator, "split", "X")
    assert view_map is not None
    assert view_map.axes == (Axis(0, 4), Axis(0, 1))
    assert not view_map.joins
    assert not view_map.plain


def test_rows_that_are_merged_have_to_lie_together(node: Nodes) -> None:
    operator = _operator(node("merged", "x", "t", width=4), node("window", "t", "w", "y"))
    view_map = rearranged(operator, "merged", "X")
    assert view_map is not None
    [axis] = view_map.axes
    assert (axis, axis.runs_on) == (Axis(1), True)
    [join] = view_map.joins
    assert (join.outer, join.inner, join.above, join.below) == ("i", "j", 4, 1)


def test_what_is_computed_is_no_view(node: Nodes) -> None:
    """A value, a frame, another type, or a tensor that something else is read beside."""
    negated = _operator(node("negate", "x", "t"), node("product", "t", "b", "y"))
    assert rearranged(negated, "negate", "X") is None
    framed = _operator(node("negate", "x", "t", rank=1), node("framed", "t", "y", edge=1))
    assert rearranged(framed, "negate", "framed") is None
    other = _operator(node("turned", "x", "t"), node("product", "t", "b", "y"), x="bf16")
    assert rearranged(other, "turned", "X") is None
    two = _operator(node("turned", "x", "t"), node("product", "t", "b", "y"))
    assert rearranged(two, "turned", "B") is None
    assert rearranged(node("negate", "x", "y").operation.operator, "X", "Y") is None
