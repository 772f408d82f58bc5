"""Graphs of operations: which dimensions are one, which are pinned, and what is one statement."""

from __future__ import annotations

import pytest

from morello.ir.dtypes import DTYPES
from morello.ir.graphs.composition import Composition, Part, composition_of, operation_of, part_of
from morello.ir.graphs.graph import Node, expanded, graph_of
from morello.ir.operators import Operation
from morello.ir.sizes import sizes_from, with_hidden
from morello.language.unparse import unparse
from tests.ir.nodes import Nodes, declared

F32, BF16 = DTYPES["f32"], DTYPES["bf16"]


@pytest.fixture(scope="module")
def node() -> Nodes:
    return Nodes(declared())


def _part(*nodes: Node) -> tuple[Part, Composition]:
    every = [inner for node in nodes for inner in expanded(node)]
    dtypes = {name: F32 for node in every for name in node.tensors}
    part = operation_of(graph_of(every, nodes[-1].output, dtypes))
    composition = composition_of(part.operation.operator)
    assert composition is not None
    return part, composition


def _indices(operation: Operation) -> dict[str, list[str]]:
    return {
        name: ["+".join(d if f == 1 else f"{f}{d}" for d, f in i.terms) for i in access]
        for name, access in zip(operation.names, operation.operands, strict=True)
    }


def test_elementwise_is_one_statement(node: Nodes) -> None:
    """Expressions are inlined, scalars are numbers, and what is read twice stands there twice."""
    part, composition = _part(
        node("plus", "x", "z", "s"),
        node("times", "s", "t", factor=0.5),
        node("plus", "t", "s", "y"),
    )
    operation = part.operation
    assert composition.complete
    assert not composition.intermediates
    assert not operation.operator.composite
    assert operation.operator.elementwise
    text = unparse(operation.operator.statement.value)
    assert text == "(X[i0, i1] + Z[i0, i1]) * 0.5 + (X[i0, i1] + Z[i0, i1])"
    assert part.tensors == ("x", "z", "y")


def test_epilogue(node: Nodes) -> None:
    """Rows and columns of a product are those of what is added; what it sums is left whole."""
    part, composition = _part(node("product", "a", "b", "c"), node("biased", "c", "v", "y"))
    operation = part.operation
    assert _indices(operation) == {
        "A": ["i", "k"],
        "B": ["k", "j"],
        "B2": ["j"],
        "biased": ["i", "j"],
    }
    assert operation.operator.composite
    assert operation.divisible_dims == ("i", "j")
    assert composition.intermediates == ("product",)
    graph = composition.graph
    before = part_of(graph, "product", accumulating=False)
    after = part_of(graph, graph.output, ["product"], accumulating=False)
    assert (before.operation.operator.name, before.tensors) == ("product", ("A", "B", "product"))
    assert (after.operation.operator.name, after.tensors) == (
        "biased",
        ("product", "B2", "biased"),
    )


def test_chain_of_products(node: Nodes) -> None:
    """The last sum may be divided: its terms are columns of the first product. Rows may be too.

    Columns of the result may not: all of the first product would be computed for each tile.
    """
    part, _ = _part(node("product", "a", "b", "c"), node("product", "c", "d", "e"))
    operation = part.operation
    assert operation.dims == ("m", "n", "k2", "k")
    assert operation.divisible_dims == ("m", "k")


def test_own_square(node: Nodes) -> None:
    """A tensor that is read along both of its dimensions at once is not divided."""
    part, composition = _part(node("product", "a", "a", "c"), node("negate", "c", "y"))
    assert _indices(part.operation)["A"] == ["A_0", "A_1"]
    assert part.operation.divisible_dims == ()
    assert {"A_0", "A_1", "i0", "i1"} <= set(composition.alike[0])


def test_statements_of_a_body(node: Nodes) -> None:
    """Each statement is a node; a row is divided from others, and is not divided itself."""
    part, composition = _part(node("centred", "x", "y"))
    operation = part.operation
    assert part.tensors == ("x", "y")
    assert operation.divisible_dims == ("i",)
    assert composition.intermediates == ("centred_M", "centred_D")
    graph = composition.graph
    rest = part_of(graph, graph.output, ["centred_M"], accumulating=False).operation
    assert rest.operator.composite
    sums = part_of(graph, "centred_S", ["centred_M"], accumulating=False).operation
    assert unparse(sums.operator.statement.value) == "X[i, j] - M[i]"
    assert sums.operator.reduction == "+"
    assert not sums.operator.composite


def test_no_sum_twice(node: Nodes) -> None:
    """What both parts need of a sum has to be there first."""
    _, composition = _part(
        node("product", "a", "b", "c"), node("largest", "c", "r"), node("biased", "c", "r", "y")
    )
    assert composition.intermediates == ("product",)


def test_computed_with_what_it_serves(node: Nodes) -> None:
    """What serves one tensor alone, which is kept, is computed with that; so are epilogues."""
    rows, of_rows = _part(node("centred", "x", "n"), node("product", "n", "b", "y"))
    assert of_rows.intermediates == ("centred_Y",)
    before, _ = of_rows.parts("centred_Y")
    alone = composition_of(before.operation.operator)
    assert alone is not None
    assert alone.intermediates == ("centred_M", "centred_D")
    assert of_rows.sums == 3
    assert [n.output for n in of_rows.occurrences("centred_Y")] == ["centred_Y", "product"]
    assert rows.operation.divisible_dims == ("m",)
    _, scaled = _part(
        node("product", "a", "b", "c"),
        node("times", "c", "s", factor=2.0),
        node("centred", "s", "y"),
    )
    assert "times" in scaled.intermediates
    assert "product" not in scaled.intermediates


def test_kept_for_several(node: Nodes) -> None:
    """What several tensors need is there before them; what has more dimensions is on its own."""
    _, shared = _part(
        node("biased", "x", "v", "c"),
        node("product", "c", "b", "d"),
        node("product", "c", "w", "e"),
        node("plus", "d", "e", "y"),
    )
    assert set(shared.intermediates) == {"biased", "product", "product2"}
    _, chain = _part(
        node("product", "a", "b", "c"), node("product", "c", "d", "e"), node("negate", "e", "y")
    )
    assert set(chain.intermediates) == {"product", "product2"}


def test_window(node: Nodes) -> None:
    """What is read through a window is computed there, unless it is read otherwise too."""
    part, composition = _part(node("negate", "x", "z", rank=1), node("window", "z", "w", "y"))
    assert _indices(part.operation) == {"X": ["h+r"], "W": ["r"], "window": ["h"]}
    assert [i.terms for i in composition.locals["negate"]] == [(("h", 1), ("r", 1))]
    assert part.operation.divisible_dims == ("h", "r")
    twice, _ = _part(
        node("negate", "x", "z", rank=1),
        node("window", "z", "w", "y"),
        node("window", "z", "y", "u"),
    )
    assert "h" not in twice.operation.divisible_dims


def test_same_graph_same_name(node: Nodes) -> None:
    """Names in a spec, and the order of independent statements, make no difference."""
    first = _part(
        node("negate", "a", "b"), node("times", "c", "d", factor=2.0), node("plus", "b", "d", "e")
    )
    second = _part(
        node("times", "z", "y", factor=2.0), node("negate", "w", "v"), node("plus", "v", "y", "o")
    )
    other = _part(
        node("times", "z", "y", factor=3.0), node("negate", "w", "v"), node("plus", "v", "y", "o")
    )
    assert first[0].operation == second[0].operation
    assert first[0].operation != other[0].operation


def test_expressions_say_in_which_type_they_are_computed(node: Nodes) -> None:
    """Where that is another one than what reads them is computed in."""
    chain = [node("negate", "x", "h"), node("negate", "h", "g"), node("plus", "g", "h", "y")]
    dtypes = {"x": F32, "h": BF16, "g": BF16, "y": F32}
    operation = operation_of(graph_of(chain, "y", dtypes)).operation
    composition = composition_of(operation.operator)
    assert composition is not None
    assert composition.complete
    assert composition.mixed
    assert not composition.intermediates
    text = unparse(operation.operator.statement.value)
    assert text == "bf16(--X[i0, i1]) + bf16(-X[i0, i1])"
    assert composition.converts("X", BF16)
    assert not composition.converts("X", F32)


def test_sizes(node: Nodes) -> None:
    part, _ = _part(node("product", "a", "b", "c"), node("biased", "c", "v", "y"))
    found = sizes_from(part.operation, [(2, 3), (3, 5), (5,)])
    assert found == {"i": 2, "k": 3, "j": 5}


def test_dimensions_of_no_operand_have_sizes(node: Nodes) -> None:
    """Of what is framed again, rows are in no operand; they follow from the first frame."""
    part, composition = _part(
        node("framed", "x", "p", edge=1),
        node("window", "p", "v", "h"),
        node("framed", "h", "q", edge=2),
        node("window", "q", "w", "y"),
    )
    operation = part.operation
    sizes = sizes_from(operation, [[10], [3], [5], [10]])
    assert sizes.keys() == set(operation.dims)
    every = with_hidden(operation, sizes)
    extents = {t: [i.extent(every) for i in access] for t, access in composition.locals.items()}
    assert extents == {"framed": [12], "window": [10], "framed2": [14]}
    assert not operation.divisible_dims


def test_stated_sizes_in_a_graph(node: Nodes) -> None:
    """That of a window is in no operand alone: sums tell it, or else the declaration."""
    inner, outer = node("pairs", "x", "t", width=3), node("pairs", "t", "y", width=2)
    operation = _part(inner, outer)[0].operation
    assert {3, 2} == {size for _, size in operation.stated}
    sizes = sizes_from(operation, [[13], [3]])
    assert sorted(sizes.values()) == [2, 3, 3]
    assert {"h": 5, "r": 3} == sizes_from(inner.operation, [[11]])


def test_graphs_are_divided_as_their_parts_are(node: Nodes) -> None:
    part, composition = _part(node("rows", "x", "w", "t"), node("negate", "t", "y"))
    assert part.operation.operator.partly_tileable
    assert len(part.operation.divisible_dims) == 1
    assert composition.intermediates == ("rows",)


def test_what_is_framed_may_be_computed_first(node: Nodes) -> None:
    """A frame is no part of an expression: what it surrounds is kept somewhere."""
    _, composition = _part(node("negate", "x", "t", rank=1), node("framed", "t", "y", edge=1))
    assert not composition.complete
    assert composition.intermediates == ("negate",)


def test_what_the_output_may_overwrite(node: Nodes) -> None:
    """What all that is elementwise reads where the output is written; sums are done before."""
    _, composition = _part(node("centred", "x", "y"))
    kept = {name: composition.may_be_overwritten(name) for name in composition.intermediates}
    assert kept["centred_D"]
    assert not any(may for name, may in kept.items() if name != "centred_D")


def test_what_the_output_may_not_overwrite(node: Nodes) -> None:
    """Another row would be gone that is still to be read, or the sum adds to what was there."""
    product = node("product", "a", "b", "c")
    _, across = _part(product, node("turned", "c", "t"), node("plus", "t", "c", "y"))
    assert not across.may_be_overwritten("product")
    _, along = _part(product, node("negate", "c", "t"), node("plus", "t", "c", "y"))
    assert along.may_be_overwritten("product")
    _, summed = _part(product, node("product", "c", "d", "y"))
    assert not summed.may_be_overwritten("product")


def test_merged_rows(node: Nodes) -> None:
    """What reads rows as one is computed by row and place in it, and places are not divided."""
    part, composition = _part(
        node("product", "a", "b", "c"),
        node("merged", "c", "t", width=3),
        node("plus", "t", "z", "y", rank=1),
    )
    assert _indices(part.operation)["Z"] == ["3i+j"]
    assert _indices(part.operation)["plus"] == ["3i+j"]
    assert part.operation.divisible_dims == ("i",)
    assert composition.intermediates == ("merged",)
    before, _ = composition.parts("merged")
    assert before.operation.operator.intermediates == ("product",)
    sizes = sizes_from(part.operation, [(2, 5), (5, 3), (6,)])
    assert sizes == {"i": 2, "k": 5, "j": 3}


def test_merged_rows_that_are_seen_through_a_window(node: Nodes) -> None:
    """That goes from one row to the next: nothing is divided."""
    part, _ = _part(node("merged", "x", "t", width=3), node("window", "t", "w", "y"))
    assert part.operation.divisible_dims == ()


def test_rows_that_are_split_as_they_were_merged(node: Nodes) -> None:
    """They are the same rows."""
    part, composition = _part(
        node("merged", "x", "t", width=3),
        node("split", "t", "z", width=3),
        node("plus", "z", "x", "y"),
    )
    assert part.operation.divisible_dims == ("i0",)
    assert "merged" in composition.intermediates
