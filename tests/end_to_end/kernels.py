"""Specs that the tests compile, each once, and what of this machine they need."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morello
from morello.definitions import Definitions, load_definitions
from morello.ir.passes import PASSES
from morello.ir.target import Level, Target
from morello.memo.memo import Memo
from morello.records import replace
from morello.runtime.compiled import CompiledSpec
from morello.toolchain.compilers import Compiler, describe
from morello.toolchain.machine import Machine

Array = np.ndarray[Any, np.dtype[Any]]

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"

MATMUL = """spec product(M, K, N) {{
  input  a: {a}
  input  b: {b}
  output c: {c}
  c = matmul(a, b)
}}
"""

WEIGHT = MATMUL.replace("input  b", "weight b")

NT, TN, TT = (MATMUL.replace("matmul", f"matmul_{kind}") for kind in ("nt", "tn", "tt"))

SPECS: dict[str, str] = {
    "matmul": MATMUL.format(a="f32[M, K]", b="f32[K, N]", c="f32[M, N]"),
    "s32": MATMUL.format(a="s32[M, K]", b="s32[K, N]", c="s32[M, N]"),
    "bf16": MATMUL.format(a="bf16[M, K]", b="bf16[K, N]", c="f32[M, N]"),
    "packed bf16": MATMUL.format(
        a="bf16[M, K]", b="bf16[K, N] layout (1, 0) panels 2", c="f32[M, N]"
    ),
    "columns bf16": MATMUL.format(
        a="bf16[M, K] layout (1, 0)", b="bf16[K, N] layout (1, 0)", c="f32[M, N]"
    ),
    "batched bf16": MATMUL.format(a="bf16[2, M, K]", b="bf16[2, K, N]", c="f32[2, M, N]"),
    "mixed": MATMUL.format(a="f32[M, K]", b="bf16[K, N]", c="f32[M, N]"),
    "bytes": MATMUL.format(a="u8[M, K]", b="s8[K, N]", c="s32[M, N]"),
    "packed bytes": MATMUL.format(a="u8[M, K]", b="s8[K, N] layout (1, 0) panels 4", c="s32[M, N]"),
    "columns of packed bytes": MATMUL.format(
        a="u8[M, K]", b="s8[K, N] layout (1, 0) panels (16, 4)", c="s32[M, N]"
    ),
    "columns of packed bf16": MATMUL.format(
        a="bf16[M, K]", b="bf16[K, N] layout (1, 0) panels (16, 2)", c="f32[M, N]"
    ),
    "columns of pairs": MATMUL.format(
        a="u8[M, K]", b="s8[K, N] layout (1, 0) panels (16, 2)", c="s32[M, N]"
    ),
    "tall panels": MATMUL.format(
        a="f32[M, K] panels (3, 4)",
        b="f32[K, N] panels (5, 2)",
        c="f32[M, N] layout (1, 0) panels (2, 3)",
    ),
    "weight bf16": WEIGHT.format(a="bf16[M, K]", b="bf16[K, N]", c="f32[M, N]"),
    "nt bf16": NT.format(a="bf16[M, K]", b="bf16[N, K]", c="f32[M, N]"),
    "nt mixed": NT.format(a="f32[M, K]", b="bf16[N, K]", c="f32[M, N]"),
    "weight": WEIGHT.format(a="f32[M, K]", b="f32[K, N]", c="f32[M, N]"),
    "weight columns": WEIGHT.format(a="f32[M, K]", b="f32[K, N] layout (1, 0)", c="f32[M, N]"),
    "weight panels": WEIGHT.format(a="f32[M, K]", b="f32[K, N] panels 5", c="f32[M, N]"),
    "weight bytes": WEIGHT.format(a="u8[M, K]", b="s8[K, N]", c="s32[M, N]"),
    "weight batched": WEIGHT.format(a="f32[2, M, K]", b="f32[2, K, N]", c="f32[2, M, N]"),
    "weight threads": WEIGHT.format(a="f32[M, K]", b="f32[K, N]", c="f32[M, N]").replace(
        ") {", ") threads 2 {"
    ),
    "weight square": """spec square(N) {
      weight a: f32[N, N]
      output c: f32[N, N]
      c = matmul(a, a)
    }""",
    "nt": NT.format(a="f32[M, K]", b="f32[N, K]", c="f32[M, N]"),
    "tn": TN.format(a="f32[K, M]", b="f32[K, N]", c="f32[M, N]"),
    "tt": TT.format(a="f32[K, M]", b="f32[N, K]", c="f32[M, N]"),
    "nt s32": NT.format(a="s32[M, K]", b="s32[N, K]", c="s32[M, N]"),
    "nt weight": NT.replace("input  b", "weight b").format(
        a="f32[M, K]", b="f32[N, K]", c="f32[M, N]"
    ),
    "tn batched": TN.format(a="f32[2, K, M]", b="f32[2, K, N]", c="f32[2, M, N]"),
    "tt threads": TT.format(a="f32[K, M]", b="f32[N, K]", c="f32[M, N]").replace(
        ") {", ") threads 2 {"
    ),
    "narrow": """spec narrow(N) {
      input  x: f32[N]
      output y: bf16[N]
      y = copy(x)
    }""",
    "wrap": """spec wrap(H, W) {
      input  x: u8[H, W]
      input  z: u8[H, W]
      output y: u8[H, W]
      y = add(x, z)
    }""",
    "columns_b": MATMUL.format(a="f32[M, K]", b="f32[K, N] layout (1, 0)", c="f32[M, N]"),
    "panels_b": MATMUL.format(a="f32[M, K]", b="f32[K, N] panels 16", c="f32[M, N]"),
    "panels_k": MATMUL.format(a="f32[M, K]", b="f32[K, N] layout (1, 0) panels 4", c="f32[M, N]"),
    "panels": MATMUL.format(
        a="f32[M, K] layout (1, 0) panels 4", b="f32[K, N]", c="f32[M, N] panels 3"
    ),
    "columns_c": MATMUL.format(a="f32[M, K]", b="f32[K, N]", c="f32[M, N] layout (1, 0)"),
    "batched": MATMUL.format(a="f32[2, M, K]", b="f32[2, K, N]", c="f32[2, M, N]"),
    "threads": MATMUL.format(a="f32[M, K]", b="f32[K, N]", c="f32[M, N]").replace(
        ") {", ") threads 2 {"
    ),
    "many threads": MATMUL.format(a="f32[M, K]", b="f32[K, N]", c="f32[M, N]").replace(
        ") {", ") threads 32 {"
    ),
    "square": """spec square(N) {
      input  a: f32[N, N]
      output c: f32[N, N]
      c = matmul(a, a)
    }""",
    "relu": """spec positive(N) {
      input  x: f32[N]
      output y: f32[N]
      y = relu(x)
    }""",
    "add": """spec sum(H, W) {
      input  x: s32[H, W]
      input  z: s32[H, W] layout (1, 0)
      output y: s32[H, W]
      y = add(x, z)
    }""",
    "rows of a product": """spec rows(M, K, N) {
      input  a: f32[M, K]
      input  b: f32[K, N]
      output c: f32[M, N]
      output r: f32[M]
      c = matmul(a, b)
      r = row_sum(c)
    }""",
    "one product for two": """spec shared(M, K, N) threads 2 {
      input  a: f32[M, K]
      weight b: f32[K, N]
      input  v: f32[N]
      output least: f32[M]
      output most: f32[M]
      h = add_bias(matmul(a, b), v)
      most  = row_max(h)
      least = row_min(h)
    }""",
    "nothing in common": """spec apart(N) {
      input  x: f32[N]
      output y: f32[N]
      output z: s32[N] layout (0) panels 4
      z = copy(x)
      y = relu(x)
    }""",
    "one after the other": """spec chain(M, N) {
      input  x: s32[M, N]
      output z: s32[N]
      output y: s32[M, N] layout (1, 0)
      output w: s32[M, N]
      y = neg(x)
      z = column_sum(y)
      w = add(relu(x), y)
    }""",
    "planes": """spec planes(H, W, C) {
      input  x: f32[H, W, C]
      output y: f32[C, H, W]
      y[c, h, w] = x[h, w, c]
    }""",
    "merged rows": """spec merged(B, H, W) {
      input  x: f32[B, H, W]
      output y: f32[B, H * W]
      y = merge_rows(x, width = W)
    }""",
    "split rows": """spec split(B, N, W) {
      input  x: u8[B, N]
      output y: u8[B, N // W, W]
      y = split_rows(x, width = W)
    }""",
    "merged heads": """spec merged(H, S, D) {
      input  x: bf16[H, S, D]
      output y: bf16[S, H * D]
      y = merge_heads(x, width = D)
    }""",
    "rows of another width": """spec reshaped(H, W, D) {
      input  x: f32[H, W]
      output y: f32[H * W // D, D]
      y = exp(split_rows(merge_rows(neg(x), width = W), width = D))
    }""",
    "heads of a product": """spec heads(M, K, N, D) {
      input  a: f32[M, K]
      weight b: f32[K, N]
      output c: f32[N // D, M, D]
      c = split_heads(matmul(a, b), width = D)
    }""",
    "product of heads": """spec whole(H, M, D, N) {
      input  a: f32[H, M, D]
      weight b: f32[H * D, N]
      output c: f32[M, N]
      c = matmul(merge_heads(relu(a), width = D), b)
    }""",
    "a weight for two": """spec layers(M, K, N) {
      input  x: u8[M, K]
      input  z: u8[M, K]
      weight w: s8[K, N]
      weight v: s8[K, N]
      output a: s32[M, N]
      output b: s32[M, N]
      output c: s32[M, N]
      a = matmul(x, w)
      b = matmul(z, w)
      c = matmul(z, v)
    }""",
}


@cache
def memo() -> Memo:
    """What was solved for one directory of tests, or by another process, is not solved again."""
    return Memo.open(Path(os.environ["MORELLO_TEST_KERNELS"]))


@cache
def small_machines() -> Definitions:
    """All that is installed, for tests whose tensors fit in L1: nothing is placed in other caches.

    Such tensors are placed in L1 or nowhere anyway. To look for places in between takes most of a
    search, and what comes out is the same program, or one that costs the same but for a few cycles.
    """
    return only_l1(load_definitions())


def only_l1(definitions: Definitions) -> Definitions:
    """Definitions for machines without other caches."""
    targets = {name: _without_others(target) for name, target in definitions.targets.items()}
    return replace(definitions, targets=targets)


def _without_others(target: Target) -> Target:
    """The other caches hold arguments, as L3 does, beside memory. Every pass is tried."""
    nearest, held = target.level_by_name["l1"].distance, max(v.arguments for v in target.levels)

    def beside(level: Level) -> Level:
        arguments = level.arguments if level == target.farthest else held
        return replace(level, distance=nearest + 1, capacity=None, cache=False, arguments=arguments)

    levels = (v if v.distance <= nearest else beside(v) for v in target.levels)
    return replace(target, levels=tuple(levels), passes=tuple(PASSES))


@cache
def compiled(
    spec: str, sizes: tuple[int, ...], target: str = "x86.avx512", *, installed: bool = False
) -> morello.Kernel:
    """One of `SPECS`, with sizes for its parameters in order, for one of `small_machines`.

    ``installed``: for the target as it is installed.
    """
    text = SPECS[spec]
    parameters = re.findall(r"\w+", text[text.index("(") : text.index(")")])
    defines = dict(zip(parameters, sizes, strict=True))
    definitions = load_definitions() if installed else small_machines()
    return morello.compile(
        text, defines=defines, target=target, definitions=definitions, memo=memo()
    )


def runnable(kernel: morello.Kernel) -> morello.Kernel:
    """The kernel; the test is skipped where this machine lacks its instructions."""
    _need(kernel.c_source.flags)
    return kernel


def _need(flags: Sequence[str]) -> None:
    lacking = Machine().lacks(flags)
    if lacking:
        pytest.skip(f"this machine lacks {', '.join(lacking)}")


def to_run(make: Callable[..., morello.Kernel], *arguments: Any, **options: Any) -> morello.Kernel:
    """A kernel that is made like this; the test is skipped before, where it could not run."""
    targets = load_definitions().targets
    for name in (*arguments, *options.values()):
        if isinstance(name, str) and name in targets:
            _need(targets[name].flags)
    return runnable(make(*arguments, **options))


def compilers() -> dict[str, str]:
    """Paths of gcc and of the newest clang, those that are installed."""
    names = {"gcc": ["gcc"], "clang": ["clang", *(f"clang-{v}" for v in range(30, 9, -1))]}
    found = {kind: next(filter(None, map(shutil.which, n)), None) for kind, n in names.items()}
    return {kind: path for kind, path in found.items() if path is not None}


def compiler(kind: str) -> Compiler:
    """``gcc`` or ``clang``; the test is skipped where it is not installed."""
    if kind not in compilers():
        pytest.skip(f"{kind} is not installed")
    return describe((compilers()[kind],))


def small_inputs(kernel: CompiledSpec) -> list[Array]:
    """Small integers, so that every order of summation is exact."""
    rng = np.random.default_rng(1)
    arrays = []
    for argument in kernel.signature.inputs:
        least = 0 if argument.dtype.numpy.kind == "u" else -8
        values = rng.integers(least, 8, argument.shape, endpoint=True)
        arrays.append(argument.pack(values.astype(argument.dtype.numpy)))
    return arrays
