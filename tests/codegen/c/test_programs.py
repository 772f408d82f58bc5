"""Whole programs in C give what numpy gives, sanitized and optimised, without a warning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from morello.codegen.c.emitter import CEmitter
from morello.ir.conversion import convert
from morello.ir.dtypes import BF16, DTYPES
from morello.ir.layout import Layout
from morello.ir.programs.emitted import EmitOptions
from morello.ir.programs.tree import Affine, Block, Node, Program
from morello.records import replace
from morello.toolchain.machine import Machine

from .build import at, buffer, call, loop, parallel, program, tensor, view, whole
from .definitions import operation, runnable, targets
from .harness import run_everywhere
from .programs import (
    LANES,
    element_loops,
    near,
    parallel_rows,
    parallel_tiles,
    relayed,
    scalar_matmul,
    tiled_matmul,
    transfer,
    vector_rows,
)

VECTOR_TARGETS = [name for name in runnable() if name != "x86.scalar"]
RANDOM = np.random.default_rng(20)


def _random(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    """Small whole numbers, so that sums of products are exact in both dtypes."""
    return RANDOM.integers(-9, 10, shape).astype({"f32": np.float32, "s32": np.int32}[dtype])


def _inputs(made: Program) -> list[np.ndarray[Any, Any]]:
    return [_random(t.shape, t.dtype.name) for t in made.arguments if t.role != "output"]


def _check(made: Program, inputs: list[Any], expected: list[np.ndarray[Any, Any]]) -> None:
    code = CEmitter().emit(made, EmitOptions())
    for outputs in run_everywhere(made, code, inputs):
        for right, found in zip(expected, outputs, strict=True):
            assert found.dtype == right.dtype
            np.testing.assert_array_equal(_known(found), _known(right), strict=True)


def _known(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """In a type whose NaNs numpy's tests know."""
    return array.astype(np.float32) if array.dtype == BF16.numpy else array


@pytest.mark.parametrize("dtype", ["f32", "s32"])
@pytest.mark.parametrize("name", VECTOR_TARGETS)
def test_register_tiles_with_tails_on_every_side(name: str, dtype: str) -> None:
    """Packed strips on the stack, unrolled register tiles, and all four kinds of remainder."""
    made = tiled_matmul(targets()[name], (7, 5, 37), 3, dtype)
    a, b = _inputs(made)
    _check(made, [a, b], [a @ b])


def test_a_packed_strip_that_is_too_large_for_the_stack() -> None:
    """The same program with strips of B in the workspace."""
    made = tiled_matmul(targets()[VECTOR_TARGETS[-1]], (4, 200, 40), 4)
    assert CEmitter().emit(made, EmitOptions()).workspace_bytes >= 200 * 8 * 4
    a, b = _inputs(made)
    _check(made, [a, b], [a @ b])


@pytest.mark.parametrize(
    ("layouts", "dtype"), [(((1, 0), (0, 1), (1, 0)), "f32"), (((0, 1), (1, 0), (0, 1)), "s32")]
)
def test_matrices_in_any_layout(layouts: tuple[tuple[int, ...], ...], dtype: str) -> None:
    """Every operand is addressed by its own layout."""
    shapes = ((5, 3), (3, 4), (5, 4))
    tensors = [
        tensor(n, s, dtype=dtype, layout=x, role="output" if n == "c" else "input")
        for n, s, x in zip("abc", shapes, layouts, strict=True)
    ]
    made = scalar_matmul(targets()["x86.scalar"], *tensors)
    a, b = _inputs(made)
    _check(made, [a, b], [a @ b])


def test_batches_of_matrices() -> None:
    """Operands of rank 3, one of them with the batch innermost."""
    a = tensor("a", (2, 3, 4), role="weight", layout=(1, 2, 0))
    b = tensor("b", (2, 4, 5), role="input")
    c = tensor("c", (2, 3, 5), role="output")
    made = scalar_matmul(targets()["x86.scalar"], a, b, c)
    x, y = _inputs(made)
    _check(made, [x, y], [x @ y])


def test_buffers_on_the_stack_and_in_the_workspace() -> None:
    """Buffers whose lives do not overlap take the same bytes of workspace."""
    for size, workspace in ((8, 0), (40, 40 * 40 * 4)):
        made = relayed(targets()["x86.scalar"], size, (1, 0))
        assert CEmitter().emit(made, EmitOptions()).workspace_bytes == workspace
        (x,) = _inputs(made)
        _check(made, [x], [x + x])


@pytest.mark.parametrize(("rows", "columns"), [(7, 600), (4, 3)])
def test_parallel_loops_with_and_without_a_tail(rows: int, columns: int) -> None:
    """Threads have buffers of their own; without OpenMP the same source runs alone."""
    made = parallel_rows(targets()["x86.scalar"], rows, 2, columns)
    code = CEmitter().emit(made, EmitOptions())
    per_thread = 2 * columns * 4
    assert code.workspace_bytes == (0 if per_thread <= 4096 else 2 * per_thread)
    assert "-fopenmp" in code.flags
    (x,) = _inputs(made)
    _check(made, [x], [2 * np.maximum(x, 0)])


@pytest.mark.sample(2)
@pytest.mark.parametrize("shape", [(7, 600), (6, 599), (7, 599), (6, 600), (2, 3)])
def test_grids_of_tiles_with_and_without_ends(shape: tuple[int, int]) -> None:
    """Tiles of both loops are dealt out together; each thread has one buffer for any of them."""
    rows, columns = 2, min(shape[1] // 2 * 2, 200)
    made = parallel_tiles(targets()["x86.scalar"], shape, (rows, columns))
    code = CEmitter().emit(made, EmitOptions(stack_buffer=512))
    per_thread = -(-rows * columns * 4 // 64) * 64
    assert code.workspace_bytes == (0 if per_thread <= 512 else 3 * per_thread)
    assert code.source.count("#pragma") == 1
    assert "#pragma omp parallel for collapse(2) num_threads(3)" in code.source
    (x,) = _inputs(made)
    _check(made, [x], [2 * np.maximum(x, 0)])


@pytest.mark.parametrize("name", VECTOR_TARGETS)
def test_the_part_after_the_last_one_is_only_asked_for(name: str) -> None:
    """Fetching ahead goes past the end of what is read: as an address, not as a pointer."""
    target = targets()[name]
    x, m, y = tensor("x", (3, 1024)), tensor("m", (3,)), tensor("y", (3,), role="output")
    parts = (view(x, [at("i"), at("j")], [1, 256]), *(view(t, [at("i")], [1]) for t in (m, y)))
    adding = operation("exp_sum_of_rows", 1, accumulating=True)
    kernel = "reduce_x16" if LANES[name] == 16 else "reduce_x8"
    step = loop("j", 4, 256, call(target, kernel, adding, *map(near, parts)))
    zero = call(target, "element", operation("fill", 1, value=0), view(y, [at("i")], [1]))
    made = program(target, [x, m, y], loop("i", 3, 1, Block((zero, step))))
    assert "_mm_prefetch" in CEmitter().emit(made, EmitOptions()).source
    given = np.where(RANDOM.random((3, 1024)) < 0.5, np.float32(0), np.float32(-np.inf))
    sums = (given == 0).sum(axis=1).astype(np.float32)
    _check(made, [given, np.zeros(3, np.float32)], [sums])


def test_each_thread_has_tiles_of_its_own() -> None:
    """A kernel that stands between calls, in both parts of a parallel loop, and after it."""
    target = targets()["x86.amx"]
    if lacking := Machine().lacks(target.flags):
        pytest.skip(f"this processor lacks {', '.join(lacking)}")
    a = tensor("a", (96, 128), dtype="u8", role="input")
    b = tensor("b", (128, 32), dtype="s8", layout=Layout((1, 0), 4), role="input")
    c = tensor("c", (96, 32), dtype="s32", role="output")

    def product(start: Affine | int, rows: int) -> Node:
        parts = (view(a, [start, 0], [rows, 128]), whole(b), view(c, [start, 0], [rows, 32]))
        matmul = replace(operation("matmul", 0), accumulating=True)
        return call(target, "tile_products_u8_s8", matmul, *map(near, parts))

    zeros = element_loops(target, "fill", [c], 2, value=0.0)
    threads = parallel("t", 2, 32, product(at("t"), 32), product(64, 16))
    made = program(target, [a, b, c], Block((zeros, threads, product(80, 16))))
    left = RANDOM.integers(0, 256, a.shape).astype(np.uint8)
    right = RANDOM.integers(-128, 128, b.shape).astype(np.int8)
    expected = left.astype(np.int32) @ right.astype(np.int32)
    _check(made, [left, right], [expected])


@pytest.mark.parametrize("dtype", ["f32", "s32"])
@pytest.mark.parametrize("name", VECTOR_TARGETS)
def test_rows_of_any_length(name: str, dtype: str) -> None:
    """Masked tails touch nothing past the end of a row, and every primitive is right."""
    made = vector_rows(targets()[name], "mixed", [*range(1, 19), 31, 32, 33], dtype)
    inputs = _inputs(made)
    pairs = zip(inputs[::2], inputs[1::2], strict=True)
    three, two = inputs[0].dtype.type(3), inputs[0].dtype.type(2)
    expected = [np.maximum(abs(x - three * z), np.minimum(-x, z + two)) for x, z in pairs]
    _check(made, inputs, expected)


@pytest.mark.parametrize("dtype", ["f32", "s32"])
@pytest.mark.parametrize("name", VECTOR_TARGETS)
def test_every_second_element_of_a_row(name: str, dtype: str) -> None:
    """Of rows of any length, as a loop and written out; nothing behind the last one is read."""
    target, vector = targets()[name], f"vector_x{LANES[name]}"
    lengths = [*range(1, 35), 100, 130, 311]
    rows = [
        [
            tensor(f"x_{n}", (2 * n - 1,), dtype=dtype, role="input"),
            tensor(f"z_{n}", (1,), dtype=dtype, role="input"),
            tensor(f"y_{n}", (n,), dtype=dtype, role="output"),
        ]
        for n in lengths
    ]
    adding, fill = operation("every_second", 0, accumulating=True), operation("fill", 1, value=2.0)
    steps = tuple(
        step
        for x, z, y in rows
        for step in (
            call(target, vector, fill, near(whole(y))),
            call(target, vector, adding, *(near(whole(t)) for t in (x, z, y))),
        )
    )
    arguments = [t for row in rows for t in row]
    arguments.sort(key=lambda t: t.role == "output")
    made = program(target, arguments, Block(steps), "seconds")
    inputs = _inputs(made)
    expected = [
        x[::2] * z + z.dtype.type(2) for x, z in zip(inputs[::2], inputs[1::2], strict=True)
    ]
    _check(made, inputs, expected)


@pytest.mark.parametrize("dtype", ["f32", "s32"])
def test_elements_of_any_operator(dtype: str) -> None:
    """The portable kernel: every primitive of both dtypes."""
    x, z = (tensor(n, (3, 7), dtype=dtype, role="input") for n in "xz")
    y = tensor("y", (3, 7), dtype=dtype, role="output")
    target = targets()["x86.scalar"]
    made = program(target, [x, z, y], element_loops(target, "mixed", [x, z, y], 2))
    a, b = _inputs(made)
    three, two = a.dtype.type(3), a.dtype.type(2)
    _check(made, [a, b], [np.maximum(abs(a - three * b), np.minimum(-a, b + two))])


@pytest.mark.parametrize("name", runnable())
def test_division_and_square_roots(name: str) -> None:
    """f32 only; results are correctly rounded, as numpy's are."""
    target = targets()[name]
    if name == "x86.scalar":
        x, z = (tensor(n, (9,), role="input") for n in "xz")
        y = tensor("y", (9,), role="output")
        made = program(target, [x, z, y], element_loops(target, "quotient", [x, z, y], 1))
    else:
        made = vector_rows(target, "quotient", [9], "f32")
    a, b = _inputs(made)
    b[b == 0] = 5
    _check(made, [a, b], [np.sqrt(abs(a)) / b])


HUGE = (1e9, 3e9, -3e9, 2147483520, 2**31, -(2**31), 16777217)
NASTY = np.array([*HUGE, 0.5, -0.5, 1.5, -2.7, np.inf, -np.inf, np.nan, 0, -0.0, 1e-40], np.float32)
INTEGERS = np.array([-(2**31), 2**31 - 1, 16777217, -16777219, 0, 5, -1] * 3, np.int32)


def _to_s32(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Truncated and saturating; NaN is 0."""
    wide = np.nan_to_num(np.trunc(x.astype(np.float64)), nan=0.0, posinf=2e9 * 2, neginf=-2e9 * 2)
    return np.asarray(np.clip(wide, -(2**31), 2**31 - 1), np.int32)


@pytest.mark.sample(2)
@pytest.mark.parametrize("source", ["f32", "s32"])
@pytest.mark.parametrize("name", runnable())
def test_conversions_of_nasty_values(name: str, source: str) -> None:
    """Vectors and scalars agree where C leaves the conversion undefined."""
    target, lanes = targets()[name], LANES[name]
    values = NASTY if source == "f32" else INTEGERS
    dtype = "s32" if source == "f32" else "f32"
    x = tensor("x", values.shape, dtype=source, role="input")
    y = tensor("y", values.shape, dtype=dtype, role="output")
    body = element_loops(target, "copy", [x, y], 1)
    if lanes > 1:
        v = tensor("v", values.shape, dtype=dtype, level="reg", vector=4 * lanes)
        copy = operation("copy", 1)
        steps = (
            call(target, f"vector_x{lanes}", copy, whole(x), whole(v)),
            call(target, transfer(target), copy, whole(v), whole(y)),
        )
        body = buffer(v, *steps)
    expected = _to_s32(values) if source == "f32" else values.astype(np.float32)
    _check(program(target, [x, y], body), [values], [expected])


EVERY: dict[str, np.ndarray[Any, Any]] = {
    "f32": np.concatenate([NASTY, np.float32(1) + np.arange(-3, 4, dtype=np.float32) / 256]),
    "bf16": np.arange(1 << 16, dtype=np.uint16).view(BF16.numpy),
    "s32": np.concatenate([INTEGERS, np.arange(-(2**31), 2**31, 2**18 + 77, dtype=np.int32)]),
    "s8": np.arange(-128, 128, dtype=np.int8),
    "u8": np.arange(256, dtype=np.uint8),
}
"""Values of each element type: all that there are, or those that are hard to convert."""


@pytest.mark.sample(2)
@pytest.mark.parametrize("source", EVERY)
def test_portable_conversions_between_all_types(source: str) -> None:
    """What the language says, to the last bit, of every value of a narrow type."""
    target, values = targets()["x86.scalar"], EVERY[source]
    x = tensor("x", values.shape, dtype=source, role="input")
    others = [d for d in DTYPES.values() if d.name != source]
    made = [tensor(f"y_{d}", values.shape, dtype=d.name, role="output") for d in others]
    loops = Block(tuple(element_loops(target, "copy", [x, y], 1) for y in made))
    expected = [convert(values, dtype) for dtype in others]
    _check(program(target, [x, *made], loops), [values], expected)


def test_arithmetic_is_in_the_dtype_of_the_output() -> None:
    """Operands are converted first; s32 wraps around."""
    target = targets()["x86.scalar"]
    x = tensor("x", NASTY.shape, role="input")
    y = tensor("y", NASTY.shape, dtype="s32", role="output")
    made = program(target, [x, y], element_loops(target, "convert", [x, y], 1))
    expected = (_to_s32(NASTY).astype(np.int64) + 1).astype(np.int32)
    _check(made, [NASTY], [expected])


@pytest.mark.parametrize("dtype", ["f32", "s32"])
def test_a_maximum_starts_from_its_identity(dtype: str) -> None:
    """Minus infinity is a constant of f32, and the least number of s32."""
    target = targets()["x86.scalar"]
    x = tensor("x", (3, 5), dtype=dtype, role="input")
    y = tensor("y", (3,), dtype=dtype, role="output")
    views = near(view(x, [at("i"), at("j")], [1, 1])), near(view(y, [at("i")], [1]))
    step = call(target, "element", operation("row_largest", accumulating=True), *views)
    fill = element_loops(target, "fill", [y], 1, value=float("-inf"))
    made = program(target, [x, y], Block((fill, loop("i", 3, 1, loop("j", 5, 1, step)))))
    values = _random((3, 5), dtype)
    values[1] = -np.inf if dtype == "f32" else -(2**31)
    _check(made, [values], [values.max(axis=1)])
