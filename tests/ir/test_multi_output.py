"""Graphs with several results: what computes them, in which order, and what is kept for several."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from morello.ir.dtypes import DTYPES
from morello.ir.graphs.composition import composition_of
from morello.ir.graphs.graph import Node, expanded, graph_of, in_order
from morello.ir.graphs.multi_output import dividing, parts_for
from tests.ir.nodes import Nodes, declared


@pytest.fixture(scope="module")
def node() -> Nodes:
    return Nodes(declared())


def _parts(outputs: str, *nodes: Node, sizes: Mapping[str, int] | None = None) -> dict[str, str]:
    """What each result is computed from, as a formula in the tensors' own names, in order.

    ``sizes``: how many elements tensors have; the others have one.
    """
    every = [inner for node in nodes for inner in expanded(node)]
    dtypes = {name: DTYPES["f32"] for one in every for name in one.tensors}
    found = {}
    elements = {**dict.fromkeys(dtypes, 1), **(sizes or {})}
    for part in parts_for(every, outputs.split(), dtypes, elements):
        *inputs, output = part.tensors
        operator = part.operation.operator
        composition = composition_of(operator)
        if composition is None:
            found[output] = f"{operator.name}({', '.join(inputs)})"
        else:
            names = dict(zip(part.operation.names, part.tensors, strict=True))
            found[output] = composition.graph.formula(tensors=names)
    return found


def test_one_result_is_one_operation(node: Nodes) -> None:
    """Whatever it has inside; what it does not need is left out."""
    found = _parts(
        "y",
        node("product", "a", "b", "c"),
        node("largest", "c", "m"),
        node("biased", "c", "m", "y"),
        node("negate", "c", "unread"),
    )
    assert found == {"y": "product = product(a, b); biased(product, largest(product))"}


def test_independent_results_are_in_their_order(node: Nodes) -> None:
    nodes = (node("negate", "x", "y"), node("largest", "x", "m"))
    assert list(_parts("y m", *nodes)) == ["y", "m"]
    assert list(_parts("m y", *nodes)) == ["m", "y"]


def test_a_result_is_there_before_it_is_read(node: Nodes) -> None:
    """And ends the graph of what reads it, which computes no part of it again."""
    found = _parts("m c", node("product", "a", "b", "c"), node("largest", "c", "m"))
    assert found == {"c": "product(a, b)", "m": "largest(c)"}
    assert list(found) == ["c", "m"]


def test_a_shared_sum_is_a_result_too(node: Nodes) -> None:
    """The last tensor that both need, with what is done to the sum element by element."""
    found = _parts(
        "m n",
        node("product", "a", "b", "c"),
        node("negate", "c", "h"),
        node("largest", "h", "m"),
        node("negate", "h", "n"),
    )
    assert found == {"h": "negate(product(a, b))", "m": "largest(h)", "n": "negate(h)"}
    assert list(found) == ["h", "m", "n"]


def test_what_has_no_sum_may_be_computed_twice(node: Nodes) -> None:
    found = _parts(
        "m n", node("plus", "x", "z", "h"), node("largest", "h", "m"), node("negate", "h", "n")
    )
    assert found == {"m": "largest(plus(x, z))", "n": "negate(plus(x, z))"}


def test_sums_below_sums_that_are_shared(node: Nodes) -> None:
    """Three users of one product, two of them of what becomes of it: both are kept."""
    found = _parts(
        "r s t",
        node("product", "a", "b", "c"),
        node("product", "c", "d", "e"),
        node("negate", "e", "r"),
        node("largest", "e", "s"),
        node("largest", "c", "t"),
    )
    assert found == {
        "c": "product(a, b)",
        "e": "product(c, d)",
        "r": "negate(e)",
        "s": "largest(e)",
        "t": "largest(c)",
    }


def test_what_the_kept_tensors_share(node: Nodes) -> None:
    """A statistic of rows and the rows: what both come from is kept as well, in a second round."""
    found = _parts(
        "y m",
        node("product", "a", "b", "c"),
        node("largest", "c", "m0"),
        node("biased", "c", "m0", "d"),
        node("largest", "d", "s"),
        node("biased", "d", "s", "y"),
        node("plus", "m0", "s", "m", rank=1),
    )
    sums = [name for name, formula in found.items() if "product" in formula]
    assert sums == ["c"]
    assert sum(formula.count("largest") for formula in found.values()) == 2


def test_statements_of_an_operator_may_be_kept(node: Nodes) -> None:
    """An output that reads another one does not look into how that is computed."""
    found = _parts("y n", node("centred", "x", "y"), node("negate", "y", "n"))
    assert found["n"] == "negate(y)"
    assert list(found) == ["y", "n"]


def _chain(node: Nodes, count: int) -> list[Node]:
    """So many products, one of the other."""
    return [node("product", f"p{i}", f"w{i}", f"p{i + 1}") for i in range(count)]


def test_many_sums_are_cut_where_least_is_kept(node: Nodes) -> None:
    """Of tensors as small the last, so that what is done to a sum is done before."""
    sizes = dict.fromkeys(("p1", "p3", "p4", "n"), 9) | {"p2": 5, "h": 5}
    first, second, *rest = _chain(node, 5)
    half = node("times", "p2", "h", factor=0.5)
    third = node("product", "h", "w2", "p3")
    found = _parts("p5", first, second, half, third, *rest[1:], sizes=sizes)
    assert list(found) == ["h", "p5"]
    assert found["h"].startswith("times(product(product(p0, w0), w1)")
    assert list(_parts("p4", *_chain(node, 4))) == ["p4"]


def test_no_cut_computes_a_sum_twice(node: Nodes) -> None:
    """Rows of a product less their largest element: the rows are needed beside that."""
    sizes = {"c": 100, "m": 1, "y": 100, "p1": 50, "p2": 40, "p3": 50}
    nodes = [
        *_chain(node, 3),
        node("product", "p3", "b", "c"),
        node("largest", "c", "m"),
        node("less", "c", "m", "y"),
    ]
    assert list(_parts("y", *nodes, sizes=sizes)) == ["p2", "y"]


def test_a_cut_computes_little_again(node: Nodes) -> None:
    """A number of each row is small to keep, but then its reader computes the rows once more."""
    sizes = dict.fromkeys(("m0", "m1", "m2", "m3", "m4"), 2)
    nodes = []
    for i in range(5):
        nodes += [node("negate", f"y{i}", f"d{i}"), node("largest", f"d{i}", f"m{i}")]
        nodes += [node("biased", f"d{i}", f"m{i}", f"y{i + 1}")]
    sizes |= dict.fromkeys((name for one in nodes for name in one.tensors if name[0] in "dy"), 8)
    found = _parts("y5", *nodes, sizes=sizes)
    assert list(found) == ["d4", "y5"]
    sizes |= dict.fromkeys(("d4", "y4"), 100)
    assert list(_parts("y5", *nodes, sizes=sizes)) == ["d3", "y5"]


def test_what_divides_the_sums_is_what_the_definition_says(node: Nodes) -> None:
    """Of graphs of any form: a tensor leaves a sum on either side, and none is on both."""
    source = random.Random(0)
    found = 0
    for _ in range(100):
        nodes, names = [], ["x"]
        for i in range(source.randint(4, 24)):
            kind = source.choice(["product", "negate", "plus"])
            operands = [source.choice(names[-3:]) for _ in range(1 + (kind != "negate"))]
            nodes.append(node(kind, *operands, f"t{i}"))
            names.append(f"t{i}")
        graph = graph_of(nodes, names[-1], dict.fromkeys(names, DTYPES["f32"]))
        sums = {n.output for n in graph.nodes if n.operation.operator.reduction is not None}
        expected = []
        for name in graph.locals:
            before = sums.intersection(in_order(graph.computed, name))
            after = sums.intersection(in_order(graph.computed, graph.output, (name,)))
            expected += [name] if before and after and not before & after else []
        assert dividing(graph) == expected
        found += len(expected)
    assert found > 100
