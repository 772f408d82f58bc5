"""Models that `benchmarks.unnamed` draws: products, convolutions, small graphs, of many kinds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Rng = np.random.Generator
Shape = tuple[int, ...]

WORK = (3e5, 1e8)
"""Multiplications, or elements, of a case: calls of less measure the way to them from Python."""


@dataclass
class Graph:
    """An ONNX model on its way.

    ``what`` is the case in words, ``most_error`` that of results, relative to the largest one.
    """

    what: str
    most_error: float = 1e-3
    inputs: dict[str, Shape] = field(default_factory=dict)
    types: dict[str, type[np.generic]] = field(default_factory=dict)
    constants: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    nodes: list[Any] = field(default_factory=list)
    gives: type[np.generic] = np.float32

    def input(self, *shape: int, dtype: type[np.generic] = np.float32) -> str:
        """A new input of this shape."""
        name = f"x{len(self.inputs)}"
        self.inputs[name], self.types[name] = shape, dtype
        return name

    def weight(self, rng: Rng, *shape: int) -> str:
        """A new constant of random numbers, small where many are added up."""
        scale = 1 / math.sqrt(math.prod(shape[1:]) or 1)
        return self.constant(rng.standard_normal(shape, np.float32) * np.float32(scale))

    def bytes(self, rng: Rng, *shape: int) -> str:
        """A new constant of random signed bytes."""
        return self.constant(rng.integers(-127, 128, shape, np.int8))

    def constant(self, value: np.ndarray[Any, Any]) -> str:
        """A new constant."""
        name = f"w{len(self.constants)}"
        self.constants[name] = value
        return name

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """A new node; its result is named."""
        from onnx import helper  # noqa: PLC0415

        name = f"y{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def number(self, value: float) -> str:
        """A new constant of one number."""
        return self.constant(np.array(value, np.float32))

    def several(self, operator: str, count: int, *inputs: str) -> list[str]:
        """A new node of several results, which are named."""
        first = self.add(operator, *inputs)
        self.nodes[-1].output.extend(f"{first}_{place}" for place in range(1, count))
        return list(self.nodes[-1].output)

    def write(self, path: Path) -> None:
        """The model as a file; its output is what the last node gives."""
        import onnx  # noqa: PLC0415
        from onnx import helper, numpy_helper  # noqa: PLC0415

        result = self.nodes[-1].output[0]
        graph = helper.make_graph(
            self.nodes,
            "unnamed",
            [
                helper.make_tensor_value_info(n, _of(self.types[n]), s)
                for n, s in self.inputs.items()
            ],
            [helper.make_tensor_value_info(result, _of(self.gives), None)],
            [numpy_helper.from_array(value, name) for name, value in self.constants.items()],
        )
        opsets = [helper.make_opsetid("", 17)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
        onnx.save(onnx.shape_inference.infer_shapes(model), str(path))


def _of(dtype: type[np.generic]) -> int:
    from onnx import helper  # noqa: PLC0415

    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def size(rng: Rng, low: int, high: int) -> int:
    """A size: its logarithm is uniform, so that primes and small ones occur."""
    return round(math.exp(rng.uniform(math.log(low), math.log(high + 0.499))))


def sizes(rng: Rng, *ranges: tuple[int, int]) -> tuple[int, ...]:
    """Sizes whose product is within `WORK`."""
    while True:
        found = tuple(size(rng, *each) for each in ranges)
        if WORK[0] <= math.prod(found) <= WORK[1]:
            return found


def product(rng: Rng) -> Graph:
    """A matrix times a weight."""
    m, k, n = sizes(rng, (1, 512), (4, 4096), (2, 4096))
    graph = Graph(f"{m} x {k} x {n}")
    graph.add("MatMul", graph.input(m, k), graph.weight(rng, k, n))
    return graph


def linear(rng: Rng) -> Graph:
    """A layer whose weight is in rows, as checkpoints have it, with a bias."""
    m, k, n = sizes(rng, (1, 512), (4, 4096), (2, 4096))
    graph = Graph(f"{m} x {k} x {n}, weight in rows, bias")
    x, w, b = graph.input(m, k), graph.weight(rng, n, k), graph.weight(rng, n)
    graph.add("Gemm", x, w, b, transB=1)
    return graph


def batched_product(rng: Rng) -> Graph:
    """Matrices times matrices, neither of them known ahead."""
    b, m, k, n = sizes(rng, (1, 16), (4, 256), (4, 256), (4, 256))
    graph = Graph(f"{b} of {m} x {k} x {n}")
    graph.add("MatMul", graph.input(b, m, k), graph.input(b, k, n))
    return graph


def softmax(rng: Rng) -> Graph:
    """Along rows, or along columns."""
    r, c = sizes(rng, (1, 4096), (2, 100_000))
    axis = int(rng.integers(2))
    graph = Graph(f"{r} x {c}, along {('columns', 'rows')[axis]}")
    graph.add("Softmax", graph.input(r, c), axis=axis)
    return graph


def norm(rng: Rng) -> Graph:
    """Of layers, with a scale and a shift."""
    r, c = sizes(rng, (1, 4096), (8, 8192))
    graph = Graph(f"layers of {r} x {c}")
    x, scale, shift = graph.input(r, c), graph.weight(rng, c), graph.weight(rng, c)
    graph.add("LayerNormalization", x, scale, shift, axis=-1)
    return graph


def reduction(rng: Rng) -> Graph:
    """A sum, a mean or a largest one, along some dimension of three."""
    shape = sizes(rng, (1, 512), (1, 512), (1, 2048))
    axis = int(rng.integers(3))
    operator = str(rng.choice(["ReduceSum", "ReduceMean", "ReduceMax"]))
    graph = Graph(f"{operator} of {shape} along {axis}")
    x = graph.input(*shape)
    if operator == "ReduceSum":
        graph.add(operator, x, graph.constant(np.array([axis])), keepdims=0)
    else:
        graph.add(operator, x, axes=[axis], keepdims=0)
    return graph


UNARY = ("Relu", "Tanh", "Sigmoid", "Exp", "Neg", "Abs", "Erf", "Softplus")
BINARY = ("Add", "Mul", "Sub", "Max")


def elementwise(rng: Rng) -> Graph:
    """A few operations of numbers, one after the other; some have a row beside them."""
    r, c = sizes(rng, (1, 2048), (3, 100_000))
    count = int(rng.integers(1, 5))
    graph = Graph("")
    value, what = graph.input(r, c), []
    for _ in range(count):
        if rng.random() < 0.6:
            operator = str(rng.choice(UNARY))
            value = graph.add(operator, value)
        else:
            operator = str(rng.choice(BINARY))
            other = graph.weight(rng, c) if rng.random() < 0.5 else graph.input(r, c)
            value = graph.add(operator, value, other)
        what.append(operator)
    graph.what = f"{r} x {c}: {', '.join(what)}"
    return graph


def transpose(rng: Rng) -> Graph:
    """Dimensions in another order."""
    shape = sizes(rng, (1, 32), (2, 512), (2, 512), (1, 64))
    order = [int(d) for d in rng.permutation(4)]
    if order == sorted(order):
        order = order[::-1]
    graph = Graph(f"{shape} to {tuple(order)}")
    graph.add("Transpose", graph.input(*shape), perm=order)
    return graph


def _convolution(rng: Rng, channels: tuple[int, int], *, depthwise: bool = False) -> Graph:
    while True:
        c, side = size(rng, *channels), size(rng, 4, 160)
        out = c if depthwise else size(rng, 4, 256)
        window, step = int(rng.choice([1, 3, 3, 5, 7])), int(rng.choice([1, 1, 2]))
        work = out * (1 if depthwise else c) * (window * side // step) ** 2
        if WORK[0] <= work <= WORK[1] and window <= side:
            break
    kind = "depthwise, " if depthwise else ""
    graph = Graph(f"{kind}{window} x {window}, step {step}, {c} to {out} of {side} x {side}")
    x = graph.input(1, c, side, side)
    w, b = graph.weight(rng, out, 1 if depthwise else c, window, window), graph.weight(rng, out)
    pads, group = [window // 2] * 4, c if depthwise else 1
    graph.add("Relu", graph.add("Conv", x, w, b, strides=[step] * 2, pads=pads, group=group))
    return graph


def convolution(rng: Rng) -> Graph:
    """Channels first, with a bias and what follows it."""
    return _convolution(rng, (8, 256))


def stem(rng: Rng) -> Graph:
    """Of few channels, as of an image."""
    return _convolution(rng, (1, 4))


def depthwise(rng: Rng) -> Graph:
    """Each channel by itself."""
    return _convolution(rng, (8, 512), depthwise=True)


def convolution_1d(rng: Rng) -> Graph:
    """Along a signal."""
    while True:
        c, out, length = size(rng, 1, 128), size(rng, 4, 128), size(rng, 16, 8000)
        window, step = int(rng.choice([1, 3, 5, 9])), int(rng.choice([1, 1, 2]))
        if WORK[0] <= c * out * length * window / step <= WORK[1]:
            break
    graph = Graph(f"{window}, step {step}, {c} to {out} of {length}")
    x, w, b = graph.input(1, c, length), graph.weight(rng, out, c, window), graph.weight(rng, out)
    graph.add("Conv", x, w, b, strides=[step], pads=[window // 2] * 2)
    return graph


def pool(rng: Rng) -> Graph:
    """The largest or the mean of windows."""
    c, side = sizes(rng, (4, 256), (32, 160), (1, 160))[:2]
    window, step = int(rng.choice([2, 3])), int(rng.choice([1, 2]))
    operator = str(rng.choice(["MaxPool", "AveragePool"]))
    graph = Graph(f"{operator} {window} x {window}, step {step}, {c} of {side} x {side}")
    graph.add(
        operator, graph.input(1, c, side, side), kernel_shape=[window] * 2, strides=[step] * 2
    )
    return graph


def attention(rng: Rng) -> Graph:
    """Of one head, from queries, keys and values."""
    length, others, width = sizes(rng, (8, 512), (8, 512), (8, 128))
    graph = Graph(f"{length} of {others}, width {width}")
    q, k, v = (graph.input(n, width) for n in (length, others, others))
    scores = graph.add("MatMul", q, graph.add("Transpose", k, perm=[1, 0]))
    factor = graph.number(1 / math.sqrt(width))
    shares = graph.add("Softmax", graph.add("Mul", scores, factor), axis=-1)
    graph.add("MatMul", shares, v)
    return graph


def feed_forward(rng: Rng) -> Graph:
    """Two layers, and a function between them."""
    m, width, inner = sizes(rng, (1, 256), (16, 768), (16, 2048))
    operator = str(rng.choice(["Relu", "Tanh", "Sigmoid"]))
    graph = Graph(f"{m} x {width} x {inner} and back, {operator}")
    first = graph.add("MatMul", graph.input(m, width), graph.weight(rng, width, inner))
    hidden = graph.add(operator, graph.add("Add", first, graph.weight(rng, inner)))
    graph.add("MatMul", hidden, graph.weight(rng, inner, width))
    return graph


def half_product(rng: Rng) -> Graph:
    """A matrix times a weight, all of f16."""
    m, k, n = sizes(rng, (1, 512), (4, 4096), (2, 4096))
    graph = Graph(f"{m} x {k} x {n}", 2**-9, gives=np.float16)
    weight = rng.standard_normal((k, n), np.float32) / np.float32(math.sqrt(k))
    graph.add(
        "MatMul", graph.input(m, k, dtype=np.float16), graph.constant(weight.astype(np.float16))
    )
    return graph


def byte_product(rng: Rng) -> Graph:
    """A matrix of bytes times a weight of bytes, in 32 bits."""
    m, k, n = sizes(rng, (1, 512), (4, 4096), (2, 4096))
    graph = Graph(f"{m} x {k} x {n}", 0, gives=np.int32)
    zero = graph.constant(np.array(rng.integers(256), np.uint8))
    x, w = graph.input(m, k, dtype=np.uint8), graph.bytes(rng, k, n)
    graph.add("MatMulInteger", x, w, zero)
    return graph


STEP = 1.01 / 127
"""Of bytes, relative to the largest: as much as results may differ that are rounded to them."""


def byte_linear(rng: Rng) -> Graph:
    """A layer whose weight alone is known as bytes: what comes is quantized by its limits."""
    m, k, n = sizes(rng, (1, 512), (4, 4096), (2, 4096))
    graph = Graph(f"{m} x {k} x {n}, quantized as it comes", STEP)
    x, scale = graph.input(m, k), graph.number(0.01)
    quantized, own, zero = graph.several("DynamicQuantizeLinear", 3, x)
    sums = graph.add("MatMulInteger", quantized, graph.bytes(rng, k, n), zero)
    scaled = graph.add("Mul", graph.add("Cast", sums, to=1), graph.add("Mul", own, scale))
    graph.add("Add", scaled, graph.weight(rng, n))
    return graph


def byte_convolution(rng: Rng) -> Graph:
    """Of an image, filters and a result that bytes stand for."""
    graph = _convolution(rng, (4, 256))
    graph.most_error = STEP
    convolution, rectified = graph.nodes
    x, w, b = convolution.input
    filters = np.asarray(graph.constants[w])
    step = np.abs(filters).max(axis=(1, 2, 3)) / np.float32(127)
    whole = np.rint(filters / step[:, None, None, None]).astype(np.int8)
    dtype = [np.uint8, np.int8][int(rng.integers(2))]
    least = int(np.iinfo(dtype).min)
    first = graph.number(0.03), graph.constant(np.array(least + rng.integers(64, 192), dtype))
    last = graph.number(0.01), graph.constant(np.array(least, dtype))
    image = graph.add("DequantizeLinear", graph.add("QuantizeLinear", x, *first), *first)
    weight = graph.add("DequantizeLinear", graph.constant(whole), graph.constant(step), axis=0)
    convolution.input[:] = [image, weight, b]
    graph.nodes = [*graph.nodes[2:], convolution, rectified]
    result = graph.add("QuantizeLinear", rectified.output[0], *last)
    graph.add("DequantizeLinear", result, *last)
    del graph.constants[w]
    graph.what += f", {np.dtype(dtype)}"
    return graph


def byte_transpose(rng: Rng) -> Graph:
    """The same of bytes as of numbers."""
    graph = transpose(rng)
    graph.types, graph.gives = dict.fromkeys(graph.inputs, np.uint8), np.uint8
    return graph


def picture(rng: Rng) -> Graph:
    """Bytes with the channels last to numbers with the channels first, or the other way."""
    c = int(rng.choice((1, 3, 3, 3, 4)))
    n, h, w = sizes(rng, (1, 4), (32, 1024), (32, 1024))
    if rng.random() < 0.6:
        graph = Graph(f"bytes {n} x {h} x {w} x {c} to numbers")
        numbers = graph.add("Cast", graph.input(n, h, w, c, dtype=np.uint8), to=_of(np.float32))
        middle = graph.add("Sub", numbers, graph.constant(rng.uniform(100, 130, c).astype("f4")))
        scaled = graph.add("Div", middle, graph.constant(rng.uniform(50, 70, c).astype("f4")))
        graph.add("Transpose", scaled, perm=(0, 3, 1, 2))
        return graph
    graph = Graph(f"numbers {n} x {c} x {h} x {w} to bytes", STEP, gives=np.uint8)
    turned = graph.add("Transpose", graph.input(n, c, h, w), perm=(0, 2, 3, 1))
    scaled = graph.add("Mul", turned, graph.number(255))
    clipped = graph.add("Clip", scaled, graph.number(0), graph.number(255))
    graph.add("Cast", clipped, to=_of(np.uint8))
    return graph


Kind = Callable[[Rng], Graph]

KINDS: tuple[Kind, ...] = (
    product,
    linear,
    batched_product,
    softmax,
    norm,
    reduction,
    elementwise,
    transpose,
    convolution,
    stem,
    depthwise,
    convolution_1d,
    pool,
    attention,
    feed_forward,
    half_product,
    byte_product,
    byte_linear,
    byte_convolution,
    byte_transpose,
    picture,
)


def draw(count: int, seed: int, kinds: Sequence[Kind]) -> Iterator[tuple[str, Graph]]:
    """So many cases, of all kinds in turn; the first of them are those of a smaller count."""
    for number in range(count):
        kind = kinds[number % len(kinds)]
        yield kind.__name__, kind(np.random.default_rng((seed, KINDS.index(kind), number)))
