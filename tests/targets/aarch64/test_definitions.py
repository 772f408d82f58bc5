"""NEON: whole programs under an emulator. Its kernels are executed with all others'."""

from __future__ import annotations

import pytest

import morello
from morello.ir.dtypes import DTYPES
from tests.end_to_end.kernels import only_l1
from tests.machines import AARCH64, needed

PRODUCT = """spec product(M = 5, K = 8, N = 7) {{
  input  a: {a}[M, K]
  weight b: {b}[K, N]
  output c: {c}[M, N]
  c = matmul(a, b)
}}"""

ELEMENTS = """spec elements(M = 3, N = 13) {{
  input  x: {x}[M, N]
  output y: {y}[M, N]
  y = {value}
}}"""

PROGRAMS = {
    "product": (PRODUCT.format(a="f32", b="f32", c="f32"), "aarch64.neon", "vfmaq_laneq_f32"),
    "product of bf16": (PRODUCT.format(a="f32", b="bf16", c="f32"), "aarch64.neon", "f32_of_bf16"),
    "product of integers": (
        PRODUCT.format(a="s32", b="s32", c="s32"),
        "aarch64.neon",
        "uint32x4_t",
    ),
    "product of bytes": (PRODUCT.format(a="u8", b="s8", c="s32"), "aarch64.neon", "vmlal_n_s16"),
    "dot products": (PRODUCT.format(a="s8", b="s8", c="s32"), "aarch64.dotprod", "vdotq_s32"),
    "softmax": (
        ELEMENTS.format(x="f32", y="f32", value="softmax(x)"),
        "aarch64.neon",
        "f32_x4_exp",
    ),
    "gelu": (ELEMENTS.format(x="f32", y="f32", value="gelu(x)"), "aarch64.neon", "f32_x4_erfc"),
    "logarithms": (
        ELEMENTS.format(x="f32", y="f32", value="log(x)"),
        "aarch64.neon",
        "f32_x4_log",
    ),
    "narrowed": (ELEMENTS.format(x="f32", y="u8", value="copy(x)"), "aarch64.neon", "u8_of_f32"),
    "rounded": (ELEMENTS.format(x="s32", y="bf16", value="copy(x)"), "aarch64.neon", "bf16_of_s32"),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_right(name: str) -> None:
    """Skipped by name where a compiler or an emulator is missing. They use the kernels for it."""
    text, target, used = PROGRAMS[name]
    kernel = morello.compile(
        text,
        target=target,
        definitions=only_l1(morello.load_definitions()),
        machine=needed(AARCH64),
        memo=morello.Memo(),
    )
    assert used in kernel.source
    report = kernel.verify()
    assert report.elements == report.total > 0


def test_the_target_names_its_compiler_and_runner() -> None:
    """So that nothing else need be said where they are installed."""
    target = morello.load_definitions().targets["aarch64.dotprod"]
    assert target.compiler == AARCH64.cc
    assert target.runner == AARCH64.runner
    assert target.features == ("asimd", "asimddp")


@pytest.mark.sample(2)
@pytest.mark.parametrize("source", DTYPES)
def test_every_type_becomes_every_other(source: str) -> None:
    """Of rows with an end that is one element, and of fewer than a vector."""
    others = [name for name in DTYPES if name != source]
    shapes = {"x": "[3, 13]", "z": "[3]"}
    inputs = [f"input {name}: {source}{shape}" for name, shape in shapes.items()]
    outputs = [f"output {n}_{t}: {t}{shape}" for n, shape in shapes.items() for t in others]
    values = [f"{n}_{t} = copy({n})" for n in shapes for t in others]
    kernel = morello.compile(
        f"spec s() {{ {' '.join((*inputs, *outputs, *values))} }}",
        target="aarch64.neon",
        definitions=only_l1(morello.load_definitions()),
        machine=needed(AARCH64),
        memo=morello.Memo(),
    )
    kernel.verify()
