"""Specs of several statements, end to end: random graphs of operators, and chosen ones."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import morello
from morello.definitions import Definitions
from morello.ir.dtypes import DTYPES
from morello.ir.graphs.composition import composition_of
from morello.ir.operators import Operation, Operator
from morello.verify.graphs import random_graphs
from tests.end_to_end.kernels import small_machines, to_run

SIZES = (1, 2, 3, 5, 8, 17, 33)
GRAPHS = 12
SEVERAL = 6


def _text(operation: Operation, random: Random, *, several: bool = False) -> str:
    """A spec of the graph, with sizes for its dimensions.

    ``several``: a tensor that is computed on the way is an output as well, or is read by one.
    """
    composition = composition_of(operation.operator)
    assert composition is not None
    size = {d: random.choice(SIZES) for d in operation.dims}
    size |= {d: n for d, n in operation.stated if d in operation.whole_dims and d in size}
    for group in composition.alike:
        known = [d for d in group if d in size]
        size |= dict.fromkeys(known, size[known[0]])
    graph = composition.graph
    lines = []
    for name, access in zip(operation.names, operation.operands, strict=True):
        extents = [index.extent(size) for index in access]
        role = "output" if name == graph.output else random.choice(("input", "weight"))
        lines.append(f"{role} {name}_: f32[{', '.join(map(str, extents))}]")
    for node in graph.nodes:
        arguments = [f"{name}_" for name in node.inputs]
        given = node.operation.operator.given_scalars  # a spec knows sizes of itself
        scalars = dict(node.operation.scalars)
        arguments += [f"{name} = {scalars[name]}" for name in given]
        called = node.operation.operator.name
        lines.append(f"{node.output}_ = {called}({', '.join(arguments)})")
    if several:
        name = random.choice(graph.locals)
        extents = [index.extent(size) for index in composition.locals[name]]
        read, own = random.choice(((False, f"{name}_"), (True, "more_")))
        lines.insert(random.choice((0, 1)), f"output {own}: f32[{', '.join(map(str, extents))}]")
        lines += [f"{own} = neg({name}_)"] if read else []
    body = "\n".join(f"  {line}" for line in lines)
    threads = random.choice(("", " threads 2"))
    return f"spec graph(){threads} {{\n{body}\n}}\n"


def _single(definitions: Definitions) -> dict[str, Operator]:
    """Operators of one statement. Slices have tests of their own: drawn margins fit no tensor."""
    found = definitions.operators.items()
    return {name: o for name, o in found if not o.parts and not o.slices}


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("target", "largest", "number"),
    [
        *(("x86.scalar", 5, number) for number in range(GRAPHS)),
        *(("x86.avx512", 3, number) for number in range(GRAPHS // 3 * 2)),
    ],
)
def test_random_graph(definitions: Definitions, target: str, largest: int, number: int) -> None:
    """It compiles, and computes what its operators do one after the other."""
    random = Random(number)
    single = _single(definitions)
    operation = next(random_graphs(single, DTYPES["f32"], random, 50, largest=largest))
    text = _text(operation, random)
    to_run(morello.compile, text, target=target, definitions=small_machines()).verify()


@pytest.mark.sample(2)
@pytest.mark.parametrize("number", range(SEVERAL))
def test_random_graph_with_several_outputs(definitions: Definitions, number: int) -> None:
    """It compiles, and every output is what its operators compute one after the other."""
    random = Random(100 + number)
    single = _single(definitions)
    operation = next(random_graphs(single, DTYPES["f32"], random, 50, largest=3))
    text = _text(operation, random, several=True)
    target = random.choice(("x86.scalar", "x86.avx2"))
    kernel = to_run(morello.compile, text, target=target, definitions=small_machines())
    assert len(kernel.goal.outputs) == 2
    kernel.verify()


@pytest.mark.parametrize("use", ["matmul(matmul(a, x), a)", "matmul_nt(a, a)"])
def test_a_weight_that_a_graph_reads_twice(use: str) -> None:
    """It may be packed, once, for all that read it."""
    given = "input x: f32[16, 16]" if "x" in use else ""
    text = (
        f"spec twice() {{ weight a: f32[16, 16]\n {given}\n output y: f32[16, 16]\n"
        f" y = relu({use}) }}"
    )
    kernel = to_run(morello.compile, text, target="x86.avx2", definitions=small_machines())
    weights = [o for o in kernel.plan.trees[0].root.spec.family.operands if o.weight]
    assert len(weights) == 1
    assert len(kernel.program.packings) <= 1
    kernel.verify()


IN_TWO_ORDERS = {
    "add(x, transpose(x))": lambda x: x + x.T,
    "sub(neg(transpose(x)), relu(x))": lambda x: -x.T - np.maximum(x, 0),
    "add(neg(x), transpose(neg(x)))": lambda x: -x - x.T,
    "add(x, neg(transpose(relu(x))))": lambda x: x - np.maximum(x, 0).T,
    "mul(transpose(x), transpose(x))": lambda x: x.T * x.T,
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("size", [1, 5, 17])
@pytest.mark.parametrize("use", IN_TWO_ORDERS)
def test_a_tensor_that_a_graph_reads_in_two_orders(use: str, size: int) -> None:
    """An operand is read in one: what reads it in another is computed first."""
    text = (
        f"spec orders() {{ input x: f32[{size}, {size}] output y: f32[{size}, {size}] y = {use} }}"
    )
    kernel = to_run(morello.compile, text, target="x86.avx2", definitions=small_machines())
    x = np.arange(size * size, dtype=np.float32).reshape(size, size) - size
    np.testing.assert_array_equal(kernel(x), IN_TWO_ORDERS[use](x))
