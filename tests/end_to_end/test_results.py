"""From the text of a spec to numbers: right ones, for every size, layout, dtype and target."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import morello
from morello.ir.dtypes import BF16
from morello.ir.layout import Layout
from morello.reference.compare import MismatchError
from morello.reference.inputs import KINDS
from morello.runtime import library
from morello.runtime.passing import PackedWeight
from morello.runtime.signature import aligned_bytes
from morello.verify.program import verify_function

from .kernels import Array, compiled, small_inputs, to_run

Expected = Callable[..., Array]


def _relu(x: Array) -> Array:
    return np.asarray(np.maximum(x, 0))


def _square(a: Array) -> Array:
    return np.asarray(a @ a)


def _wide_product(a: Array, b: Array) -> Array:
    """In four bytes, as the outputs are."""
    dtype = np.int32 if a.dtype.kind in "iu" else np.float32
    return np.asarray(a.astype(dtype) @ b.astype(dtype))


def _with_transposed(a: Array, b: Array) -> Array:
    return _wide_product(a, b.T)


def _unpacked_product(a: Array, b: Array) -> Array:
    """``b`` as it is passed: in panels of some rows."""
    panels, columns, rows = b.shape
    return _wide_product(a, b.transpose(0, 2, 1).reshape(panels * rows, columns)[: a.shape[1]])


def _in_panels_of_5(a: Array, b: Array) -> Array:
    """``b`` as it is passed: in panels of 5 columns."""
    return _wide_product(a, np.concatenate(list(b), axis=1)[:, :9])


def _bf16(x: Array) -> Array:
    return np.asarray(x.astype(BF16.numpy))


def _transposed(left: bool, right: bool) -> Expected:
    """The product of matrices of which some are transposed, in batches too."""

    def product(a: Array, b: Array) -> Array:
        return np.asarray(
            (a.swapaxes(-1, -2) if left else a) @ (b.swapaxes(-1, -2) if right else b)
        )

    return product


CASES: dict[str, tuple[str, tuple[int, ...], str, Expected]] = {
    "one of everything": ("matmul", (1, 1, 1), "x86.avx512", np.matmul),
    "thin": ("matmul", (7, 1, 3), "x86.avx512", np.matmul),
    "primes": ("matmul", (13, 29, 37), "x86.avx512", np.matmul),
    "a vector": ("matmul", (1, 1000, 40), "x86.avx512", np.matmul),
    "larger primes": ("matmul", (67, 131, 71), "x86.avx512", np.matmul),
    "avx2": ("matmul", (13, 17, 19), "x86.avx2", np.matmul),
    "scalar": ("matmul", (13, 17, 19), "x86.scalar", np.matmul),
    "integers": ("s32", (13, 17, 19), "x86.avx512", np.matmul),
    "integers avx2": ("s32", (5, 6, 11), "x86.avx2", np.matmul),
    "integers scalar": ("s32", (5, 6, 11), "x86.scalar", np.matmul),
    "bf16 avx2": ("bf16", (5, 6, 11), "x86.avx2", _wide_product),
    "bf16 scalar": ("bf16", (5, 6, 11), "x86.scalar", _wide_product),
    "pairs of bf16, odd": ("bf16", (5, 13, 35), "x86.avx512_bf16", _wide_product),
    "one pair of bf16": ("bf16", (3, 2, 17), "x86.avx512_bf16", _wide_product),
    "a vector of bf16": ("bf16", (1, 33, 20), "x86.avx512_bf16", _wide_product),
    "rows of bf16": ("bf16", (1, 203, 2003), "x86.avx2", _wide_product),
    "packed bf16": ("packed bf16", (3, 9, 35), "x86.avx512_bf16", _unpacked_product),
    "packed bf16 scalar": ("packed bf16", (5, 9, 6), "x86.scalar", _unpacked_product),
    "tiles of bf16": ("packed bf16", (33, 68, 35), "x86.amx", _unpacked_product),
    "tiles of bytes": ("weight bytes", (48, 130, 37), "x86.amx", _wide_product),
    "mixed": ("mixed", (5, 9, 35), "x86.avx512_bf16", _wide_product),
    "bytes": ("bytes", (5, 9, 35), "x86.avx512_vnni", _wide_product),
    "bytes avx512": ("bytes", (5, 6, 19), "x86.avx512", _wide_product),
    "bytes avx2": ("bytes", (3, 6, 17), "x86.avx2", _wide_product),
    "bytes scalar": ("bytes", (5, 6, 11), "x86.scalar", _wide_product),
    "packed bytes": ("packed bytes", (3, 9, 35), "x86.avx512_vnni", _unpacked_product),
    "packed bytes scalar": ("packed bytes", (5, 9, 6), "x86.scalar", _unpacked_product),
    "a loop from panel to panel": ("panels_k", (2, 9, 3), "x86.scalar", _unpacked_product),
    "columns in one piece": ("nt", (2, 203, 13), "x86.avx2", _with_transposed),
    "columns of bf16 in one piece": ("nt bf16", (2, 83, 9), "x86.avx2", _with_transposed),
    "columns of bf16 in one piece, a row of f32": (
        "nt mixed",
        (1, 100, 7),
        "x86.avx2",
        _with_transposed,
    ),
    "a weight": ("weight", (7, 20, 35), "x86.avx512", np.matmul),
    "a weight in long panels": ("weight", (16, 512, 64), "x86.avx2", np.matmul),
    "a weight in columns": ("weight columns", (3, 7, 33), "x86.avx512", np.matmul),
    "a weight in panels": ("weight panels", (5, 7, 9), "x86.scalar", _in_panels_of_5),
    "a weight of bytes": ("weight bytes", (13, 34, 37), "x86.avx512_vnni", _wide_product),
    "batches of weights": ("weight batched", (5, 9, 7), "x86.scalar", np.matmul),
    "a weight for threads": ("weight threads", (13, 21, 35), "x86.avx512", np.matmul),
    "a sum for threads": ("threads", (3, 8209, 5), "x86.avx512", np.matmul),
    "a sum for threads avx2": ("threads", (1, 8209, 1), "x86.avx2", np.matmul),
    "a weight scalar": ("weight", (5, 6, 11), "x86.scalar", np.matmul),
    "one weight twice": ("weight square", (11,), "x86.avx512", _square),
    "conversion": ("narrow", (1003,), "x86.avx512", _bf16),
    "conversion avx2": ("narrow", (53,), "x86.avx2", _bf16),
    "bytes wrap": ("wrap", (7, 83), "x86.avx512", np.add),
    "columns of an input": ("columns_b", (5, 7, 9), "x86.avx512", np.matmul),
    "columns of the output": ("columns_c", (5, 7, 9), "x86.scalar", np.matmul),
    "batched": ("batched", (5, 3, 6), "x86.scalar", np.matmul),
    "transposed right": ("nt", (13, 37, 35), "x86.avx512", _transposed(False, True)),
    "transposed right, by rows": ("nt", (2, 33, 3), "x86.avx512", _transposed(False, True)),
    "transposed left": ("tn", (13, 37, 35), "x86.avx2", _transposed(True, False)),
    "transposed both": ("tt", (5, 6, 11), "x86.scalar", _transposed(True, True)),
    "transposed integers": ("nt s32", (5, 6, 17), "x86.avx512", _transposed(False, True)),
    "batches transposed": ("tn batched", (5, 9, 7), "x86.scalar", _transposed(True, False)),
    "a transpose for threads": ("tt threads", (37, 41, 53), "x86.scalar", _transposed(True, True)),
    "one tensor twice": ("square", (11,), "x86.scalar", _square),
    "relu": ("relu", (1003,), "x86.avx512", _relu),
    "relu of one": ("relu", (1,), "x86.avx2", _relu),
    "add, layouts differ": ("add", (7, 9), "x86.avx512", np.add),
}


INSTALLED = (
    "rows of bf16",
    "larger primes",
    "avx2",
    "scalar",
    "pairs of bf16, odd",
    "bytes",
    "a weight for threads",
)
"""Cases for targets with all their caches.

Two tensors of the first do not fit in L1. On small machines the last three have other programs:
without the dot products and their panels, and with a weight that is not packed ahead.
"""


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[morello.Kernel, Expected]:
    """A kernel and what it should compute."""
    spec, sizes, target, expected = CASES[request.param]
    installed = request.param in INSTALLED
    return to_run(compiled, spec, sizes, target, installed=installed), expected


@pytest.mark.sample(5)
def test_it_computes_what_numpy_does(case: tuple[morello.Kernel, Expected]) -> None:
    """On small integers, where every order of summation is exact: equal, to the last bit."""
    kernel, expected = case
    inputs = small_inputs(kernel)
    result = kernel(*inputs)
    np.testing.assert_array_equal(result, expected(*inputs))
    assert result.dtype == kernel.signature.outputs[0].dtype.numpy


@pytest.mark.sample(5)
def test_it_passes_verification(case: tuple[morello.Kernel, Expected]) -> None:
    """Random and nasty inputs, within the stated bound, every element of each kind of input."""
    kernel, _ = case
    report = kernel.verify()
    assert set(KINDS) == set(report.kinds)
    assert len(KINDS) * kernel.goal.outputs[0].elements == report.elements


@pytest.mark.sample(5)
def test_it_writes_where_it_is_told(case: tuple[morello.Kernel, Expected]) -> None:
    """``out`` is filled and returned, and the inputs are left alone."""
    kernel, expected = case
    inputs = small_inputs(kernel)
    before = [array.copy() for array in inputs]
    out = np.empty_like(kernel(*inputs))
    assert kernel(*inputs, out=out) is out
    np.testing.assert_array_equal(out, expected(*inputs))
    for array, kept in zip(inputs, before, strict=True):
        np.testing.assert_array_equal(array, kept)


def test_long_panels_of_a_weight_are_spread() -> None:
    """They are 8 pages long; the case above would compute the same without a gap."""
    kernel = compiled(*CASES["a weight in long panels"][:3])
    (packing,) = kernel.program.packings
    assert packing.packed.layout == Layout((0, 1), 16, gap=64)


def test_what_is_packed_says_nothing_of_the_memory_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It goes to files, gaps between panels and all."""
    kernel = compiled(*CASES["a weight in long panels"][:3])
    (weight,) = (a for a in kernel.signature.arguments if a.role == "weight")
    values = np.ones(weight.shape, weight.dtype.numpy)

    def packed(before: int) -> Array:
        def used(count: int) -> Array:
            memory = aligned_bytes(count)
            memory[:] = before
            return memory

        monkeypatch.setattr(library, "aligned_bytes", used)
        taken = kernel.pack(weight.name, values)
        assert isinstance(taken, PackedWeight)
        return taken.memory

    np.testing.assert_array_equal(packed(before=0), packed(before=0xAB))


@pytest.mark.parametrize("name", [name for name in CASES if "in one piece" in name])
def test_columns_in_one_piece_are_read_where_they_are(name: str) -> None:
    """By several at a time, with no copy of them."""
    kernel = compiled(*CASES[name][:3])
    assert [k for k in kernel.plan.kernels if k.name.startswith("dot_products")]
    assert kernel.signature.workspace_bytes == 0


@pytest.mark.slow
def test_rows_of_one_tensor_are_read_side_by_side() -> None:
    """Of one row of A; the case above would compute the same otherwise."""
    kernel = compiled(*CASES["rows of bf16"][:3], installed=True)
    assert "multiply_add_rows_f32_bf16_x8" in {k.name for k in kernel.plan.kernels}


def test_what_flushes_says_so_and_is_held_to_no_more_than_that() -> None:
    """Whatever the program has beside it; the strict bound would refuse it."""
    kernel = to_run(compiled, "bf16", (5, 13, 35), "x86.avx512_bf16", installed=True)
    assert [k.name for k in kernel.plan.kernels if k.clauses.flushes] == ["dot_rows_bf16_x16"]
    assert kernel.flushes_subnormals
    with pytest.raises(MismatchError, match=r"\((tiny|uneven) inputs\)"):
        verify_function(kernel.goal, kernel.signature, kernel.function)


@pytest.mark.parametrize("spec", ["mixed", "matmul", "bytes"])
def test_nothing_else_flushes(spec: str) -> None:
    """On the same target; so that nothing else is verified less strictly."""
    kernel = compiled(spec, (5, 9, 35), "x86.avx512_bf16")
    assert kernel.plan.kernels
    assert not kernel.flushes_subnormals


def test_every_size_up_to_six_is_right() -> None:
    """One search answers them all: the memo has what is below the largest."""
    to_run(compiled, "matmul", (6, 6, 6), "x86.scalar")
    for sizes in [(m, k, n) for m in (1, 5) for k in (1, 3, 6) for n in (1, 4, 6)]:
        kernel = compiled("matmul", sizes, "x86.scalar")
        inputs = small_inputs(kernel)
        np.testing.assert_array_equal(kernel(*inputs), np.matmul(*inputs), err_msg=str(sizes))
