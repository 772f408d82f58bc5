"""Conversions between element types, alone, in expressions and after products: exactly defined.

Each is tried at the ends of the ranges, at halves and ties, on zeros of both signs, infinities and
NaN (`morello.ir.conversion` is what the language says).
"""

from __future__ import annotations

from functools import cache
from math import prod

import numpy as np
import pytest

import morello
from morello.ir.conversion import convert
from morello.ir.dtypes import DTYPES, DType
from morello.ir.programs.tree import Allocate, Tensor, walk

from .kernels import Array, small_machines, to_run

TARGETS = ("x86.scalar", "x86.avx2", "x86.avx512")
TYPES = ("f32", "f16", "bf16", "s32", "u8", "s8")
EXTRA = 21
"""Elements in the last row, beyond whole vectors."""

REQUANTISED = """spec layer(M, K, N){threads} {{
  input  x: u8[M, K]
  weight w: s8[K, N]
  weight b: s32[N]
  weight scales: f32[N]
  local  product: s32[M, N]
  local  sum: f32[M, N]
  output y: {out}[M, N]
  product = matmul(x, w)
  sum = copy(add_bias(product, b))
  y = copy(round(scale_columns(sum, scales)))
}}
"""


def _edges(dtype: DType) -> Array:
    """Values of a type at which conversions to the others turn."""
    ends = [(-(2**31), 2**31 - 1), (-128, 127), (0, 255), (-(2**24), 2**24), (-256, 256)]
    whole = [end + step for pair in ends for end in pair for step in (-2, -1, 0, 1, 2)]
    if not dtype.floating:
        limits = np.iinfo(dtype.numpy)
        ties = [
            s * (n + h) for n in (2**24, 2**30) for h in (64, 127, 128, 129, 384) for s in (1, -1)
        ]
        kept = [v for v in (*whole, *ties) if limits.min <= v <= limits.max]
        return np.array(sorted({*kept, limits.min, limits.max}), dtype.numpy)
    near = [np.nextafter(np.float32(v), np.float32(d)) for v in whole for d in (-np.inf, np.inf)]
    halves = [v + 0.5 for v in range(-4, 4)] + [
        v + h for v in (-128, 127, 255) for h in (-0.5, 0.5)
    ]
    odd = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-45, 3.4e38, -3.4e38, 2.0**31, 1e10]
    fractions = [1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-8 + 2.0**-20, -1 - 2.0**-8]  # of bf16
    fractions += [
        1 + 2.0**-11,
        1 + 3 * 2.0**-11,
        -1 - 2.0**-11,
        65519.996,
        65520.0,
        -65536.0,
    ]  # of f16
    fractions += [2.0**-25, 3 * 2.0**-25, 5 * 2.0**-26, 2.0**-14, 2.0**-14 - 2.0**-26, -(2.0**-24)]
    return convert(np.array([*whole, *near, *halves, *odd, *fractions], np.float32), dtype)


def _filled(dtype: DType, shape: tuple[int, ...]) -> Array:
    """The edges, again and again."""
    return np.resize(_edges(dtype), shape).astype(dtype.numpy)


@cache
def _conversions(source: str, target: str) -> morello.Kernel:
    """From one type to all the others."""
    others = [t for t in TYPES if t != source]
    outputs = " ".join(f"output y_{t}: {t}[2, 160 + {EXTRA}]" for t in others)
    calls = " ".join(f"y_{t} = copy(x)" for t in others)
    text = f"spec s() {{ input x: {source}[2, 160 + {EXTRA}] {outputs} {calls} }}"
    text = text.replace(f"160 + {EXTRA}", str(160 + EXTRA))
    return morello.compile(text, target=target, definitions=small_machines())


@pytest.mark.sample(3)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", TYPES)
def test_every_conversion_is_exact(source: str, target: str) -> None:
    """Whatever the target converts with, element by element and bit by bit."""
    kernel = to_run(_conversions, source, target)
    (argument,) = kernel.signature.inputs
    x = _filled(DTYPES[source], argument.shape)
    results = kernel(x)
    others = [t for t in TYPES if t != source]
    for name, found in zip(others, results, strict=True):
        wide = np.float64 if DTYPES[name].floating else np.int64
        own, expected = found.astype(wide), convert(x, DTYPES[name]).astype(wide)
        np.testing.assert_array_equal(own, expected, err_msg=f"{source} to {name}")
        zeros = expected == 0
        np.testing.assert_array_equal(np.signbit(own[zeros]), np.signbit(expected[zeros]))


@pytest.mark.parametrize("target", TARGETS)
def test_every_number_of_f16_is_converted(target: str) -> None:
    """To f32 and back: all that there are, the midpoints, and what is next to these."""
    kernel = to_run(_conversions_of_f16, target)
    wide, narrow = kernel.signature.inputs
    numbers = np.arange(1 << 16, dtype=np.uint16).view(np.float16).reshape(narrow.shape)
    finite = np.sort(numbers[np.isfinite(numbers)].astype(np.float32))
    halfway = (finite[1:] + finite[:-1]) / 2
    around = [np.nextafter(halfway, np.float32(s * np.inf)) for s in (-1, 1)]
    every = np.resize(np.concatenate([finite, halfway, *around]), wide.shape)
    rounded, exact = kernel(every, numbers)
    np.testing.assert_array_equal(rounded.view(np.uint16), every.astype(np.float16).view(np.uint16))
    np.testing.assert_array_equal(exact, numbers.astype(np.float32))


@cache
def _conversions_of_f16(target: str) -> morello.Kernel:
    text = "spec s() { input x: f32[4, 65536] input z: f16[65536] output y: f16[4, 65536] "
    text += "output w: f32[65536] y = copy(x) w = copy(z) }"
    return morello.compile(text, target=target, definitions=small_machines())


MIXED = (
    ("u8", "f32", "u8", "copy(round(scale({t}, factor = 1.5)))"),
    ("s32", "f32", "s8", "copy(round(shift({t}, amount = 0.5)))"),
    ("bf16", "f32", "bf16", "copy(gelu({t}))"),
    ("f16", "f32", "f16", "copy(gelu({t}))"),
    ("f32", "u8", "s32", "copy(maximum({t}, {z}))"),
    ("s8", "s32", "bf16", "copy(square({t}))"),
    ("f32", "s8", "f32", "copy(relu({t}))"),
    ("s32", "s8", "s32", "copy(square({t}))"),
    ("f32", "u8", "bf16", "copy(mul({t}, {z}))"),
)
"""Types of an input, on the way and of an output, and what is computed."""


@pytest.mark.sample(2)
@pytest.mark.parametrize("target", TARGETS[1:])
@pytest.mark.parametrize("n", [1, 7, 16, 45])
def test_of_several_types(n: int, target: str) -> None:
    """Expressions whose parts are computed in different types, of rows with an end."""
    lines = []
    for i, (source, middle, out, body) in enumerate(MIXED):
        lines += [f"input x{i}: {source}[3, {n}]", f"local t{i}: {middle}[3, {n}]"]
        lines += [f"input z{i}: {middle}[3, {n}]"] if "{z}" in body else []
        lines += [f"output y{i}: {out}[3, {n}]", f"t{i} = copy(x{i})"]
        lines += [f"y{i} = {body.format(t=f't{i}', z=f'z{i}')}"]
    text = "\n".join(["spec s() {", *lines, "}"])
    kernel = to_run(morello.compile, text, target=target, definitions=small_machines())
    assert not _in_memory(kernel)
    kernel.verify()


def _in_memory(kernel: morello.Kernel) -> list[Tensor]:
    """Buffers that are not in registers."""
    found = (n.tensor for n in walk(kernel.program.body) if isinstance(n, Allocate))
    return [tensor for tensor in found if not tensor.vector]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("sizes", "out", "threads", "target", "largest"),
    [
        ((7, 20, 45), "s8", "", "x86.avx512_vnni", 0),
        ((7, 20, 45), "u8", "", "x86.avx2", 7 * 45),
        ((5, 13, 17), "s8", " threads 2", "x86.avx512_vnni", 5 * 17),
    ],
)
def test_requantised_products(
    sizes: tuple[int, int, int], out: str, threads: str, target: str, largest: int
) -> None:
    """They leave the registers as bytes, or the nearest cache where that is cheaper.

    With four products a lane they are all in registers, unless k ends within such four.
    """
    text = REQUANTISED.format(threads=threads, out=out)
    defines = dict(zip("MKN", sizes, strict=True))
    definitions = small_machines()
    options = {"defines": defines, "target": target, "definitions": definitions}
    kernel = to_run(morello.compile, text, **options)
    wide = [t for t in _in_memory(kernel) if t.dtype.bytes == 4]
    assert all(prod(t.shape) <= largest and t.level == "l1" for t in wide)
    kernel.verify()


def test_a_product_is_rounded_to_bf16_from_registers() -> None:
    """After what follows it, in the same pass."""
    text = (
        "spec s() { input x: bf16[9, 24] weight w: bf16[24, 48] local t: f32[9, 48] "
        "output y: bf16[9, 48] t = matmul(x, w) y = copy(gelu(t)) }"
    )
    definitions = small_machines()
    kernel = to_run(morello.compile, text, target="x86.avx512_bf16", definitions=definitions)
    assert not [t for t in _in_memory(kernel) if t.dtype.name == "f32"]
    kernel.verify()
