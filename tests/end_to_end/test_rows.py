"""Reductions of rows and columns, and what is broadcast to them, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import morello

from .kernels import Array, runnable, small_machines, to_run

TARGETS = ("x86.scalar", "x86.avx2", "x86.avx512")

SHAPES = {"x": "M, N", "z": "M, N", "b": "N", "m": "M"}
"""What operators are applied to."""

Expected = Callable[..., Array]

OPERATORS: dict[str, tuple[str, str, Expected]] = {
    "row_sum": ("x", "M", lambda x: x.sum(axis=1)),
    "row_max": ("x", "M", lambda x: x.max(axis=1)),
    "row_min": ("x", "M", lambda x: x.min(axis=1)),
    "row_mean": ("x", "M", lambda x: x.mean(axis=1)),
    "row_mean_square": ("x", "M", lambda x: (x * x).mean(axis=1)),
    "row_square_sum": ("x", "M", lambda x: (x * x).sum(axis=1)),
    "row_variance": ("x m", "M", lambda x, m: ((x - m[:, None]) ** 2).mean(axis=1)),
    "row_dot": ("x z", "M", lambda x, z: (x * z).sum(axis=1)),
    "column_sum": ("x", "N", lambda x: x.sum(axis=0)),
    "column_max": ("x", "N", lambda x: x.max(axis=0)),
    "column_min": ("x", "N", lambda x: x.min(axis=0)),
    "column_mean": ("x", "N", lambda x: x.mean(axis=0)),
    "add_bias": ("x b", "M, N", lambda x, b: x + b),
    "scale_columns": ("x b", "M, N", lambda x, b: x * b),
    "add_to_rows": ("x m", "M, N", lambda x, m: x + m[:, None]),
    "subtract_from_rows": ("x m", "M, N", lambda x, m: x - m[:, None]),
    "scale_rows": ("x m", "M, N", lambda x, m: x * m[:, None]),
    "divide_rows": ("x m", "M, N", lambda x, m: x / m[:, None]),
}
"""With what they read, the shape of what comes out, and what that is."""

OF_FLOATS = {"row_mean", "row_mean_square", "row_variance", "column_mean", "divide_rows"}
OF_INTEGERS = tuple(name for name in OPERATORS if name not in OF_FLOATS)


@cache
def _compiled(
    names: tuple[str, ...], dtype: str, sizes: tuple[int, int], target: str = "x86.avx512"
) -> morello.Kernel:
    """A program that applies operators one after the other, each with an output of its own."""
    read = {tensor for name in names for tensor in OPERATORS[name][0].split()}
    lines = [f"input {tensor}: {dtype}[{SHAPES[tensor]}]" for tensor in SHAPES if tensor in read]
    for name in names:
        operands, shape, _ = OPERATORS[name]
        lines.append(f"output of_{name}: {dtype}[{shape}]")
        lines.append(f"of_{name} = {name}({', '.join(operands.split())})")
    text = "\n".join(["spec s(M, N) {", *lines, "}"])
    defines = dict(zip("MN", sizes, strict=True))
    return morello.compile(text, defines=defines, target=target, definitions=small_machines())


def _alone(name: str, sizes: tuple[int, int], target: str = "x86.avx512") -> morello.Kernel:
    return _compiled((name,), "f32", sizes, target)


def _computed(kernel: morello.Kernel, name: str, inputs: dict[str, Array]) -> tuple[Array, Array]:
    """What a kernel computes for an operator, and in double precision or integers what it is."""
    results = kernel.function.results(*(inputs[a.name] for a in kernel.signature.inputs))
    place = [output.name for output in kernel.signature.outputs].index(f"of_{name}")
    wide = (inputs[t].astype(np.float64) for t in OPERATORS[name][0].split())
    narrow = (inputs[t] for t in OPERATORS[name][0].split())
    integers = results[place].dtype.kind == "i"
    return results[place], OPERATORS[name][2](*(narrow if integers else wide))


@pytest.mark.sample(3)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", OPERATORS)
def test_they_are_what_numpy_says(name: str, target: str) -> None:
    """On small integers, of which sums and products are exact, and quotients nearly."""
    kernel = runnable(_compiled(tuple(OPERATORS), "f32", (5, 37), target))
    rng = np.random.default_rng(1)
    inputs = {
        a.name: rng.integers(1, 9, a.shape).astype(np.float32) for a in kernel.signature.inputs
    }
    found, expected = _computed(kernel, name, inputs)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("name", OF_INTEGERS)
def test_of_integers(name: str) -> None:
    """They wrap around."""
    kernel = runnable(_compiled(OF_INTEGERS, "s32", (3, 70), "x86.avx2"))
    rng = np.random.default_rng(2)
    inputs = {
        a.name: rng.integers(-(2**31), 2**31, a.shape).astype(np.int32)
        for a in kernel.signature.inputs
    }
    with np.errstate(over="ignore"):
        found, expected = _computed(kernel, name, inputs)
    np.testing.assert_array_equal(found, expected.astype(np.int32))


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("row_max", (1, 1)),
        ("row_sum", (2, 16)),
        ("row_dot", (3, 1009)),
        ("row_variance", (2, 5000)),
        ("column_sum", (67, 1)),
        ("column_mean", (129, 65)),
        ("add_bias", (3, 4099)),
        ("divide_rows", (7, 130)),
    ],
)
def test_any_size(name: str, sizes: tuple[int, int]) -> None:
    """Rows of one element, of loops with a tail, and longer than any tile."""
    for target in ("x86.avx2", "x86.avx512"):
        report = runnable(_alone(name, sizes, target)).verify()
        assert report.elements > 0


def test_a_mean_is_that_of_the_whole() -> None:
    """Also where a program adds up parts: their sizes are none of its business."""
    kernel = runnable(_alone("column_mean", (5000, 2), "x86.scalar"))
    assert "split_reduction" in kernel.plan.render()
    x = np.ascontiguousarray(np.arange(10000, dtype=np.float32).reshape(2, 5000).T)
    np.testing.assert_allclose(kernel(x), [2499.5, 7499.5], rtol=1e-4)


def test_one_number_of_all() -> None:
    """A row alone has no dimension left."""
    text = "spec s(N) { input x: f32[N] output y: f32[] y = row_sum(x) }"
    kernel = to_run(morello.compile, text, defines={"N": 1001}, target="x86.avx512")
    assert kernel(np.ones(1001, np.float32)) == 1001
    assert kernel.verify().elements == len(kernel.verify().kinds)


@pytest.mark.parametrize("name", ["row_max", "row_variance", "add_bias", "divide_rows"])
def test_a_row_is_one_loop(name: str) -> None:
    """Not written out, however long it is: kernels read memory, and write to it."""
    kernel = _alone(name, (8, 4096))
    assert "unrolled" not in kernel.source
    assert len(kernel.source.splitlines()) < 120


def test_columns_are_added_up_in_vectors() -> None:
    """A row of sums, to which row by row is added."""
    kernel = _alone("column_sum", (64, 1024))
    assert "vector_x16" in kernel.plan.render()
    assert "element" not in kernel.plan.render()
