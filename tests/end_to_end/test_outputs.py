"""Specs with several outputs, against numpy and the reference, and what is said of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import numpy as np
import pytest

import morello
from morello.ir.programs.tree import Allocate, ParallelLoop, walk
from morello.memo.memo import Memo
from morello.reference.compare import MismatchError
from morello.reference.inputs import KINDS
from morello.reference.interpreter import run_program
from morello.report.plan import Plan
from morello.search.planning.budget import Budget
from morello.verify.program import verify_function

from .kernels import SPECS, Array, compiled, small_inputs, to_run

pytestmark = pytest.mark.usefixtures("kept_to_the_letter")

Expected = Callable[..., tuple[Array, ...]]


def _rows(a: Array, b: Array) -> tuple[Array, ...]:
    return a @ b, (a @ b).sum(axis=1)


def _extremes(a: Array, b: Array, v: Array) -> tuple[Array, ...]:
    h = a @ b + v
    return h.min(axis=1), h.max(axis=1)


def _apart(x: Array) -> tuple[Array, ...]:
    return np.maximum(x, 0), x.astype(np.int32)


def _chain(x: Array) -> tuple[Array, ...]:
    return -x.sum(axis=0), -x, np.maximum(x, 0) - x


def _layers(x: Array, z: Array, w: Array, v: Array) -> tuple[Array, ...]:
    x, z, w, v = (array.astype(np.int32) for array in (x, z, w, v))
    return x @ w, z @ w, z @ v


LARGE = "threads, and a local in the workspace"

CASES: dict[str, tuple[str, tuple[int, ...], str, Expected]] = {
    "one reads another": ("rows of a product", (5, 3, 19), "x86.avx512", _rows),
    "one reads another, scalar": ("rows of a product", (5, 3, 7), "x86.scalar", _rows),
    "both read a local": ("one product for two", (5, 3, 19), "x86.scalar", _extremes),
    LARGE: (
        "one product for two",
        (67, 60, 19),
        "x86.scalar",
        _extremes,
    ),
    "nothing in common": ("nothing in common", (37,), "x86.avx512", _apart),
    "three of which one reads another": ("one after the other", (5, 7), "x86.scalar", _chain),
    "one weight twice": ("a weight for two", (3, 8, 5), "x86.scalar", _layers),
}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[morello.Kernel, Expected]:
    """A kernel and what it should compute."""
    spec, sizes, target, expected = CASES[request.param]
    return to_run(compiled, spec, sizes, target), expected


@pytest.mark.sample(3)
def test_they_are_what_numpy_says(case: tuple[morello.Kernel, Expected]) -> None:
    """On small integers: equal, in the order of the declaration, with their element types."""
    kernel, expected = case
    inputs = small_inputs(kernel)
    results, arguments = kernel(*inputs), kernel.signature.outputs
    for argument, result, right in zip(arguments, results, expected(*inputs), strict=True):
        np.testing.assert_array_equal(argument.unpack(result), right)
        assert result.dtype == argument.dtype.numpy


@pytest.mark.sample(3)
def test_they_pass_verification(case: tuple[morello.Kernel, Expected]) -> None:
    """Every element of every output, on each kind of input."""
    kernel, _ = case
    elements = sum(tensor.elements for tensor in kernel.goal.outputs)
    assert kernel.verify().elements == len(KINDS) * elements


@pytest.mark.parametrize("case", [name for name in CASES if name != LARGE], indirect=True)
def test_the_program_says_the_same(case: tuple[morello.Kernel, Expected]) -> None:
    """As it is interpreted: what a buffer holds is written before it is read.

    The large one takes long so: `tests.codegen.test_sanitized` runs it in memory full of NaN.
    """
    kernel, expected = case
    inputs = small_inputs(kernel)
    for result, right in zip(run_program(kernel.program, inputs), expected(*inputs), strict=True):
        np.testing.assert_array_equal(result, right)


def test_what_is_rounded_is_read_rounded() -> None:
    """An output of a narrower type has its values for what reads it, and for the reference."""
    text = """spec narrow() {
      input  x: f32[3, 7]
      output y: bf16[3, 7]
      output s: f32[3, 7]
      y = copy(square(x))
      s = copy(y)
    }"""
    kernel = to_run(morello.compile, text, target="x86.scalar")
    x = np.linspace(1, 2, 21, dtype=np.float32).reshape(3, 7)
    y, s = kernel(x)
    np.testing.assert_array_equal(s, y.astype(np.float32))
    assert (s != x * x).any()
    assert kernel.verify().elements == len(KINDS) * 42


def test_out_is_written_and_returned() -> None:
    """A tuple or a list, in the order of the outputs."""
    kernel = to_run(compiled, "rows of a product", (5, 3, 7), "x86.scalar")
    a, b = small_inputs(kernel)
    out = (np.empty((5, 7), np.float32), np.empty(5, np.float32))
    for given in (out, list(out)):
        c, r = kernel(a, b, out=given)
        assert (c is out[0], r is out[1]) == (True, True)
    np.testing.assert_array_equal(r, (a @ b).sum(axis=1))
    with pytest.raises(morello.MorelloError, match="'rows' was given one array as out") as error:
        kernel(a, b, out=out[0])
    assert error.value.help == "pass out=(c, r)"


def test_no_sum_is_computed_twice() -> None:
    """The product is computed once, by threads, into a buffer of the function."""
    kernel = compiled("one product for two", (67, 60, 19), "x86.scalar")
    h, least, most = kernel.goal.computations
    assert (h.output.role, [t.name for t in (least.output, most.output)]) == (
        "local",
        ["least", "most"],
    )
    nodes = list(walk(kernel.program.body))
    assert any(isinstance(node, ParallelLoop) for node in nodes)
    buffers = [node.tensor for node in nodes if isinstance(node, Allocate)]
    assert [t.shape for t in buffers if t.name == h.output.name] == [(67, 19)]
    assert kernel.signature.workspace_bytes >= 67 * 19 * 4
    assert [tree.computes for tree in kernel.plan.trees] == ["h", "least", "most"]
    assert "/* shared:\n *   h = add_bias(matmul(a, b), v)\n" in kernel.source


def test_a_weight_that_two_read_is_not_packed() -> None:
    """One of one place may be."""
    kernel = compiled("a weight for two", (3, 8, 5), "x86.scalar")
    marked = {
        tensor.name: operand.weight
        for computation, tree in zip(kernel.goal.computations, kernel.plan.trees, strict=True)
        for tensor, operand in zip(
            computation.operands, tree.root.spec.family.operands, strict=True
        )
    }
    assert marked == {"x": False, "z": False, "w": False, "v": True} | dict.fromkeys("abc", False)


def test_a_wrong_output_is_named() -> None:
    """Each is compared: another kernel computes the first one, but not the second."""
    kernel = to_run(compiled, "rows of a product", (5, 3, 7), "x86.scalar")
    text = SPECS["rows of a product"].replace("row_sum", "row_max")
    other = morello.compile(text, defines={"M": 5, "K": 3, "N": 7}, target="x86.scalar")
    with pytest.raises(MismatchError, match=r"^r \(random inputs\)\["):
        verify_function(kernel.goal, other.signature, other.function)


def test_the_plan_has_a_tree_for_each() -> None:
    """Costs add up; the lines are numbered through, and each tree says what it computes."""
    plan = compiled("rows of a product", (5, 3, 7), "x86.scalar").plan
    first, second = plan.trees
    assert plan.cycles == first.root.cycles + second.root.cycles
    assert sum(share.cycles for share in plan.costs()) == pytest.approx(plan.cycles)
    assert len({share.coefficient for share in plan.costs()}) == len(plan.costs())
    lines = plan.render().splitlines()
    begins = [number for number, line in enumerate(plan.lines) if not line.depth]
    assert [int(line.split()[0]) for line in lines] == list(range(1, len(lines) + 1))
    assert [lines[number].split()[1:3] for number in begins] == [["c", "="], ["r", "="]]
    assert plan.lines[begins[1]].tree is second
    assert plan.summary() == f"{first.summary()}; {second.summary()}"
    called = {line.node.option.name for line in plan.lines if line.node.step is None}
    assert called == {kernel.name for kernel in plan.kernels}


def test_json_of_a_plan_is_a_sequence() -> None:
    """With the keys of any node; the children say what they compute."""
    plan = compiled("rows of a product", (5, 3, 7), "x86.scalar").plan
    tree = json.loads(json.dumps(plan.to_json()))
    assert (tree["kind"], tree["cycles"], tree["own_cycles"]) == ("sequence", plan.cycles, 0)
    assert [child["computes"] for child in tree["children"]] == ["c", "r"]
    assert tree.keys() | {"computes"} == tree["children"][0].keys()
    assert tree["cycles"] == sum(child["cycles"] for child in tree["children"])
    alone = [{"computes": t.computes, **Plan((t,)).to_json()} for t in plan.trees]
    assert tree["children"] == json.loads(json.dumps(alone))


def test_a_contest_varies_all() -> None:
    """The n-th best plan of each: the first is what would have been chosen without measuring."""
    text = """spec two(N = 8) {
      input  x: f32[N]
      output y: f32[N]
      output z: f32[N]
      y = relu(x)
      z = exp(x)
    }"""
    kernel = to_run(morello.compile, text, target="x86.scalar", measure=3)
    plain = morello.compile(text, target="x86.scalar")
    rows = kernel.measurements
    assert [row.rank for row in rows] == [1, 2, 3]
    assert (rows[0].predicted_cycles, rows[0].description) == (plain.cost, plain.plan.summary())
    assert sorted(row.predicted_cycles for row in rows) == [row.predicted_cycles for row in rows]
    for place in range(2):
        assert len({row.description.split("; ")[place] for row in rows}) > 1


def test_a_budget_is_shared() -> None:
    """In equal parts, so that no search depends on what others left over."""
    text = """spec two(N = 200) {
      input  x: f32[N]
      output y: f32[N]
      output z: f32[N]
      y = relu(x)
      z = neg(x)
    }"""
    full = morello.compile(text, target="x86.scalar").statistics.cells
    budget = Budget(specs=full * 3 // 4)
    statistics = morello.compile(text, target="x86.scalar", budget=budget, memo=Memo()).statistics
    assert statistics.cells <= full * 3 // 4
    assert statistics.coarsening is not None
    limit = f"the budget of {full * 3 // 4:,} Specs for 2 searches"
    assert statistics.coarsening.limit == limit
    with pytest.raises(morello.MorelloError) as error:
        morello.compile(text, target="x86.scalar", budget=Budget(specs=2))
    (enough,) = re.findall(r"allow (\d+) specs or more", error.value.help)
    morello.compile(text, target="x86.scalar", budget=Budget(specs=int(enough)))
