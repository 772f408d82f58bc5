"""Slices: alone, and where other operations read them, which then read the input in place."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import morello
from morello.definitions import Definitions, load_definitions

from .kernels import Array, only_l1, small_machines, to_run

Expected = Callable[..., Array]


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _step_of_lstm(x: Array, c: Array) -> Array:
    """The next cell state: the gates are pieces of one row."""
    i, f, g, _ = np.split(x, 4, axis=-1)
    return np.asarray(_sigmoid(f) * c + _sigmoid(i) * np.tanh(g))


CASES: dict[str, tuple[str, Expected]] = {
    "alone": (
        "input x: TYPE[37] output y: TYPE[13] y = slice_columns(x, before = 5, after = 19)",
        lambda x: x[5:18],
    ),
    "of every row": (
        "input x: TYPE[3, 21] output y: TYPE[3, 9] y = slice_columns(x, before = 0, after = 12)",
        lambda x: x[:, :9],
    ),
    "rows": (
        "input x: TYPE[11, 7] output y: TYPE[4, 7] y = slice_rows(x, before = 6, after = 1)",
        lambda x: x[6:10],
    ),
    "of one element": (
        "input x: TYPE[9] output y: TYPE[1] y = slice_columns(x, before = 8, after = 0)",
        lambda x: x[8:],
    ),
    "read element by element": (
        """input x: TYPE[64] output y: TYPE[33]
           y = relu(slice_columns(x, before = 16, after = 15))""",
        lambda x: np.maximum(x[16:49], 0),
    ),
    "of what is computed": (
        """input x: TYPE[5, 9] output y: TYPE[2, 9]
           y = slice_rows(relu(x), before = 1, after = 2)""",
        lambda x: np.maximum(x[1:3], 0),
    ),
    "of a slice": (
        """input x: TYPE[9, 19] output y: TYPE[3, 5]
           y = neg(slice_rows(slice_columns(x, before = 7, after = 7), before = 2, after = 4))""",
        lambda x: -x[2:5, 7:12],
    ),
    "two of one tensor": (
        """input x: TYPE[3, 18] output y: TYPE[3, 9]
           a = slice_columns(x, before = 0, after = 9)
           y = mul(a, slice_columns(x, before = 9, after = 0))""",
        lambda x: x[:, :9] * x[:, 9:],
    ),
    "product": (
        """input a: TYPE[5, 20] input b: TYPE[9, 7] output y: TYPE[5, 7]
           y = matmul(slice_columns(a, before = 8, after = 3), b)""",
        lambda a, b: a[:, 8:17] @ b,
    ),
}

LSTM = """
  input x: f32[1, 512] input c: f32[1, 128] output y: f32[1, 128]
  i = sigmoid(slice_columns(x, before = 0, after = 384))
  f = sigmoid(slice_columns(x, before = 128, after = 256))
  g = tanh(slice_columns(x, before = 256, after = 128))
  y = add(mul(f, c), mul(i, g))
"""


@cache
def _compiled(name: str, dtype: str, target: str, threads: int = 1) -> morello.Kernel:
    text = f"spec s() threads {threads} {{ {CASES[name][0].replace('TYPE', dtype)} }}"
    return to_run(morello.compile, text, target=target, definitions=small_machines())


def _assert_right(kernel: morello.Kernel, expected: Expected) -> None:
    assert kernel.verify().elements > 0
    rng = np.random.default_rng(5)
    inputs = [tensor for tensor in kernel.goal.tensors if tensor.role == "input"]
    dtypes = {"f32": np.float32, "s32": np.int32}
    arrays = [rng.integers(-4, 5, t.shape).astype(dtypes[str(t.dtype)]) for t in inputs]
    found = kernel(*arrays)
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, expected(*arrays), rtol=2e-6, atol=1e-6)


@pytest.mark.sample(5)
@pytest.mark.parametrize("target", ["x86.scalar", "x86.avx2"])
@pytest.mark.parametrize("dtype", ["f32", "s32"])
@pytest.mark.parametrize("name", CASES)
def test_a_slice_is_what_numpy_says(name: str, dtype: str, target: str) -> None:
    """Verified too, where the numbers are nasty."""
    _assert_right(_compiled(name, dtype, target), CASES[name][1])


@pytest.mark.parametrize("length", [1, 2, 5])
def test_a_slice_that_is_no_wider_than_a_panel(length: int) -> None:
    """Of a tensor in panels, which is wider: what is left out counts."""
    text = f"""spec s() {{
      input  x: s32[{38 + length}] panels 3
      output y: s32[{length}]
      y = slice_columns(x, before = 38, after = 0) }}"""
    kernel = to_run(morello.compile, text, target="x86.scalar")
    assert kernel.verify().elements > 0


@pytest.mark.parametrize("name", ["of every row", "rows", "two of one tensor"])
def test_threads_share_a_slice(name: str) -> None:
    """Each has its part of the output, and reads the input between the same margins."""
    _assert_right(_compiled(name, "f32", "x86.avx2", 2), CASES[name][1])


def test_gates_are_slices_of_one_row() -> None:
    """The cell of an LSTM, of which one product computes all gates."""
    text = f"spec s() {{ {LSTM} }}"
    kernel = to_run(morello.compile, text, target="x86.avx2", definitions=small_machines())
    assert [t.role for t in kernel.goal.computations[0].operands].count("view") == 3
    _assert_right(kernel, _step_of_lstm)


@pytest.mark.parametrize("name", ["read element by element", "two of one tensor"])
def test_a_slice_is_read_in_place(name: str) -> None:
    """Nothing is copied to memory."""
    kernel = _compiled(name, "f32", "x86.avx2")
    assert {t.role for t in kernel.goal.computations[0].inputs} == {"view"}


OPERATORS = """
op first_of_pairs(X: T[b..., 2 * i + after]; after) -> Y: T[b..., i]
  "Every second element of every row, from the first on."
{
  Y[b..., i] = X[b..., 2 * i + after]
}

op second_of_pairs(X: T[b..., before + 2 * i]; before) -> Y: T[b..., i]
  "Every second element of every row, from the second on."
{
  Y[b..., i] = X[b..., before + 2 * i]
}

op turned(X: T[b..., 2 * i + after], Z: T[b..., before + 2 * i], C: T[i], S: T[i]; before, after)
  -> Y: T[b..., i]
  "The first numbers of pairs, each pair turned."
{
  Y[b..., i] = X[b..., 2 * i + after] * C[i] - Z[b..., before + 2 * i] * S[i]
}

op turned_in_rows(X: T[b..., 2 * i + k], R: T[i, k, j]) -> Y: T[b..., 2 * i + j]
  "Every pair of a row, turned."
  where size(k) == 2, size(j) == 2
{
  Y[b..., 2 * i + j] += X[b..., 2 * i + k] * R[i, k, j]
}

op scaled_pairs(X: T[b..., 2 * i + j], C: T[i]) -> Y: T[b..., 2 * i + j]
  "Every pair of a row, times one number."
  where size(j) == 2
{
  Y[b..., 2 * i + j] = X[b..., 2 * i + j] * C[i]
}

op twice(X: T[b..., before + i + after]; before, after) -> Y: U[b..., i]
  "Neighbouring elements of every row, times 2."
{
  Y[b..., i] = X[b..., before + i + after] * 2
}

op sum_between(X: T[b..., before + i + after]; before, after) -> Y: T[b...]
  "Sums of neighbouring elements of every row."
{
  Y[b...] += X[b..., before + i + after]
}

op correlated(X: T[before + i + 2 * k + after], W: T[k]; before, after) -> Y: T[i]
  "Sums over a window, of a part of a row."
{
  Y[i] += X[before + i + 2 * k + after] * W[k]
}

op centred(X: T[b..., before + i + after], G: T[i]; before, after, bias) -> Y: T[b..., i]
  "A part of every row less its largest element, scaled."
{
  M[b...] max= X[b..., before + i + after]
  Y[b..., i] = (X[b..., before + i + after] - M[b...]) * G[i] / size(i) + bias
}
"""


FRAMES = """
op extended(X: T[b..., i]; before, after, value) -> Y: T[b..., before + i + after]
  "So many more elements at both ends of each row."
{
  Y[b..., before + i + after] = X[b..., i] elsewhere value
}

op extended_halves(X: T[b..., i]; before, value) -> Y: T[b..., before + i]
  "Halves, behind so many elements."
{
  Y[b..., before + i] = X[b..., i] / 2 elsewhere value - 1
}
"""


def _turned(x: Array, c: Array, s: Array) -> Array:
    return np.asarray(x[..., ::2] * c - x[..., 1::2] * s)


DECLARED: dict[str, tuple[str, Expected]] = {
    "in steps": (
        "input x: f32[3, 8] output y: f32[3, 4] y = first_of_pairs(x, after = 1)",
        lambda x: x[:, ::2],
    ),
    "in steps, in front of others": (
        """input x: f32[3, 8] output y: f32[3, 4]
           y = relu(second_of_pairs(neg(x), before = 1))""",
        lambda x: np.maximum(-x[:, 1::2], 0),
    ),
    "positions of pairs": (
        """input x: f32[3, 8] input c: f32[4] input s: f32[4] output y: f32[3, 4]
           y = sub(scale_columns(first_of_pairs(x, after = 1), c),
                   scale_columns(second_of_pairs(x, before = 1), s))""",
        _turned,
    ),
    "positions of pairs in one statement": (
        """input x: f32[3, 8] input c: f32[4] input s: f32[4] output y: f32[3, 4]
           y = turned(x, x, c, s, before = 1, after = 1)""",
        _turned,
    ),
    "pairs in rows": (
        """input x: f32[2, 6] input r: f32[3, 2, 2] output y: f32[2, 6]
           y = turned_in_rows(x, r)""",
        lambda x, r: np.einsum("bik,ikj->bij", x.reshape(2, 3, 2), r).reshape(2, 6),
    ),
    "pairs in rows, one by one": (
        "input x: f32[3, 8] input c: f32[4] output y: f32[3, 8] y = scaled_pairs(x, c)",
        lambda x, c: x * np.repeat(c, 2),
    ),
    "computed with": (
        "input x: f32[3, 19] output y: f32[3, 13] y = twice(x, before = 2, after = 4)",
        lambda x: 2 * x[:, 2:15],
    ),
    "computed with, in another type": (
        "input x: s32[3, 19] output y: f32[3, 13] y = twice(x, before = 2, after = 4)",
        lambda x: 2 * x[:, 2:15],
    ),
    "summed": (
        "input x: f32[3, 19] output y: f32[3] y = sum_between(x, before = 2, after = 4)",
        lambda x: x[:, 2:15].sum(1),
    ),
    "through a window": (
        """input x: f32[19] input w: f32[3] output y: f32[9]
           y = correlated(x, w, before = 2, after = 4)""",
        lambda x, w: sum(w[k] * x[2 + 2 * k : 11 + 2 * k] for k in range(3)),
    ),
    "written between margins": (
        """input x: f32[2, 9] output y: f32[2, 14]
           y = extended(relu(x), before = 2, after = 3, value = -2)""",
        lambda x: np.pad(np.maximum(x, 0), ((0, 0), (2, 3)), constant_values=-2),
    ),
    "computed between margins": (
        "input x: f32[2, 9] output y: f32[2, 14] y = extended_halves(x, before = 5, value = 4)",
        lambda x: np.pad(x / 2, ((0, 0), (5, 0)), constant_values=3),
    ),
    "of several statements": (
        """input x: f32[3, 19] input g: f32[13] output y: f32[3, 13]
           y = centred(x, g, before = 2, after = 4, bias = 1)""",
        lambda x, g: (x[:, 2:15] - x[:, 2:15].max(1, keepdims=True)) * g / 13 + 1,
    ),
}


@pytest.fixture(scope="module")
def declared(tmp_path_factory: pytest.TempPathFactory) -> Definitions:
    """All that is installed, with these operators, for machines with one cache."""
    path = tmp_path_factory.mktemp("operators") / "operators.mrules"
    path.write_text(OPERATORS + FRAMES)
    return only_l1(load_definitions([path]))


ON_VECTORS = ("in steps, in front of others", "positions of pairs", "computed with")


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("name", "target"),
    [*((n, "x86.scalar") for n in DECLARED), *((n, "x86.avx2") for n in ON_VECTORS)],
)
def test_statements_may_read_a_part(name: str, target: str, declared: Definitions) -> None:
    """Between margins, in steps or by rows, and compute with it, as one declares."""
    text, expected = DECLARED[name]
    spec = f"spec s() {{ {text} }}"
    _assert_right(to_run(morello.compile, spec, target=target, definitions=declared), expected)


@pytest.mark.parametrize("target", ["x86.avx2", "x86.scalar"])
@pytest.mark.parametrize("dtype", ["s8", "bf16"])
def test_what_is_read_whole_and_in_part_may_be_converted(dtype: str, target: str) -> None:
    """A part is no whole, though the whole is read, too: its rows do not lie together."""
    text = f"""spec parts() {{
      input x: f32[13, 19] local t: {dtype}[13, 19] output y: f32[13, 19]
      t = copy(x)
      y[i, j] += 2 * t[i, j] + t[k, i + 3]
    }}"""
    kernel = to_run(morello.compile, text, target=target)
    x = np.random.default_rng(0).integers(-9, 9, (13, 19)).astype(np.float32)
    expected = 26 * x + x[:, 3:16].sum(0)[:, None]
    np.testing.assert_array_equal(kernel(x), expected)


def test_one_integer_past_whole_vectors_is_read_as_one() -> None:
    """As a float of C it would be another object, which is never written."""
    text = """spec row() {
      input a: s32[8, 3] input x: u8[33, 8] local t: s32[24, 33] output y: s32[33]
      t[3 * i + j, k] = min(a[i, j], x[k, i])
      y[i] = t[9, i]
    }"""
    kernel = to_run(morello.compile, text, target="x86.avx2")
    assert kernel.verify().elements > 0


@pytest.mark.parametrize("target", ["c.scalar", "x86.avx2"])
@pytest.mark.parametrize(
    ("shape", "statement", "places"),
    [
        ("12, 17] panels 8", "y[i] = 2 * x[i, i + 0]", np.arange(12) * 18),
        ("12, 17] panels 8", "y[i] = 2 * x[2 * i, 2 * i + 5]", np.arange(6) * 36 + 5),
        ("1, 17] panels (4, 4)", "y[i] = 2 * x[0, 3 * i + 1]", np.arange(6) * 3 + 1),
    ],
)
def test_parts_of_panels_may_be_read_in_any_way(
    shape: str, statement: str, places: Array, target: str
) -> None:
    """By diagonals and in steps, of which no piece lies together."""
    text = f"spec s() {{ input x: f32[{shape} output y: f32[{places.size}] {statement} }}"
    kernel = to_run(morello.compile, text, target=target)
    [argument] = kernel.signature.inputs
    x = np.random.default_rng(0).integers(-9, 9, argument.shape).astype(np.float32)
    np.testing.assert_array_equal(kernel(argument.pack(x)), 2 * x.reshape(-1)[places])
