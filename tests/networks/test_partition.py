"""What is computed together, and where what is computed lies."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from onnx import NodeProto, helper

from morello.networks.memory import Arena, bytes_of, plan
from morello.networks.network import Network, Node, Value
from morello.networks.partition import SEEN, Part, partition

from .models import model_of, random, read


def node(operator: str, inputs: str, output: str, **attributes: Any) -> NodeProto:
    return helper.make_node(operator, inputs.split(), [output], **attributes)


def kinds(network: Network) -> list[str]:
    """The parts and steps of a network in short."""
    return [
        " ".join(own.operator for own in step.nodes) if isinstance(step, Part) else step.operator
        for step in partition(network)
        if isinstance(step, Part) or step.operator not in SEEN
    ]


def test_what_follows_a_product_is_computed_with_it(tmp_path: Path) -> None:
    nodes = [
        node("MatMul", "x w", "a"),
        node("Add", "a b", "c"),
        node("ReduceMean", "c", "m", axes=[1]),
        node("Sub", "c m", "d"),
        node("MatMul", "d v", "e"),
        node("Relu", "e", "y"),
    ]
    constants = {"w": random(5, 6), "b": random(6), "v": random(6, 4)}
    network = read(model_of(nodes, {"x": random(3, 5)}, ["y"], constants), tmp_path)
    assert kinds(network) == [
        "Product Elementwise Reduce Elementwise Elementwise",
        "Product Elementwise",
    ]


def test_attention_is_one_part(tmp_path: Path) -> None:
    nodes = [
        node("Transpose", "k", "t", perm=[0, 2, 1]),
        node("MatMul", "q t", "s"),
        node("Mul", "s half", "h"),
        node("Softmax", "h", "p"),
        node("MatMul", "p v", "y"),
    ]
    inputs = {"q": random(2, 5, 4), "k": random(2, 7, 4), "v": random(2, 7, 3)}
    constants = {"half": np.array(0.5, np.float32)}
    network = read(model_of(nodes, inputs, ["y"], constants), tmp_path)
    assert kinds(network) == ["Product Elementwise SoftmaxAlong Product"]


def test_what_two_others_read_ends_a_part(tmp_path: Path) -> None:
    nodes = [
        node("MatMul", "x w", "a"),
        node("Relu", "a", "b"),
        node("MatMul", "b v", "c"),
        node("Add", "b c", "y"),
    ]
    constants = {"w": random(5, 6), "v": random(6, 6)}
    network = read(model_of(nodes, {"x": random(3, 5)}, ["y"], constants), tmp_path)
    assert kinds(network) == ["Product Elementwise", "Product Elementwise"]


def test_nothing_that_depends_on_another_part_is_computed_before_it(tmp_path: Path) -> None:
    nodes = [
        node("MatMul", "x w", "a"),
        node("MatMul", "a v", "b"),
        node("Relu", "b", "c"),
        node("Add", "a c", "y"),  # reads the first product, but waits for the second
    ]
    constants = {"w": random(5, 6), "v": random(6, 6)}
    network = read(model_of(nodes, {"x": random(3, 5)}, ["y"], constants), tmp_path)
    assert kinds(network) == ["Product", "Product Elementwise Elementwise"]


def test_pixels_stay_columns_until_an_image_is_needed(tmp_path: Path) -> None:
    nodes = [
        node("Conv", "x w b", "a"),
        node("Relu", "a", "c"),
        node("Mul", "c s", "d"),
        node("Conv", "d v", "y"),
    ]
    constants = {
        "w": random(5, 4, 1, 1),
        "b": random(5),
        "s": random(1, 5, 1, 1),
        "v": random(6, 5, 1, 1),
    }
    network = read(model_of(nodes, {"x": random(1, 4, 6, 7)}, ["y"], constants), tmp_path)
    assert kinds(network) == ["Product Elementwise Elementwise Elementwise", "Product"]
    views = [own for own in network.nodes if own.operator == "View"]
    assert {network.shape(own.output) for own in views} == {(4, 42), (5, 42), (1, 6, 6, 7)}


# --------------------------------------------------------------------------- memory


def chain_of(sizes: list[int], reads: list[int]) -> tuple[Network, list[Node]]:
    """Steps that each read the one before, and one of those before that."""
    values = {"x": Value("x", "float32", (sizes[0],))}
    steps = []
    for number, size in enumerate(sizes):
        values[f"v{number}"] = Value(f"v{number}", "float32", (size,))
        before = "x" if not number else f"v{number - 1}"
        also = f"v{reads[number] % number}" if number else "x"
        steps.append(Node("Move", "", (before, also), (f"v{number}",)))
    return Network("chain", values, steps, ["x"], [f"v{len(sizes) - 1}"]), steps


@given(
    st.lists(st.tuples(st.integers(1, 99), st.integers(0, 99), st.integers(0, 300)), min_size=1),
)
def test_nothing_is_overwritten_that_is_still_read(rows: list[tuple[int, int, int]]) -> None:
    sizes, reads, workspaces = map(list, zip(*rows, strict=True))
    network, steps = chain_of(sizes, reads)
    arena = plan(network, steps, workspaces)
    alive: dict[str, int] = {}  # until which step
    for place, step in enumerate(steps):
        for name in step.inputs:
            alive[name] = place
    for place, step in enumerate(steps):
        own = [n for n in alive if alive[n] >= place and _made(n) <= place] + [step.output]
        spans = [_span(network, arena, name) for name in dict.fromkeys(own)]
        scratch = arena.scratch[place]
        assert (scratch is None) == (workspaces[place] == 0)
        if scratch is not None:
            spans.append((scratch, scratch + workspaces[place]))
        held = sorted(span for span in spans if span is not None)
        assert all(end <= begin for (_, end), (begin, _) in pairwise(held))
        assert all(end <= arena.bytes and begin % 64 == 0 for begin, end in held)


def _made(name: str) -> int:
    return -1 if name == "x" else int(name[1:])


def _span(network: Network, arena: Arena, name: str) -> tuple[int, int] | None:
    place = arena.places[name]
    return None if place.argument else (place.offset, place.offset + bytes_of(network, name))


def test_what_is_put_together_is_computed_in_its_place(tmp_path: Path) -> None:
    nodes = [
        node("Relu", "x", "a"),
        node("MatMul", "x w", "b"),
        node("Concat", "a b x", "c", axis=0),
        node("MatMul", "c w", "y"),
    ]
    network = read(model_of(nodes, {"x": random(3, 4)}, ["y"], {"w": random(4, 4)}), tmp_path)
    steps = partition(network)
    arena = plan(network, steps, [0] * len(steps))
    begin = arena.places["c"].offset
    assert [arena.places[n].offset - begin for n in "ab"] == [0, 48]
    assert arena.places["x"].argument == "x"  # which has to be copied there
