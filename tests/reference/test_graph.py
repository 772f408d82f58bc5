"""Networks of several operations: what right programs give, in whatever way, and no others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest

from morello.checking.operators import check_operators
from morello.errors import MorelloError
from morello.ir.dtypes import BF16, F32, S8, S32, DType
from morello.ir.graphs.composition import operation_of
from morello.ir.graphs.graph import Node, expanded, graph_of
from morello.ir.numeric import Array
from morello.ir.operators import Operation, Operator
from morello.ir.sizes import sizes_from
from morello.language.diagnostics import Collector
from morello.language.parse import parse_rules
from morello.language.source import Source
from morello.reference import inputs as test_inputs
from morello.reference.bounded import Bounded, bounded
from morello.reference.compare import MismatchError, check_close, reference
from morello.reference.errors import Errors
from morello.reference.graph import Nodes
from morello.reference.meaning import Tensor
from tests.reference.simulate import Hardware

OPERATORS = """
op product(A: T[m, k], B: U[k, n]) -> C: V[m, n] "A product."
{ C[m, n] += A[m, k] * B[k, n] }

op transposed(X: T[i, j]) -> Y: T[j, i] "The transpose." { Y[j, i] = X[i, j] }

op biased(X: T[i, j], B: T[j]) -> Y: T[i, j] "Sum of rows." { Y[i, j] = X[i, j] + B[j] }

op times(X: T[i...]; factor) -> Y: T[i...] "A multiple." { Y[i...] = X[i...] * factor }

op sum(X: T[i, j]) -> Y: T[i] "Sums of rows." { Y[i] += X[i, j] }

op converted(X: T[i...]) -> Y: U[i...] "Another type." { Y[i...] = X[i...] }

op gelu(X: T[i...]) -> Y: T[i...]
  "Gaussian error linear unit."
{ Y[i...] = X[i...] * 0.5 * (1 + erf(X[i...] * 0.70710678)) }

op softmax(X: T[i, j]) -> Y: T[i, j]
  "Exponentials of rows, over their sum."
{
  M[i] max= X[i, j]
  E[i, j] = exp(X[i, j] - M[i])
  S[i] += E[i, j]
  Y[i, j] = E[i, j] / S[i]
}

op layernorm(X: T[i, j]; part, epsilon) -> Y: T[i, j]
  "Rows of mean 0 and variance 1."
{
  M[i] += X[i, j] * part
  D[i, j] = X[i, j] - M[i]
  V[i] += D[i, j] * D[i, j] * part
  Y[i, j] = D[i, j] / sqrt(V[i] + epsilon)
}

op quantized(X: T[i, j], S: T[i]) -> Y: T[i, j]
  "In steps of the scale of their row."
{ Y[i, j] = min(max(round(X[i, j] / S[i]), -127), 127) }

op scale(X: T[i, j]) -> S: T[i]
  "What makes the largest element of a row 127."
{
  L[i] max= abs(X[i, j])
  S[i] = max(L[i], 0.001) / 127
}
"""


def _operators() -> Mapping[str, Operator]:
    collector = Collector()
    found = check_operators([parse_rules(Source("test.mrules", OPERATORS))], collector)
    collector.raise_if_any()
    return found


DECLARED = _operators()


def node(name: str, *tensors: str, **scalars: float) -> Node:
    operator = DECLARED[name]
    rank = 2 if operator.group else 0
    return Node(Operation(operator, rank, False, tuple(scalars.items())), tensors)


def results(
    nodes: Sequence[Node],
    dtypes: Mapping[str, DType],
    inputs: Mapping[str, Tensor],
    outputs: Collection[str] = (),
    *,
    flushes: bool = False,
) -> dict[str, Bounded]:
    """Results with their bounds, by name; by default that of the last node."""
    wanted = outputs or [nodes[-1].output]
    return Nodes(nodes, dtypes, partial(Errors, flushes=flushes)).run(inputs, wanted)


@dataclass(frozen=True)
class Network:
    """Nodes, the shapes of the inputs, and the element types that are not f32."""

    nodes: tuple[Node, ...]
    shapes: Mapping[str, tuple[int, ...]]
    dtypes: Mapping[str, DType] = field(default_factory=dict)

    @property
    def single(self) -> list[Node]:
        """Nodes of one statement."""
        return [inner for one in self.nodes for inner in expanded(one)]

    def dtype(self, name: str) -> DType:
        return self.dtypes.get(name, F32)

    def inputs(self, kind: str, seed: int = 0) -> dict[str, Array]:
        rng = np.random.default_rng(seed)
        if kind == "cancelling":  # all elements of a row are close to each other
            return self._uniform(rng, 99, 101)
        if kind == "wide":  # as of scores that no scale has made small
            return self._uniform(rng, -300, 300)
        return {n: test_inputs.make(kind, s, self.dtype(n), rng) for n, s in self.shapes.items()}

    def _uniform(self, rng: np.random.Generator, low: float, high: float) -> dict[str, Array]:
        return {n: rng.uniform(low, high, s).astype(np.float32) for n, s in self.shapes.items()}

    def expected(self, inputs: Mapping[str, Array | Bounded], *, flushes: bool = False) -> Bounded:
        dtypes = {name: self.dtype(name) for n in self.single for name in n.tensors}
        (result,) = results(self.single, dtypes, inputs, flushes=flushes).values()
        return result

    def run(self, program: Hardware, inputs: Mapping[str, Array]) -> Array:
        """A program in f32, every node for itself."""
        tensors = dict(inputs)
        for one in self.single:
            operands = [tensors[name] for name in one.inputs]
            size = sizes_from(one.operation, [o.shape for o in operands])
            sizes = [size[d] for d in one.operation.dims]
            tensors[one.output] = program.run(one.operation, sizes, operands)
        return tensors[self.nodes[-1].output]


COUNT = 60
PART = 1 / COUNT
LAYERNORM = {"part": PART, "epsilon": 1e-5}

NETWORKS = {
    "softmax": Network((node("softmax", "x", "y"),), {"x": (7, COUNT)}),
    "layernorm": Network((node("layernorm", "x", "y", **LAYERNORM),), {"x": (7, COUNT)}),
    "dense": Network(
        (
            node("product", "x", "w", "c"),
            node("biased", "c", "b", "d"),
            node("gelu", "d", "y"),
        ),
        {"x": (6, 20), "w": (20, 9), "b": (9,)},
    ),
    "attention": Network(
        (
            node("transposed", "k", "t"),
            node("product", "q", "t", "c"),
            node("times", "c", "s", factor=0.25),
            node("softmax", "s", "p"),
            node("product", "p", "v", "y"),
        ),
        {"q": (5, 16), "k": (11, 16), "v": (11, 8)},
    ),
    "block": Network(
        (
            node("layernorm", "x", "n", **LAYERNORM),
            node("product", "n", "w", "c"),
            node("biased", "c", "b", "d"),
            node("gelu", "d", "g"),
            node("product", "g", "u", "y"),
        ),
        {"x": (4, COUNT), "w": (COUNT, 30), "b": (30,), "u": (30, COUNT)},
    ),
}
KINDS = (*test_inputs.KINDS, "cancelling", "wide")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NETWORKS)
def test_right_programs_are_accepted(name: str, kind: str) -> None:
    """In any order, with products contracted or not, with subnormal numbers or not."""
    network = NETWORKS[name]
    for seed in range(3):
        inputs = network.inputs(kind, seed)
        for flushes in (False, True):
            expected = network.expected(inputs, flushes=flushes)
            for fused in (False, True):
                program = Hardware(np.random.default_rng(seed), fused=fused, flushes=flushes)
                check_close(network.run(program, inputs), expected)


@pytest.mark.parametrize("name", NETWORKS)
def test_results_in_float64_are_accepted(name: str) -> None:
    """They are nearer than any in f32: the bound is around what is meant."""
    network = NETWORKS[name]
    inputs = network.inputs("random")
    expected = network.expected(inputs)
    check_close(expected.rounded(), expected)
    finite = np.abs(expected.values) > 1e-3
    assert np.median((expected.error / np.abs(expected.values))[finite]) < 1e-3


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_is_one_operation_too(name: str) -> None:
    """With the same bounds as its nodes in turn, or those of its expressions in one."""
    network = NETWORKS[name]
    dtypes = {n: F32 for one in network.single for n in one.tensors}
    whole = operation_of(graph_of(network.single, network.nodes[-1].output, dtypes))
    inputs = network.inputs("random")
    operands = [inputs[n] for n in whole.tensors[:-1]]
    size = sizes_from(whole.operation, [o.shape for o in operands])
    found = reference(whole.operation, [size[d] for d in whole.operation.dims], operands, F32)
    expected = network.expected(inputs)
    assert np.allclose(expected.values, found.values, rtol=1e-12)
    assert np.allclose(expected.error, found.error, rtol=1e-6)


# --------------------------------------------------------------------------- wrong programs


def _softmax(x: Array, *, shift: bool = True, terms: slice = slice(None)) -> Array:
    with np.errstate(all="ignore"):
        e = np.exp(x - x.max(axis=1, keepdims=True)) if shift else np.exp(x)
        result: Array = e / e[:, terms].sum(axis=1, keepdims=True, dtype=np.float32)
    return result


def _layernorm(x: Array, *, epsilon: float = 1e-5, count: int | None = None) -> Array:
    d = x - x.mean(axis=1, keepdims=True, dtype=np.float32)
    variance = (d * d).sum(axis=1, keepdims=True) * np.float32(1 / (count or x.shape[1]))
    result: Array = d / np.sqrt(variance + np.float32(epsilon))
    return result


LONG = Network((node("softmax", "x", "y"),), {"x": (4, 1000)})
LONG_NORM = Network((node("layernorm", "x", "y", part=0.001, epsilon=1e-5),), {"x": (4, 1000)})


def _refuses(
    network: Network, wrong: Callable[[Array], Array], inputs: Mapping[str, Array]
) -> None:
    expected = network.expected(inputs)
    with np.errstate(all="ignore"):
        actual = wrong(inputs["x"])
    with pytest.raises(MismatchError) as error:
        check_close(actual, expected)
    assert "of 4000 elements are wrong" in str(error.value)


def test_a_softmax_is_right_as_numpy_does_it() -> None:
    for kind in ("random", "wide", "small"):
        inputs = LONG.inputs(kind)
        check_close(_softmax(inputs["x"]), LONG.expected(inputs))


@pytest.mark.parametrize("kind", ["random", "small"])
def test_a_softmax_of_which_the_sum_misses_a_term_is_refused(kind: str) -> None:
    inputs = LONG.inputs(kind)
    inputs["x"][:, -1] = inputs["x"].max(axis=1)
    _refuses(LONG, lambda x: _softmax(x, terms=slice(0, -1)), inputs)


def test_a_softmax_without_the_largest_is_refused_where_that_shows() -> None:
    """Where exponentials overflow: of small numbers it is as good."""
    inputs = LONG.inputs("random")
    check_close(_softmax(inputs["x"], shift=False), LONG.expected(inputs))
    _refuses(LONG, lambda x: _softmax(x, shift=False), LONG.inputs("wide"))


def test_a_softmax_with_a_poor_exponential_is_refused() -> None:
    def poor(x: Array) -> Array:
        e = np.exp(x - x.max(axis=1, keepdims=True))
        e *= np.where(np.arange(e.shape[1]) % 2, np.float32(1 + 3e-4), np.float32(1 - 3e-4))
        result: Array = e / e.sum(axis=1, keepdims=True)
        return result

    _refuses(LONG, poor, LONG.inputs("random"))


def test_a_layernorm_that_divides_by_one_less_is_refused() -> None:
    inputs = LONG_NORM.inputs("random")
    check_close(_layernorm(inputs["x"]), LONG_NORM.expected(inputs))
    _refuses(LONG_NORM, lambda x: _layernorm(x, count=999), inputs)


def test_a_layernorm_without_epsilon_is_refused_where_that_shows() -> None:
    _refuses(LONG_NORM, lambda x: _layernorm(x, epsilon=0), LONG_NORM.inputs("zeros"))


def test_an_approximate_gelu_is_refused() -> None:
    network = NETWORKS["dense"]
    inputs = network.inputs("random")
    d = inputs["x"] @ inputs["w"] + inputs["b"]
    poor = 0.5 * d * (1 + np.tanh(0.7978845608 * (d + 0.044715 * d**3)))
    with pytest.raises(MismatchError):
        check_close(poor.astype(np.float32), network.expected(inputs))


def test_a_missing_scale_is_refused() -> None:
    network = NETWORKS["attention"]
    inputs = network.inputs("random")
    unscaled = Network(
        tuple(
            node("times", "c", "s", factor=0.26) if n.output == "s" else n for n in network.nodes
        ),
        network.shapes,
    )
    actual = unscaled.run(Hardware(np.random.default_rng(0)), inputs)
    with pytest.raises(MismatchError):
        check_close(actual, network.expected(inputs))


# --------------------------------------------------------------------------- other types


def _quantized() -> Network:
    """A product of eight bits, of f32 that is brought to them."""
    nodes = (
        node("scale", "x", "s"),
        node("quantized", "x", "s", "r"),
        node("converted", "r", "q"),
        node("product", "q", "w", "y"),
    )
    return Network(nodes, {"x": (5, 40), "w": (40, 6)}, {"q": S8, "w": S8, "y": S32})


def test_integers_that_were_rounded_may_be_off_by_one_where_that_is_close() -> None:
    """Most products of such integers are exact; none is off by more than its steps allow."""
    network = _quantized()
    inputs = network.inputs("random")
    expected = network.expected(inputs)
    x = inputs["x"]
    s = np.abs(x).max(axis=1, keepdims=True) / np.float32(127)
    q = np.clip(np.rint(x / s), -127, 127).astype(np.int32)
    actual = (q @ inputs["w"].astype(np.int32)).astype(np.int32)
    check_close(actual, expected)
    assert (np.broadcast_to(expected.error, expected.shape) == 0).any()
    wrong = actual + 128 * x.shape[1]
    with pytest.raises(MismatchError):
        check_close(wrong.astype(np.int32), expected)


def test_a_tensor_in_bf16_is_rounded_to_it() -> None:
    """What is only converted has one right value, also where the product that reads it is fused."""
    nodes = (node("converted", "x", "h"), node("product", "h", "w", "y"))
    network = Network(nodes, {"x": (4, 30), "w": (30, 5)}, {"h": BF16})
    inputs = network.inputs("random")
    expected = network.expected(inputs)
    rounded = inputs["x"].astype(BF16.numpy).astype(np.float32)
    check_close(rounded @ inputs["w"], expected)
    with pytest.raises(MismatchError):
        check_close(inputs["x"] @ inputs["w"], expected)


def test_a_result_in_bf16_may_be_off_by_half_its_spacing() -> None:
    """By that of the last operation and of those before; one that is rounded once is right, too."""
    nodes = (node("product", "x", "w", "h"), node("sum", "h", "y"))
    network = Network(nodes, {"x": (4, 3), "w": (3, 5)}, {"h": BF16})
    inputs = network.inputs("random")
    exact = inputs["x"].astype(np.float64) @ inputs["w"].astype(np.float64)
    expected = network.expected(inputs)
    for h in (exact, exact.astype(BF16.numpy).astype(np.float64)):
        check_close(h.sum(axis=1).astype(np.float32), expected)
    with pytest.raises(MismatchError):
        check_close((exact * 1.1).sum(axis=1).astype(np.float32), expected)


# --------------------------------------------------------------------------- the interface


def test_inputs_may_have_bounds_and_results_may_be_picked() -> None:
    """A graph in two halves gives what it gives in one."""
    network = NETWORKS["dense"]
    inputs = network.inputs("random")
    dtypes = dict.fromkeys("cdy", F32)
    first = results(network.single, dtypes, inputs, ["d", "c"])
    assert ["d", "c"] == list(first)
    second = results(network.single[-1:], dtypes, {"d": first["d"]})
    whole = network.expected(inputs)
    assert np.array_equal(whole.values, second["y"].values)
    assert np.array_equal(whole.error, second["y"].error)
    exact = {name: bounded(a, F32) for name, a in inputs.items()}
    assert np.array_equal(whole.error, network.expected(exact).error)


def test_a_node_may_add_to_a_tensor_that_is_there() -> None:
    network = NETWORKS["dense"]
    first = network.single[0]
    adding = Node(Operation(first.operation.operator, 0, True), first.tensors)
    inputs = network.inputs("small")
    old = np.full((6, 9), 3, np.float32)
    found = results([adding], {"c": F32}, {**inputs, "c": old})["c"]
    check_close(old + inputs["x"] @ inputs["w"], found)


def test_what_is_not_there_is_named() -> None:
    nodes, inputs = NETWORKS["softmax"].single, NETWORKS["softmax"].inputs("random")
    dtypes = dict.fromkeys([n.output for n in nodes], F32)
    with pytest.raises(MorelloError, match="tensor 'x' is not there"):
        results(nodes, dtypes, {})
    with pytest.raises(MorelloError, match="tensor 'z' is not there") as error:
        results(nodes, dtypes, inputs, ["z"])
    assert "y.S" in str(error.value.help)
