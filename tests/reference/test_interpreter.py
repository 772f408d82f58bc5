"""Programs executed by the reference, and mistakes that must show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from morello.errors import MorelloError
from morello.ir.dtypes import F32, S32, DType
from morello.ir.layout import Axis, row_major
from morello.ir.programs import tree
from morello.ir.target import Microkernel, Target
from morello.records import replace
from morello.reference.interpreter import POISON, run, run_program
from tests.reference.declare import COPY, MATMUL, SPAN, fill, operation

ORIGIN = tree.Origin("a rule", SPAN)
TARGET = Target("t", "", (), "", (), 0, (), (), (), {}, {}, {}, ())


def tensor(
    name: str, shape: tuple[int, ...], role: str = "input", dtype: DType = F32
) -> tree.Tensor:
    return tree.Tensor(name, dtype, shape, row_major(len(shape)), "mem", 0, role)


def at(of: tree.Tensor, offsets: tuple[str | int, ...], sizes: tuple[int, ...]) -> tree.View:
    """A view; an offset is a constant or a loop variable."""
    places = (tree.Affine(o) if isinstance(o, int) else tree.Affine(0, ((o, 1),)) for o in offsets)
    return tree.View(of, tuple(places), sizes, "mem")


def whole(of: tree.Tensor) -> tree.View:
    return at(of, (0,) * len(of.shape), of.shape)


A, B, C = tensor("a", (7, 5)), tensor("b", (5, 6)), tensor("c", (7, 6), "output")


def tile(row: str | int, rows: int) -> tree.Apply:
    """Some rows of the product, added to what is there."""
    views = (at(A, (row, 0), (rows, 5)), whole(B), at(C, (row, 0), (rows, 6)))
    return tree.Apply(operation(MATMUL, accumulating=True), (rows, 6, 5), views)


def initialise(of: tree.Tensor) -> tree.Apply:
    return tree.Apply(fill(0, len(of.shape)), of.shape, (whole(of),))


def program(body: tree.Node, *arguments: tree.Tensor) -> tree.Program:
    return tree.Program("f", arguments or (A, B, C), body, 1, TARGET, "")


@pytest.fixture
def inputs() -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    return [rng.integers(-9, 9, t.shape).astype(np.float32) for t in (A, B)]


def test_full_tiles_then_a_tail(inputs: list[np.ndarray[Any, Any]]) -> None:
    loop = tree.Loop("i", "m", 3, 2, tile("i", 2), False, ORIGIN)
    body = tree.Block((initialise(C), loop, tile(6, 1)))
    (c,) = run_program(program(body), inputs)
    assert np.array_equal(inputs[0] @ inputs[1], c)


def test_reading_an_output_before_it_is_written_shows(inputs: list[np.ndarray[Any, Any]]) -> None:
    loop = tree.Loop("i", "m", 3, 2, tile("i", 2), False, ORIGIN)
    (c,) = run_program(program(tree.Block((loop, tile(6, 1)))), inputs)
    assert np.isnan(c).all()


def test_iterations_of_a_parallel_loop_run_in_any_order(
    inputs: list[np.ndarray[Any, Any]],
) -> None:
    loop = tree.ParallelLoop("i", "m", 3, 2, 2, tile("i", 2), tile(6, 1), ORIGIN)
    (c,) = run_program(program(tree.Block((initialise(C), loop))), inputs)
    assert np.array_equal(inputs[0] @ inputs[1], c)


def test_a_dependence_between_parallel_iterations_shows() -> None:
    """Every iteration overwrites the same element: the last one differs between orders."""
    x, y = tensor("x", (8,)), tensor("y", (1,), "output")
    body = tree.Apply(operation(COPY, 1), (1,), (at(x, ("i",), (1,)), whole(y)))
    loop = tree.ParallelLoop("i", "m", 8, 1, 2, body, None, ORIGIN)
    values = np.arange(8, dtype=np.float32)
    seen = {run_program(program(loop, x, y), [values], seed=s)[0].item() for s in range(8)}
    assert len(seen) > 1
    again = [run_program(program(loop, x, y), [values], seed=3)[0].item() for _ in range(3)]
    assert len(set(again)) == 1


@pytest.mark.parametrize(("dtype", "expected"), [(F32, np.nan), (S32, POISON)])
def test_buffers_start_poisoned(dtype: DType, expected: float) -> None:
    buffer, y = tensor("t", (3,), "buffer", dtype), tensor("y", (3,), "output", dtype)
    copy = tree.Apply(operation(COPY, 1), (3,), (whole(buffer), whole(y)))
    (actual,) = run_program(program(tree.Allocate(buffer, copy, ORIGIN), y), [])
    assert np.array_equal(np.full(3, expected), actual, equal_nan=True)


def test_every_run_of_an_allocation_is_a_new_buffer() -> None:
    """What the first iteration wrote must not help the second."""
    x, y, buffer = tensor("x", (2,)), tensor("y", (2,), "output"), tensor("t", (2,), "buffer")
    into = tree.Apply(operation(COPY, 1), (1,), (at(x, ("i",), (1,)), at(buffer, ("i",), (1,))))
    out = tree.Apply(operation(COPY, 1), (2,), (whole(buffer), whole(y)))
    allocate = tree.Allocate(buffer, tree.Block((into, out)), ORIGIN)
    loop = tree.Loop("i", "m", 2, 1, allocate, False, ORIGIN)
    (actual,) = run_program(program(loop, x, y), [np.ones(2, np.float32)])
    assert np.isnan(actual).tolist() == [True, False]


def test_kernel_calls_and_notes_mean_their_operations(inputs: list[np.ndarray[Any, Any]]) -> None:
    apply = tile(0, 7)
    no: Any = None
    kernel = Microkernel("k", "", "t", no, (), no, no, False, no, no)
    call = tree.KernelCall(kernel, apply.operation, apply.sizes, (), apply.operands)
    body = tree.Block((initialise(C), tree.Resident(whole(B), call, ORIGIN)))
    (c,) = run_program(program(body), inputs)
    assert np.array_equal(inputs[0] @ inputs[1], c)


def test_run_writes_in_place_with_any_strides(inputs: list[np.ndarray[Any, Any]]) -> None:
    a, b = inputs
    c = np.full((7, 6), 1, np.float32, order="F")
    run(tile(0, 7), {"a": a, "b": np.asfortranarray(b), "c": c})
    assert np.array_equal(1 + a @ b, c)


def test_a_view_outside_of_its_tensor_is_named(inputs: list[np.ndarray[Any, Any]]) -> None:
    loop = tree.Loop("i", "m", 4, 2, tile("i", 2), False, ORIGIN)
    message = r"out of bounds: a view of \(2, 5\) elements at \(6, 0\) leaves tensor 'a' of"
    with pytest.raises(MorelloError, match=message):
        run_program(program(tree.Block((initialise(C), loop))), inputs)
    with pytest.raises(MorelloError, match=r"at \(-1, 0\) leaves tensor 'a'"):
        run_program(program(tile(-1, 2)), inputs)


def test_a_resident_view_is_checked_too(inputs: list[np.ndarray[Any, Any]]) -> None:
    note = tree.Resident(at(B, (3, 0), (3, 6)), tree.Block(()), ORIGIN)
    with pytest.raises(MorelloError, match="leaves tensor 'b'"):
        run_program(program(note), inputs)


def test_sizes_that_disagree_with_a_view_are_named(inputs: list[np.ndarray[Any, Any]]) -> None:
    with pytest.raises(MorelloError, match=r"operand 'A' .* has shape \(2, 5\)"):
        run_program(program(replace(tile(0, 2), sizes=(3, 6, 5))), inputs)
    short = (*tile(0, 2).operands[:2], at(C, (0, 0), (3, 6)))
    plain = tree.Apply(operation(MATMUL), (2, 6, 5), short)
    with pytest.raises(MorelloError, match=r"writes \(2, 6\) elements to a view of \(3, 6\)"):
        run_program(program(plain), inputs)


def test_missing_and_unfit_arrays_are_named(inputs: list[np.ndarray[Any, Any]]) -> None:
    a, b = inputs
    with pytest.raises(MorelloError, match="was given 1 arrays; expected 2: a, b"):
        run_program(program(tile(0, 7)), [a])
    with pytest.raises(MorelloError, match="no array for tensor 'b'; known: a"):
        run(tile(0, 7), {"a": a})
    with pytest.raises(MorelloError, match="tensor 'a' is float64 of shape"):
        run(tile(0, 7), {"a": a.astype(np.float64), "b": b, "c": np.zeros((7, 6), np.float32)})
    with pytest.raises(MorelloError, match="loop variable 'i' is used outside of its loop"):
        run(tile("i", 2), {"a": a, "b": b, "c": np.zeros((7, 6), np.float32)})


def test_tensors_of_rank_zero() -> None:
    x, y = tensor("x", ()), tensor("y", (), "output")
    copy = tree.Apply(operation(COPY, 0), (), (whole(x), whole(y)))
    (actual,) = run_program(program(copy, x, y), [np.array(2.5, np.float32)])
    assert actual[()] == 2.5


def test_a_view_along_some_axes() -> None:
    """Every second column of one row of planes, as columns."""
    planes = tensor("planes", (3, 4, 5))
    out = tensor("out", (3, 3), "output")
    places = tuple(tree.Affine(n) for n in (0, 2, 0))
    view = tree.View(planes, places, (3, 3), "mem", (Axis(2, 2), Axis(0)))
    values = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    body = tree.Apply(operation(COPY, 2), (3, 3), (view, whole(out)))
    (found,) = run_program(program(body, planes, out), [values])
    assert np.array_equal(values[:, 2, ::2].T, found)


def test_a_view_that_steps_out_shows() -> None:
    planes = tensor("planes", (3, 4))
    out = tensor("out", (2,), "output")
    view = tree.View(planes, (tree.Affine(1), tree.Affine(0)), (2,), "mem", (Axis(0, 2),))
    body = tree.Apply(operation(COPY, 1), (2,), (view, whole(out)))
    with pytest.raises(MorelloError, match="leaves tensor 'planes'"):
        run_program(program(body, planes, out), [np.zeros((3, 4), np.float32)])
