"""Products of few columns: what is computed may be the transpose of a product of few rows."""

from __future__ import annotations

import pytest

import morello

from .kernels import to_run

RULE = "transposed_result"

ARGUMENTS = {
    "f32": ("input a: f32[M, K]", "input b: f32[K, N]", "output c: f32[M, N]"),
    "a weight": ("weight a: f32[M, K]", "input b: f32[K, N]", "output c: f32[M, N]"),
    "both": ("weight a: f32[M, K]", "weight b: f32[K, N]", "output c: f32[M, N]"),
    "columns": ("weight a: f32[M, K] layout (1, 0)", "input b: f32[K, N]", "output c: f32[M, N]"),
    "batch": ("input a: f32[3, M, K]", "input b: f32[3, K, N]", "output c: f32[3, M, N]"),
    "bf16": ("weight a: bf16[M, K]", "input b: bf16[K, N]", "output c: f32[M, N]"),
    "bytes": ("weight a: u8[M, K]", "input b: s8[K, N]", "output c: s32[M, N]"),
}

SIZES = [(300, 70, 5), (37, 256, 3), (97, 129, 1), (64, 1, 15), (17, 33, 16), (2, 300, 1)]


def _spec(name: str) -> str:
    return "\n  ".join(("spec few(M, K, N) {", *ARGUMENTS[name], "c = matmul(a, b)")) + "\n}"


@pytest.mark.sample(12)
@pytest.mark.parametrize("target", ["x86.avx2", "x86.avx512"])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_they_equal_the_reference(name: str, sizes: tuple[int, ...], target: str) -> None:
    defines = dict(zip("MKN", sizes, strict=True))
    kernel = to_run(morello.compile, _spec(name), defines=defines, target=target)
    assert kernel.verify().elements > 0


@pytest.mark.parametrize("name", ["f32", "a weight", "batch", "columns"])
def test_rows_are_computed(name: str) -> None:
    """The program is one of the rule."""
    defines = {"M": 512, "K": 256, "N": 3}
    kernel = to_run(morello.compile, _spec(name), defines=defines, target="x86.avx512")
    assert RULE in kernel.plan.render()
    assert kernel.verify().elements > 0


def test_what_is_the_same_in_all_calls_is_packed_ahead() -> None:
    """A weight is still one where it comes to be the right operand."""
    defines = {"M": 512, "K": 256, "N": 3}
    kernel = morello.compile(_spec("a weight"), defines=defines, target="x86.avx512")
    assert RULE in kernel.plan.render()
    assert [str(p.packed.layout) for p in kernel.program.packings] != []
