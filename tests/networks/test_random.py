"""Random networks: whatever is put together, cut, viewed and kept where, the result is ONNX's."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from .models import Arrays, expected, in_an_arena, interpreted, model_of, read

SIZES = st.sampled_from([1, 2, 3, 4])
ONE_INPUT = ("Relu", "Neg", "Sigmoid", "Abs")
TWO_INPUTS = ("Add", "Sub", "Mul", "Max")


class _Drawing:
    """Draws nodes, each on what is there."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        shape = tuple(draw(st.lists(SIZES, min_size=2, max_size=4)))
        self.shapes: dict[str, tuple[int, ...]] = {"x": shape}
        self.constants: dict[str, np.ndarray[Any, Any]] = {}
        self.nodes: list[onnx.NodeProto] = []

    def source(self) -> str:
        """A tensor that is there, more likely one of the last."""
        names = list(self.shapes)
        return names[max(0, len(names) - 1 - self.draw(st.integers(0, 4)))]

    def add(self, operator: str, inputs: list[str], shape: tuple[int, ...], **more: Any) -> None:
        """A node."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, **more))
        self.shapes[name] = shape

    def constant(self, data: np.ndarray[Any, Any]) -> str:
        """A constant."""
        name = f"c{len(self.constants)}"
        self.constants[name] = data
        return name

    def numbers(self, *shape: int) -> str:
        """A constant of small numbers."""
        rng = np.random.default_rng((len(self.constants), *shape))
        return self.constant(rng.integers(-2, 3, shape).astype(np.float32) / 2)

    def step(self) -> None:
        """One node more."""
        kinds = (
            self.one,
            self.two,
            self.broadcast,
            self.product,
            self.reduction,
            self.softmax,
            self.transpose,
            self.reshape,
            self.cut,
            self.concat,
            self.frame,
        )
        self.draw(st.sampled_from(kinds))()

    def one(self) -> None:
        """A function."""
        x = self.source()
        self.add(self.draw(st.sampled_from(ONE_INPUT)), [x], self.shapes[x])

    def two(self) -> None:
        """Of two tensors of one shape, or of one with itself."""
        x = self.source()
        alike = [name for name, shape in self.shapes.items() if shape == self.shapes[x]]
        other = self.draw(st.sampled_from(alike))
        self.add(self.draw(st.sampled_from(TWO_INPUTS)), [x, other], self.shapes[x])

    def broadcast(self) -> None:
        """With a constant that is repeated."""
        x = self.source()
        ones = self.draw(st.lists(st.booleans(), min_size=len(self.shapes[x]), max_size=9))
        shape = [1 if one else s for one, s in zip(ones, self.shapes[x], strict=False)]
        other = self.numbers(*shape[self.draw(st.integers(0, len(shape) - 1)) :])
        operator = self.draw(st.sampled_from(TWO_INPUTS))
        self.add(operator, [x, other], self.shapes[x])

    def product(self) -> None:
        """With a constant, or with a transpose of itself."""
        x = self.source()
        *batch, m, k = self.shapes[x]
        if self.draw(st.booleans()):
            n = self.draw(SIZES)
            self.add("MatMul", [x, self.numbers(k, n)], (*batch, m, n))
            return
        order = [*range(len(batch)), len(batch) + 1, len(batch)]
        self.add("Transpose", [x], (*batch, k, m), perm=order)
        self.add("MatMul", [x, self.nodes[-1].output[0]], (*batch, m, m))

    def reduction(self) -> None:
        """Along one dimension, which stays."""
        x = self.source()
        axis = self.draw(st.integers(0, len(self.shapes[x]) - 1))
        shape = tuple(1 if a == axis else s for a, s in enumerate(self.shapes[x]))
        operator = self.draw(st.sampled_from(["ReduceMean", "ReduceMax"]))
        self.add(operator, [x], shape, axes=[axis])

    def softmax(self) -> None:
        """Along one dimension."""
        x = self.source()
        axis = self.draw(st.integers(0, len(self.shapes[x]) - 1))
        self.add("Softmax", [x], self.shapes[x], axis=axis)

    def transpose(self) -> None:
        """Any order."""
        x = self.source()
        order = self.draw(st.permutations(range(len(self.shapes[x]))))
        self.add("Transpose", [x], tuple(self.shapes[x][a] for a in order), perm=order)

    def reshape(self) -> None:
        """Two dimensions become one, or one more of size 1 is there."""
        x = self.source()
        shape = list(self.shapes[x])
        place = self.draw(st.integers(0, len(shape) - 1))
        if len(shape) > 2 and place + 1 < len(shape):
            shape[place : place + 2] = [shape[place] * shape[place + 1]]
        elif len(shape) < 5:
            shape.insert(place, 1)
        self.add("Reshape", [x, self.constant(np.array(shape))], tuple(shape))

    def cut(self) -> None:
        """Some of a dimension."""
        x = self.source()
        shape = list(self.shapes[x])
        axis = self.draw(st.integers(0, len(shape) - 1))
        start = self.draw(st.integers(0, shape[axis] - 1))
        end = self.draw(st.integers(start + 1, shape[axis]))
        given = (self.constant(np.array([value])) for value in (start, end, axis))
        shape[axis] = end - start
        self.add("Slice", [x, *given], tuple(shape))

    def concat(self) -> None:
        """Two tensors that only differ in one dimension."""
        x = self.source()
        own = self.shapes[x]
        axis = self.draw(st.integers(0, len(own) - 1))

        def rest(shape: tuple[int, ...]) -> tuple[int, ...]:
            return (len(shape), *shape[:axis], *shape[axis + 1 :])

        fitting = [n for n, s in self.shapes.items() if rest(s) == rest(own)]
        other = self.draw(st.sampled_from(fitting))
        shape = (*own[:axis], own[axis] + self.shapes[other][axis], *own[axis + 1 :])
        self.add("Concat", [x, other], shape, axis=axis)

    def frame(self) -> None:
        """A value around one dimension."""
        x = self.source()
        shape = list(self.shapes[x])
        axis = self.draw(st.integers(0, len(shape) - 1))
        pads = [0] * 2 * len(shape)
        pads[axis], pads[axis + len(shape)] = self.draw(SIZES), self.draw(st.integers(0, 2))
        shape[axis] += pads[axis] + pads[axis + len(shape)]
        value = self.constant(np.array(0.5, np.float32))
        self.add("Pad", [x, self.constant(np.array(pads)), value], tuple(shape))


@st.composite
def models(draw: st.DrawFn) -> tuple[onnx.ModelProto, Arrays]:
    """A model with an input for it."""
    drawing = _Drawing(draw)
    for _ in range(draw(st.integers(1, 9))):
        drawing.step()
    read_by = {name for node in drawing.nodes for name in node.input}
    last = [name for name in drawing.shapes if name not in read_by]
    outputs = draw(st.lists(st.sampled_from(sorted({*last, *drawing.shapes} - {"x"})), unique=True))
    shape = drawing.shapes["x"]
    x = np.random.default_rng(shape).integers(-4, 5, shape).astype(np.float32) / 4
    chosen = list(dict.fromkeys([*last[-1:], *outputs]))
    return model_of(drawing.nodes, {"x": x}, chosen, drawing.constants), {"x": x}


@given(models())
def test_it_computes_what_onnx_says(case: tuple[onnx.ModelProto, Arrays]) -> None:
    model, inputs = case
    with tempfile.TemporaryDirectory() as directory:
        network = read(model, Path(directory))
    for run in (interpreted, in_an_arena):
        for result, wanted in zip(run(network, inputs), expected(model, inputs), strict=True):
            assert result.shape == wanted.shape
            np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-4)
