"""Which dimensions are a batch, and what an operation is for one element of it."""

from __future__ import annotations

import pytest

from morello.ir.dtypes import DTYPES
from morello.ir.graphs.batches import batch_dims, without_batch
from morello.ir.graphs.composition import Part, operation_of
from morello.ir.graphs.graph import Node, graph_of
from morello.ir.operators import Operation
from tests.search.machines import installed

F32 = DTYPES["f32"]


def _operation(name: str, rank: int, **scalars: float) -> Operation:
    return Operation(installed().operators[name], rank, False, tuple(scalars.items()))


def _graph(*nodes: Node) -> Part:
    dtypes = {name: F32 for node in nodes for name in node.tensors}
    return operation_of(graph_of(nodes, nodes[-1].output, dtypes))


def _scores(rank: int, mask: str = "add") -> Part:
    """Scores of queries by keys, to each of which a mask is added, multiplied by values."""
    return _graph(
        Node(_operation("matmul_nt", rank), ("q", "k", "s")),
        Node(_operation(mask, rank + 2 if mask == "add" else rank + 1), ("s", "m", "t")),
        Node(_operation("matmul", rank), ("t", "v", "o")),
    )


@pytest.mark.parametrize(
    ("name", "rank", "expected"),
    [
        ("matmul", 0, ()),
        ("matmul", 2, ("b0", "b1")),
        ("row_sum", 1, ()),  # rows that are summed together
        ("row_sum", 3, ("i0", "i1", "i2")),
        ("add", 3, ()),
        ("copy", 3, ()),
    ],
)
def test_declared(name: str, rank: int, expected: tuple[str, ...]) -> None:
    """Dimensions of the group, of what sums and has two dimensions left."""
    operation = _operation(name, rank)
    group = operation.operator.group
    assert batch_dims(operation) == tuple(d.replace("i", str(group)) for d in expected)


def test_one_element_is_of_the_same_declaration() -> None:
    part = without_batch(_operation("matmul", 2), "b0")
    assert part == Part(_operation("matmul", 1), ("A", "B", "C"))


def test_of_a_graph() -> None:
    """It is the graph of its operations for one element, whichever dimension that is of."""
    whole, single = _scores(2).operation, _scores(1).operation
    dims = batch_dims(whole)
    assert len(dims) == 2
    for dim in dims:
        part = without_batch(whole, dim)
        assert part.operation == single
        assert part.tensors == whole.names
    assert batch_dims(_scores(0).operation) == ()


def test_what_elementwise_operations_read_may_be_the_same_for_all() -> None:
    """A vector that is added to each row has no index for the batch."""
    whole = _scores(1, mask="add_bias").operation
    (dim,) = batch_dims(whole)
    assert without_batch(whole, dim).operation == _scores(0, mask="add_bias").operation


def test_what_a_sum_reads_may_not() -> None:
    """Of the rows of a matrix, each is multiplied by the same one."""
    rows = _graph(
        Node(_operation("matmul", 0), ("a", "b", "c")),
        Node(_operation("row_sum", 1), ("c", "y")),
    )
    assert batch_dims(rows.operation) == ()
