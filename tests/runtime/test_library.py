"""Calling compiled functions with numpy arrays, and what is refused."""

from __future__ import annotations

import gc
import operator
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from mmap import PAGESIZE
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from morello.errors import MorelloError, UsageError
from morello.ir.dtypes import DTYPES, F32, DType
from morello.ir.layout import Layout
from morello.ir.programs.emitted import CSource, EmittedPacking
from morello.ir.programs.tree import Block, Packing, Program, Tensor
from morello.ir.target import Target
from morello.runtime.driver import repeat_driver
from morello.runtime.library import CompiledFunction, load
from morello.runtime.passing import Passing
from morello.runtime.signature import (
    ALIGNMENT,
    PROCESSOR,
    ArgumentInfo,
    Signature,
    allocate,
    check_argument,
    check_output,
    check_overlap,
    signature_of,
)
from morello.toolchain import machine
from morello.toolchain.addresses import address_of
from morello.toolchain.build import build
from morello.toolchain.compilers import Compiler
from tests.runtime.functions import ADD, ADD_HEADER, ADD_SOURCE, argument, build_add, build_and_load

Array = np.ndarray[Any, np.dtype[Any]]


@pytest.fixture(scope="module")
def add(compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> CompiledFunction:
    return build_add(compiler, tmp_path_factory.mktemp("add"))


@pytest.fixture
def x() -> Array:
    return np.arange(10, dtype=np.float32)


def test_a_call_allocates_its_output(add: CompiledFunction, x: Array) -> None:
    y = add(x, 2 * x)
    assert isinstance(y, np.ndarray)
    assert np.array_equal(3 * x, y)
    assert y.ctypes.data % ALIGNMENT == 0
    assert not np.may_share_memory(y, add(x, x))


def test_out_is_written_and_returned(add: CompiledFunction, x: Array) -> None:
    y = np.full(10, np.nan, np.float32)
    assert add(x, x, out=y) is y
    assert np.array_equal(2 * x, y)
    assert add(x, 3 * x, out=[y]) is y
    assert np.array_equal(4 * x, y)


def test_read_only_inputs_are_fine(add: CompiledFunction, x: Array) -> None:
    x.flags.writeable = False
    assert np.array_equal(2 * x, add(x, x))


def read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


def misaligned() -> Array:
    return np.zeros(44, np.uint8)[1:41].view(np.float32)


@pytest.mark.parametrize(
    ("argument_list", "message", "advice"),
    [
        ([np.zeros(10, np.float32)], "called with 1 arrays; expected 2: x, z", "out="),
        ([[0.0] * 10, 1], "'x' is a list; expected a numpy array", "np.asarray(x, dtype="),
        ([np.zeros(10)], "'x' has dtype float64; expected float32", "x.astype(np.float32)"),
        ([np.zeros(10, ">f4")], "'x' has dtype >f4; expected float32", "astype"),
        ([np.zeros(11, np.float32)], r"'x' has shape \(11,\); expected \(10,\)", "sizes"),
        ([np.zeros((1, 10), np.float32)], r"'x' has shape \(1, 10\)", "sizes"),
        ([np.zeros(20, np.float32)[::2]], r"'x' has strides \(8,\) bytes", "ascontiguousarray(x)"),
        ([misaligned()], "'x' does not begin at a multiple of its 4-byte", "x.copy"),
    ],
)
def test_inputs_that_do_not_fit(
    add: CompiledFunction, argument_list: list[Any], message: str, advice: str
) -> None:
    if "called with" not in message:
        argument_list = [argument_list[0], np.zeros(10, np.float32)]
    with pytest.raises(UsageError, match=message) as error:
        add(*argument_list)
    assert advice in error.value.help


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.zeros(9, np.float32), r"'y' has shape \(9,\)"),
        (read_only(np.zeros(10, np.float32)), "'y' is read-only; an output is written"),
        (np.zeros(10, np.int32), "'y' has dtype int32"),
        ([], "'add' was given 0 arrays as out; expected 1: y"),
        ((np.zeros(10, np.float32),) * 2, "'add' was given 2 arrays as out; expected 1: y"),
        (5, "'y' is a int; expected a numpy array"),
    ],
)
def test_outputs_that_do_not_fit(add: CompiledFunction, x: Array, out: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        add(x, x, out=out)


def test_an_output_may_not_overlap_an_input(add: CompiledFunction, x: Array) -> None:
    with pytest.raises(UsageError, match="'y' shares memory with 'x'") as error:
        add(x, x.copy(), out=x)
    assert "pass a copy" in error.value.help
    both = np.zeros(15, np.float32)
    with pytest.raises(UsageError, match="'y' shares memory with 'z'"):
        add(x, both[:10], out=both[5:])
    halves = np.zeros(20, np.float32)
    add(x, halves[:10], out=halves[10:])


TRANSPOSE = """
void transpose(const float *x, float *y, float *total, void *workspace);
void transpose(const float *x, float *y, float *total, void *workspace) {
  (void)workspace;
  total[0] = 0;
  for (int i = 0; i < 6; ++i) { y[i] = x[i]; total[0] += x[i]; }
}
"""


@pytest.fixture(scope="module")
def transpose(compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> CompiledFunction:
    """Two outputs: a matrix, column by column, and the sum of its elements."""
    arguments = (
        argument("x", "input", (2, 3), (1, 0)),
        argument("y", "output", (2, 3), (1, 0)),
        argument("total", "output", ()),
    )
    signature, place = Signature("transpose", arguments), tmp_path_factory.mktemp("transpose")
    return build_and_load(TRANSPOSE, signature, compiler, place)


def test_layouts_and_several_outputs(transpose: CompiledFunction) -> None:
    """The bytes are copied as they lie; the layouts make that the same matrix."""
    matrix = np.arange(6, dtype=np.float32).reshape(2, 3)
    y, total = transpose(np.asfortranarray(matrix))
    assert y.flags.f_contiguous
    assert np.array_equal(matrix, y)
    assert total[()] == 15
    with pytest.raises(UsageError, match="expected column-major") as error:
        transpose(matrix)
    assert "np.asfortranarray(x)" in error.value.help


def test_out_of_several_outputs(transpose: CompiledFunction) -> None:
    """A tuple or a list, with an array for each, in order."""
    x = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    own = (np.zeros_like(x), np.zeros((), np.float32))
    assert all(map(operator.is_, transpose(x, out=own), own))
    assert all(map(operator.is_, transpose(x, out=list(own)), own))
    assert np.array_equal(x, own[0])
    assert own[1][()] == 15
    for out, found in ((own[0], "one array"), (own[:1], "1 array"), ([*own, x], "3 arrays")):
        message = f"'transpose' was given {found} as out; expected 2: y, total"
        with pytest.raises(UsageError, match=message) as error:
            transpose(x, out=out)
        assert error.value.help == "pass out=(y, total)"
    with pytest.raises(UsageError, match="'y' has shape"):
        transpose(x, out=own[::-1])
    with pytest.raises(UsageError, match="'total' shares memory with 'y'"):
        transpose(x, out=(own[0], own[0].T.reshape(-1)[:1].reshape(())))


def test_the_advice_for_any_layout_works() -> None:
    info = argument("x", "input", (2, 3, 4), (1, 2, 0))
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    with pytest.raises(UsageError, match=r"expected layout \(1, 2, 0\)") as error:
        check_argument(info, x)
    fixed = eval(error.value.help.removeprefix("pass "), {"np": np, "x": x})
    assert check_argument(info, fixed) is fixed
    assert np.array_equal(x, fixed)
    assert check_argument(info, allocate(info)).shape == (2, 3, 4)


def test_what_has_a_page_begins_with_one() -> None:
    for size, alignment in (
        (1, ALIGNMENT),
        (PAGESIZE // 4 - 1, ALIGNMENT),
        (PAGESIZE // 4, PAGESIZE),
    ):
        kept = [allocate(argument("x", "output", (size,))) for _ in range(3)]
        assert all(array.ctypes.data % alignment == 0 for array in kept)


WORKSPACE = """
#include <stdint.h>
void slow(const float *x, float *y, void *workspace);
void slow(const float *x, float *y, void *workspace) {
  float *w = workspace;
  for (int i = 0; i < 1000; ++i) w[i] = x[0];
  for (int turn = 0; turn < 300; ++turn) {
    for (int i = 0; i < 1000; ++i) w[i] = w[i] * 0.5f + x[0] * 0.5f;
  }
  y[0] = 0;
  for (int i = 0; i < 1000; ++i) y[0] += w[i] == x[0];
  y[1] = (float)((uintptr_t)workspace % 64);
}
"""


def test_every_thread_has_its_own_workspace(compiler: Compiler, tmp_path: Path) -> None:
    arguments = (argument("x", "input", (1,)), argument("y", "output", (2,)))
    slow = build_and_load(WORKSPACE, Signature("slow", arguments, 4000), compiler, tmp_path)

    def work(value: int) -> list[float]:
        results = [slow(np.array([value], np.float32)) for _ in range(50)]
        return [float(v) for y in results for v in np.asarray(y)]

    with ThreadPoolExecutor(4) as pool:
        for values in pool.map(work, range(1, 9)):
            assert values == [1000.0, 0.0] * 50


def test_bound_calls_keep_their_arrays_alive(add: CompiledFunction, x: Array) -> None:
    y = np.zeros(10, np.float32)
    call = add.bind(x.copy(), 2 * x, out=y)
    repeat = add.prepare_repeated([x.copy(), 3 * x, y])
    gc.collect()
    assert call() is y
    assert np.array_equal(3 * x, y)
    assert repeat is not None
    repeat(3)
    assert np.array_equal(4 * x, y)
    with pytest.raises(UsageError, match="was given 2 arrays; expected 3: x, z, y"):
        add.prepare_repeated([x, x])


def test_a_bound_call_reads_what_is_there(add: CompiledFunction, x: Array) -> None:
    call = add.bind(x, x)
    x += 1
    assert np.array_equal(2 * x, call())
    assert call() is call.out
    with pytest.raises(UsageError, match="called with 1 arrays; expected 2: x, z"):
        add.bind(x)
    with pytest.raises(UsageError, match="'y' shares memory with 'x'"):
        add.bind(x, x.copy(), out=x)


def test_a_bound_call_has_several_outputs(transpose: CompiledFunction) -> None:
    x = np.asfortranarray(np.ones((2, 3), np.float32))
    y, total = transpose.bind(x)()
    assert np.array_equal(x, y)
    assert total[()] == 6


# ------------------------------------------------------------------------- other libraries


class Foreign:
    """An array of another library, in the memory of a device."""

    def __init__(self, array: Array, device: int = PROCESSOR) -> None:
        self.array, self.device = array, device

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0


def test_arrays_of_other_libraries_are_taken_where_they_lie(
    add: CompiledFunction, x: Array
) -> None:
    y = Foreign(np.zeros(10, np.float32))
    assert add(Foreign(x), x, out=y) is y
    assert np.array_equal(2 * x, y.array)
    call = add.bind(Foreign(x), Foreign(x), out=y)
    x += 1
    assert call() is y
    assert np.array_equal(2 * x, y.array)
    packed = add.pack("z", Foreign(x))
    assert isinstance(packed, np.ndarray)
    assert np.array_equal(x, packed)


def test_other_arrays_that_do_not_fit(add: CompiledFunction, x: Array) -> None:
    y = np.zeros(10, np.float32)
    with pytest.raises(UsageError, match="'x' is a Foreign in the memory of another") as error:
        add(Foreign(x, device=2), x)
    assert "x.cpu()" in error.value.help
    with pytest.raises(UsageError, match="'x' has dtype float64"):
        add(Foreign(x.astype(np.float64)), x)
    with pytest.raises(UsageError, match="'y' has shape"):
        add(x, x, out=Foreign(y[1:]))
    with pytest.raises(UsageError, match="'y' shares memory with 'x'"):
        add(Foreign(y), x, out=Foreign(y))
    with pytest.raises(UsageError, match="'x' is a Foreign that numpy cannot see without a copy"):
        add(Foreign(x.astype(">f4")), x)


# ------------------------------------------------------------------------- seen at once


def _arrays() -> Iterator[Array]:
    """Arrays that fit, and others that nearly do."""
    whole = np.zeros(40, np.float32)
    yield from (whole[:10], whole[5:15], whole[::4], whole[10:20], np.zeros(10, np.float32))
    yield from (read_only(np.zeros(10, np.float32)), misaligned(), np.zeros(10, np.int32))
    yield from (np.zeros((10, 1), np.float32), np.zeros(10, ">f4"), np.zeros(9, np.float32))
    yield np.lib.stride_tricks.as_strided(whole, (10,), (0,))
    yield np.zeros(10, np.float32).view(np.ma.MaskedArray)


def test_what_is_seen_to_fit_is_what_the_checks_accept(add: CompiledFunction) -> None:
    """Of arrays that share memory, are read-only, lie or are otherwise."""
    passing = Passing(ADD)
    fitting = 0
    for arrays in product(list(_arrays()), repeat=3):
        addresses = passing.addresses(arrays)
        try:
            memory = [
                check_argument(a, array) for a, array in zip(ADD.arguments, arrays, strict=True)
            ]
            check_output(ADD.arguments[-1], arrays[-1])
            check_overlap(ADD, memory)
        except UsageError:
            assert addresses is None
        else:
            assert addresses == [array.ctypes.data for array in memory]
            fitting += 1
    assert fitting > 20


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
@pytest.mark.parametrize("layout", [Layout((0, 1, 2)), Layout((2, 0, 1)), Layout((0, 1, 2), 2)])
def test_what_is_allocated_is_seen_to_fit(dtype: DType, layout: Layout) -> None:
    """In every element type and layout, with a size of 1 among them."""
    roles = ("input", "output")
    arguments = tuple(ArgumentInfo(role, role, dtype, (3, 1, 5), layout) for role in roles)
    arrays = list(map(allocate, arguments))
    found = Passing(Signature("copied", arguments)).addresses(arrays)
    assert found == [array.ctypes.data for array in arrays]
    assert Passing(Signature("copied", arguments)).addresses([arrays[0]] * 2) is None


def test_addresses_of_all_kinds_of_arrays() -> None:
    matrix = np.zeros((3, 4), np.float32)
    dtype = DTYPES["bf16"].numpy
    for array in (matrix, matrix.T, matrix[1:], read_only(matrix[:, 1:]), np.zeros(3, dtype)):
        assert address_of(array) == array.ctypes.data


COUNT = """
void count(float *y, void *workspace);
void count(float *y, void *workspace) { (void)workspace; y[0] += 1; }
"""


def test_the_driver_calls_so_many_times(compiler: Compiler, tmp_path: Path) -> None:
    signature = Signature("count", (argument("y", "output", (1,)),))
    declaration = COUNT.split("\n")[1] + "\n"
    sources = {"c.c": COUNT, "c.h": declaration, "r.c": repeat_driver(signature, "c.h")}
    function = load(build(sources, compiler, (), tmp_path / "c.so"), signature)
    y = np.zeros(1, np.float32)
    repeat = function.prepare_repeated([y])
    assert repeat is not None
    repeat(1000)
    repeat(0)
    assert y[0] == 1000


def test_a_rebuilt_library_is_loaded_anew(compiler: Compiler, tmp_path: Path, x: Array) -> None:
    files = {"add.c": ADD_SOURCE, "add.h": ADD_HEADER}
    first = load(build(files, compiler, (), tmp_path / "add.so"), ADD)
    files["add.c"] = ADD_SOURCE.replace("x[i] + z[i]", "x[i] - z[i]")
    second = load(build(files, compiler, (), tmp_path / "add.so"), ADD)
    assert np.array_equal(2 * x, first(x, x))
    assert np.array_equal(0 * x, second(x, x))


def test_libraries_that_cannot_be_loaded(
    compiler: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MorelloError, match=r"cannot load '.*missing.so': No such file"):
        load(tmp_path / "missing.so", ADD)
    (tmp_path / "text.so").write_text("not a library")
    with pytest.raises(MorelloError, match=r"cannot load '.*text.so'"):
        load(tmp_path / "text.so", ADD)
    other = build({"f.c": "int x;\n"}, compiler, (), tmp_path / "f.so")
    with pytest.raises(MorelloError, match="has no function 'add'"):
        load(other, ADD)
    monkeypatch.setattr(machine, "_answer", lambda machine, feature: "lacks")
    with pytest.raises(MorelloError, match=r"'add' cannot run on this machine: .* lacks magic"):
        load(other, ADD, flags=("-mmagic",), machine=machine.Machine(compiler))


def test_signatures_come_from_programs() -> None:
    weight = Tensor("a", F32, (2, 3), Layout((1, 0)), "mem", 0, "weight")
    packed = Tensor("a_packed", F32, (2, 3), Layout((0, 1), 2), "mem", 0, "buffer")
    tensors = (
        weight,
        Tensor("c", F32, (4,), Layout((0,)), "mem", 0, "output"),
    )
    target = Target("t", "", (), "", (), 0, (), (), (), {}, {}, {}, ())
    packings = (Packing(weight, packed, Block(())),)
    program = Program("double", tensors, Block(()), 1, target, "", packings)
    packing = EmittedPacking("pack", 32, "f32, panels 2", copies=False)
    signature = signature_of(program, CSource("double_", "", "", (), 128, (packing,)))
    assert signature == Signature(
        "double_",
        (
            ArgumentInfo("a", "weight", F32, (2, 3), Layout((1, 0)), packing),
            ArgumentInfo("c", "output", F32, (4,), Layout((0,))),
        ),
        128,
    )
    assert [a.name for a in signature.inputs] == ["a"]
    assert [a.name for a in signature.outputs] == ["c"]
    assert [a.bytes for a in signature.arguments] == [24, 16]
    assert [a.taken_bytes for a in signature.arguments] == [32, 16]
    assert [a.passed_as_declared for a in signature.arguments] == [False, True]
