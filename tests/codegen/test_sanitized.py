"""Searched programs as C, under the address and undefined-behaviour sanitizers."""

from __future__ import annotations

from typing import Any

import pytest

from morello.records import replace
from morello.reference.compare import check_close
from morello.reference.goals import goal_reference
from morello.runtime.program import built_program
from morello.toolchain.compilers import supports_openmp
from morello.toolchain.machine import Machine
from tests.end_to_end.kernels import compiled, compiler, compilers, small_inputs, to_run

CASES: tuple[tuple[str, tuple[int, ...], str], ...] = (
    ("matmul", (13, 29, 37), "x86.avx512"),
    ("matmul", (13, 17, 19), "x86.avx2"),
    ("matmul", (13, 17, 19), "x86.scalar"),
    ("s32", (13, 17, 19), "x86.avx512"),
    ("columns_b", (5, 7, 9), "x86.avx512"),
    ("columns_c", (5, 7, 9), "x86.scalar"),
    ("panels_b", (13, 17, 35), "x86.avx512"),
    ("panels_b", (3, 5, 48), "x86.scalar"),
    ("weight", (5, 6, 11), "x86.scalar"),
    ("weight columns", (3, 7, 33), "x86.avx512"),
    ("weight bytes", (13, 34, 37), "x86.avx512_vnni"),
    ("weight bytes", (5, 33, 43), "x86.avx2"),
    ("weight bf16", (5, 33, 67), "x86.avx512_bf16"),
    ("columns of packed bytes", (9, 67, 83), "x86.avx512_vnni"),
    ("columns of packed bytes", (1, 1, 1), "x86.avx512_vnni"),
    ("columns of packed bf16", (5, 31, 37), "x86.avx512_bf16"),
    ("columns of pairs", (5, 30, 37), "x86.avx2"),
    ("tall panels", (7, 11, 13), "x86.scalar"),
    ("threads", (9, 2, 5), "x86.scalar"),
    ("threads", (1, 8209, 1), "x86.avx2"),
    ("threads", (3, 8209, 5), "x86.avx512"),
    ("planes", (16, 192, 9), "x86.avx2"),
    ("planes", (5, 7, 3), "x86.avx2"),
    ("add", (3, 19), "x86.avx2"),
    ("relu", (37,), "x86.avx512"),
    ("bytes", (5, 9, 35), "x86.avx512_vnni"),
    ("bytes", (3, 6, 17), "x86.avx2"),
    ("bf16", (5, 6, 11), "x86.avx2"),
    ("bf16", (5, 13, 35), "x86.avx512_bf16"),
    ("narrow", (37,), "x86.scalar"),
    ("narrow", (53,), "x86.avx2"),
    ("wrap", (5, 7), "x86.scalar"),
    ("rows of a product", (5, 3, 19), "x86.avx512"),
    ("one product for two", (67, 60, 19), "x86.scalar"),
    ("nothing in common", (37,), "x86.scalar"),
    ("merged rows", (3, 5, 7), "x86.avx512"),
    ("split rows", (3, 95, 19), "x86.avx2"),
    ("merged heads", (3, 5, 9), "x86.avx512"),
    ("rows of another width", (4, 5, 2), "x86.avx2"),
    ("heads of a product", (3, 4, 15, 5), "x86.scalar"),
    ("product of heads", (2, 3, 7, 5), "x86.scalar"),
)


def _cases() -> list[Any]:
    """All with one compiler; all with the other are slow."""
    kinds = sorted(compilers(), reverse=True)
    return [
        *((*case, kind) for case in CASES for kind in kinds[:1]),
        *(pytest.param(*case, k, marks=pytest.mark.slow) for case in CASES for k in kinds[1:]),
    ]


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("spec", "sizes", "target", "kind"),
    _cases(),
    ids=lambda v: "x".join(map(str, v)) if v != str(v) else v,
)
def test_nothing_is_touched_but_the_arguments(
    spec: str, sizes: tuple[int, ...], target: str, kind: str
) -> None:
    """Odd sizes, whose last vectors are partly used; the result is right as well."""
    kernel = to_run(compiled, spec, sizes, target)
    inputs = small_inputs(kernel)
    pairs = zip(kernel.signature.inputs, inputs, strict=True)
    given = {argument.name: argument.unpack(array) for argument, array in pairs}
    source, with_openmp = kernel.c_source, supports_openmp(compiler(kind))
    if not with_openmp:
        source = replace(source, flags=tuple(f for f in source.flags if f != "-fopenmp"))
    with built_program(
        source, kernel.signature, machine=Machine(compiler(kind)), sanitize=True, both_entries=True
    ) as program:
        outputs = program.results(*inputs)
    results = zip(
        kernel.signature.outputs, outputs, goal_reference(kernel.goal, given), strict=True
    )
    for argument, actual, expected in results:
        check_close(argument.unpack(actual), expected)
