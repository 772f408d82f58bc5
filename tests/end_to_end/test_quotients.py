"""Quotients that are rounded down, and what they leave, of every type against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morello

from .kernels import to_run

TARGETS = ("c.scalar", "x86.avx2", "x86.avx512")
TYPES: dict[str, Any] = {"f32": np.float32, "s32": np.int32, "s8": np.int8, "u8": np.uint8}


def numbers(dtype: str) -> np.ndarray[tuple[int], np.dtype[np.generic]]:
    """Small ones, and for integers the ends of their range."""
    if dtype == "f32":
        return np.array([-7.5, -2, -0.25, 0.5, 1, 3, 16, 1000.75], np.float32)
    limits = np.iinfo(TYPES[dtype])
    small = [n for n in (-7, -2, -1, 0, 1, 2, 5, 16, 100) if n >= limits.min]
    return np.array([limits.min, *small, limits.max], TYPES[dtype])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("target", TARGETS)
def test_they_are_what_numpy_says(target: str, dtype: str) -> None:
    x, z = (own.reshape(-1) for own in np.meshgrid(numbers(dtype), numbers(dtype)))
    text = f"""spec quotients() {{
      input x: {dtype}[{x.size}]
      input z: {dtype}[{x.size}]
      output y: {dtype}[{x.size}]
      output rest: {dtype}[{x.size}]
      y[i] = x[i] // z[i]
      rest[i] = x[i] % z[i]
    }}"""
    kernel = to_run(morello.compile, text, target=target)
    kernel.verify()
    with np.errstate(divide="ignore", over="ignore"):
        wanted = x // z, x % z
    for own, expected in zip(kernel(x, z), wanted, strict=True):
        np.testing.assert_array_equal(own, expected)


@pytest.mark.parametrize("target", TARGETS)
def test_two_halves_of_a_byte_are_two_weights(target: str) -> None:
    rng = np.random.default_rng(3)
    w = rng.integers(0, 256, (7, 3, 16), np.uint8)
    x, scale = (rng.standard_normal(shape).astype(np.float32) for shape in ((3, 2, 16), (7, 3)))
    text = """spec halves() {
      input x: f32[3, 2, 16]
      input w: u8[7, 3, 16]
      input s: f32[7, 3]
      output y: f32[7]
      y[n] += ((w[n, b, k] % 16 - 8) * x[b, 0, k] + (w[n, b, k] // 16 - 8) * x[b, 1, k]) * s[n, b]
    }"""
    kernel = to_run(morello.compile, text, target=target)
    weights = np.stack([w % 16, w // 16], axis=2).astype(np.float64) - 8
    wanted = np.einsum("nbhk,bhk,nb->n", weights, x, scale)
    np.testing.assert_allclose(kernel(x, w, scale), wanted, rtol=1e-5, atol=1e-4)
