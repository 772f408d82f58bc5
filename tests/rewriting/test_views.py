"""Operands seen by some of their dimensions: where their elements lie, and what refuses them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.checking.operators import check_operators
from morello.checking.rules import check_rules
from morello.ir.dtypes import F32
from morello.ir.graphs.composition import operation_of
from morello.ir.graphs.data_movement import rearranged
from morello.ir.graphs.graph import Node, graph_of
from morello.ir.layout import Axis, Layout, Order, contiguity, pack, packed
from morello.ir.operators import OperandIndex, Operation
from morello.ir.spec import Family, Operand, Spec
from morello.ir.views import ViewMap
from morello.language.diagnostics import Collector
from morello.language.parse import parse_rules
from morello.language.source import Source
from morello.records import replace
from morello.rewriting.alternatives import Refusal, RuleAlternative
from morello.rewriting.context import Context
from morello.rewriting.enumeration import alternatives
from morello.rewriting.references import TensorRef
from morello.rewriting.steps import Leaf
from morello.rewriting.views import view_of
from morello.search.results.reconstruct import concrete_step, leaf_spec
from morello.search.solving.one_spec import applications
from tests.search.budget import examples
from tests.search.goals import matmul
from tests.search.machines import context

TEXT = """
op rows(X: T[n, w + s, 2 * h, c], W: U[s, c, o]) -> Y: V[n, h, w, o]
  "Sums over windows of rows."
{
  Y[n, h, w, o] += X[n, w + s, 2 * h, c] * W[s, c, o]
}

rule as_product
  "One row is a product."
  match  f: accumulating rows
  yield  accumulating matmul(f.X[w, c], f.W[c, o], f.Y[w, o])

rule as_product_of_columns
  "So is one column, whose rows are every second one."
  match  f: accumulating rows
  yield  accumulating matmul(f.X[h, c], f.W[c, o], f.Y[h, o])
"""


def seen_context(name: str = "tiny.flat") -> Context:
    """A tiny machine with the operator and the rules of this test."""
    known = context(name)
    collector = Collector()
    file = parse_rules(Source("test.mrules", TEXT))
    operators = {**known.operators, **check_operators([file], collector)}
    rules = check_rules([file], operators, collector)
    collector.raise_if_any()
    return replace(known, operators=operators, rules=(*known.rules, *rules))


def rows_spec(known: Context, *sizes: int, order: Order = (0, 1, 2, 3)) -> Spec:
    """Whole operands far away; sizes of n, h, w, o, s and c."""
    operation = Operation(known.operators["rows"], 0, accumulating=True)
    orders = (order, (0, 1, 2), (0, 1, 2, 3))
    operands = tuple(Operand(F32, known.target.farthest, own) for own in orders)
    packing = tuple(packed(len(own)) for own in orders)
    return Spec(Family(operation, operands), sizes, (0,) * len(known.target.bounded), packing)


def found_by(rule: str, known: Context, spec: Spec) -> RuleAlternative:
    """The one alternative of a rule."""
    every = alternatives(known, spec.family)
    [found] = [a for a in every if isinstance(a, RuleAlternative) and a.rule.name == rule]
    return found


@pytest.mark.parametrize(
    ("rule", "sizes", "seen", "packing"),
    [
        ("as_product", (1, 1, 5, 3, 1, 4), (5, 3, 4), (packed(2), packed(2), packed(2))),
        (
            "as_product_of_columns",
            (1, 6, 1, 3, 1, 4),
            (6, 3, 4),
            (pack(1, 1), packed(2), packed(2)),
        ),
        (
            "as_product_of_columns",
            (1, 6, 1, 3, 1, 3),
            (6, 3, 3),
            (pack(1, 1), packed(2), packed(2)),
        ),
    ],
)
def test_what_is_seen(
    rule: str, sizes: tuple[int, ...], seen: tuple[int, ...], packing: tuple[int, ...]
) -> None:
    """Sizes of the product, and how its operands lie: every second row is no longer packed."""
    known = seen_context()
    spec = rows_spec(known, *sizes)
    step = concrete_step(known, spec, found_by(rule, known, spec), None)
    assert isinstance(step, Leaf)
    assert step.required
    below = leaf_spec(step)
    assert ("accumulating matmul", seen) == (str(below.family.operation), below.sizes)
    assert packing == below.packing


@pytest.mark.parametrize("sizes", [(2, 1, 5, 3, 1, 4), (1, 2, 5, 3, 1, 4), (1, 1, 5, 3, 2, 4)])
def test_what_is_left_out_has_size_1(sizes: tuple[int, ...]) -> None:
    known = seen_context()
    spec = rows_spec(known, *sizes)
    found = found_by("as_product", known, spec)
    assert [] == list(applications(known, spec, [found]))


def test_neighbours_must_be_seen() -> None:
    """Where the fastest dimension is left out, rows of the view would have gaps."""
    known = seen_context()
    family = rows_spec(known, 1, 1, 5, 3, 1, 4, order=(1, 0, 3, 2)).family
    refusals: list[Refusal] = []
    found = alternatives(known, family, refusals)
    names = {a.rule.name for a in found if isinstance(a, RuleAlternative)}
    assert not names & {"as_product", "as_product_of_columns"}
    reasons = {r.name: r.reason for r in refusals if r.name.startswith("as_product")}
    assert {"as_product", "as_product_of_columns"} == set(reasons)
    assert "cannot be seen" in reasons["as_product"]


def test_kernels_want_something_of_what_is_seen() -> None:
    """Layouts and registers of a product's operands are worth a try for those it is made of."""
    known = seen_context("x86.avx512")
    family = rows_spec(known, 1, 1, 5, 3, 1, 4).family
    chosen = {
        (dict(a.choices)["X"].name, str(dict(a.choices)["layout"]), dict(a.choices)["vector"])
        for a in alternatives(known, family)
        if isinstance(a, RuleAlternative) and a.rule.name == "move"
    }
    assert ("Y", "(0, 1, 2, 3)", 64) in chosen
    assert ("W", "(0, 1, 2) panels 16", 0) in chosen


def test_a_renamed_operation_is_only_renamed() -> None:
    """What is done with any operation is done with the product that it is."""
    known = context("tiny.flat")
    operation = Operation(known.operators["matmul_tn"], 0)
    operands = matmul(2, 3, 4).spec(known.target).family.operands
    [found] = alternatives(known, Family(operation, operands))
    assert isinstance(found, RuleAlternative)
    assert ("transposed_left", True) == (found.rule.name, found.renames)
    [below] = found.children
    assert ("matmul", [(1, 0), (0, 1), (0, 1)]) == (
        str(below.operation),
        [operand.order for operand in below.operands],
    )


# --------------------------------------------------------------------------- packing


@st.composite
def parts(draw: st.DrawFn) -> tuple[Order, tuple[int, ...], tuple[Axis, ...], int]:
    """An order, a shape, what is seen of it, and the contiguity of what it is seen of."""
    rank = draw(st.integers(1, 4))
    order = tuple(draw(st.permutations(range(rank))))
    kept = draw(st.permutations(range(rank)))[: draw(st.integers(1, rank))]
    kept = kept if order[-1] in kept else [*kept, order[-1]]
    steps = [1 if d == order[-1] else draw(st.integers(1, 2)) for d in kept]
    shape = [1] * rank
    for dimension, step in zip(kept, steps, strict=True):
        shape[dimension] = 1 + step * draw(st.integers(0, 3))
    axes = tuple(Axis(d, step) for d, step in zip(kept, steps, strict=True))
    return order, tuple(shape), axes, draw(st.integers(1, rank))


def _array(order: Order, shape: tuple[int, ...], inner: int) -> np.ndarray[Any, Any]:
    """A part of a larger array, whose ``inner`` fastest dimensions lie together and no more."""
    outer = list(shape)
    if inner < len(order):
        outer[order[len(order) - inner]] += 1
    memory = np.zeros([outer[d] for d in order], np.float32)
    whole = memory.transpose(np.argsort(order))
    return whole[tuple(slice(0, n) for n in shape)]


@examples(400)
@given(parts())
def test_what_is_said_to_lie_together_does(
    case: tuple[Order, tuple[int, ...], tuple[Axis, ...], int],
) -> None:
    """Against the strides of an array that is cut and seen in the same way."""
    order, shape, axes, inner = case
    array = _array(order, shape, inner)
    seen = array[
        tuple(
            slice(None, None, next((a.step for a in axes if a.dimension == d), 1))
            for d in range(len(shape))
        )
    ]
    kept = [axis.dimension for axis in axes]
    rest = [d for d in range(len(shape)) if d not in kept]
    first: tuple[Any, ...] = (..., *(0 for _ in rest))
    seen = seen.transpose(kept + rest)[first]
    dims = [f"d{d}" for d in range(len(shape))]
    steps = {axis.dimension: axis.step for axis in axes}
    indices = tuple(OperandIndex(((d, steps.get(p, 1)),)) for p, d in enumerate(dims))
    target = context("tiny.flat").target
    source = TensorRef("0", "X", Operand(F32, target.farthest, order), indices, int(pack(inner)))
    sizes = {
        d: 1 + (n - 1) // steps.get(p, 1) for p, (d, n) in enumerate(zip(dims, shape, strict=True))
    }
    own = tuple(OperandIndex(((dims[d], 1),)) for d in kept)
    view, holds = view_of(source, ViewMap(own, axes, (0,) * len(dims)), target, sizes)
    assert holds
    assert seen.shape == view.extents(sizes)
    expected = F32.bytes
    for dimension in view.operand.order[::-1][: contiguity(view.packing)]:
        assert seen.shape[dimension] == 1 or expected == seen.strides[dimension]
        expected *= seen.shape[dimension]


def test_panels_stay_panels() -> None:
    """Of what lies in panels, seen without its outer dimensions, rows of a panel lie together."""
    target = context("tiny.flat").target
    indices = tuple(OperandIndex(((d, 1),)) for d in ("r", "k", "n"))
    operand = Operand(F32, target.farthest, (0, 1, 2))
    whole = Layout((0, 1, 2), 2).packing((3, 4, 6))
    axes = (Axis(1), Axis(2))
    for packing, expected in ((whole, packed(2, 2)), (pack(2, panel=2), pack(2, panel=2))):
        source = TensorRef("0", "W", operand, indices, packing)
        view_map = ViewMap(indices[1:], axes, (0, 0, 0))
        view, _ = view_of(source, view_map, target, {"r": 1, "k": 4, "n": 6})
        assert expected == view.packing


# --------------------------------------------------------------------------- rows

ROWS = """
op split(X: T[a, width * i + j]; width) -> Y: T[a, i, j] "Rows as matrices." where size(j) == width
{ Y[a, i, j] = X[a, width * i + j] }

op merged(X: T[a, i, j]; width) -> Y: T[a, width * i + j] "Matrices as rows." where size(j) == width
{ Y[a, width * i + j] = X[a, i, j] }

op product(A: T[a, k], B: T[k, n]) -> C: T[a, n] "A product." { C[a, n] += A[a, k] * B[k, n] }

op sums(A: T[a, i, j]) -> C: T[a, i] "Sums of rows." { C[a, i] += A[a, i, j] }
"""


def _sight(name: str, width: int) -> ViewMap:
    """How the result of an operator is seen in what it reads, where another one reads it."""
    collector = Collector()
    operators = check_operators([parse_rules(Source("test.mrules", ROWS))], collector)
    collector.raise_if_any()
    first = Operation(operators[name], 0, scalars=(("width", float(width)),))
    reader, more = ("sums", ()) if name == "split" else ("product", ("B",))
    nodes = (
        Node(first, ("X", "T")),
        Node(Operation(operators[reader], 0), ("T", *more, "Y")),
    )
    dtypes = {tensor: F32 for node in nodes for tensor in node.tensors}
    operation = operation_of(graph_of(nodes, "Y", dtypes)).operation
    view_map = rearranged(operation.operator, name, "X")
    assert view_map is not None
    return replace(view_map, indices=first.operands[1])


@examples(300)
@given(st.data())
def test_rows_that_are_split_lie_where_they_did(data: st.DataObject) -> None:
    """Against the strides of an array that is cut and seen in the same way."""
    order = data.draw(st.sampled_from([(0, 1), (1, 0)]))
    a, i, inner = (data.draw(st.integers(1, most)) for most in (3, 3, 2))
    j = data.draw(st.integers(2, 4))
    array = _array(order, (a, i * j), inner)
    view_map, target = _sight("split", j), context("tiny.flat").target
    operand = Operand(F32, target.farthest, order)
    whole = OperandIndex((("i", j), ("j", 1)))
    indices = (OperandIndex((("a", 1),)), whole)
    sizes = {"a": a, "i": i, "j": j}
    source = TensorRef("0", "X", operand, indices, int(pack(inner)))
    view, holds = view_of(source, view_map, target, sizes)
    assert holds
    strides = (array.strides[0], j * array.strides[1], array.strides[1])
    expected = F32.bytes
    for dimension in view.operand.order[::-1][: contiguity(view.packing)]:
        assert (a, i, j)[dimension] == 1 or expected == strides[dimension]
        expected *= (a, i, j)[dimension]
    assert contiguity(view.packing) == 3 or inner < 2 or order == (1, 0)


@examples(300)
@given(st.data())
def test_rows_are_one_where_they_follow_each_other(data: st.DataObject) -> None:
    """A step from the end of one to the next is then as long as any other."""
    order = tuple(data.draw(st.permutations(range(3))))
    shape = tuple(data.draw(st.integers(least, 3)) for least in (1, 1, 2))
    inner = data.draw(st.integers(1, 3))
    array = _array(order, shape, inner)
    view_map, target = _sight("merged", shape[2]), context("tiny.flat").target
    operand = Operand(F32, target.farthest, order)
    indices = tuple(OperandIndex(((d, 1),)) for d in ("a", "i", "j"))
    source = TensorRef("0", "X", operand, indices, int(pack(inner)))
    sizes = dict(zip(("a", "i", "j"), shape, strict=True))
    view, holds = view_of(source, view_map, target, sizes)
    if holds:
        assert shape[1] == 1 or array.strides[1] == shape[2] * array.strides[2]
        steps = (array.strides[0], array.strides[2])
        expected = F32.bytes
        for dimension in view.operand.order[::-1][: contiguity(view.packing)]:
            assert view.extents(sizes)[dimension] == 1 or expected == steps[dimension]
            expected *= view.extents(sizes)[dimension]
    assert holds or shape[1] > 1
    assert holds or order != (0, 1, 2) or inner < 2
    panels = replace(source, packing=packed(3, 2))
    assert not view_of(panels, view_map, target, sizes)[1]
