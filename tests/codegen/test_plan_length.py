"""The length that a plan foretells is that of the program that it becomes."""

from __future__ import annotations

import pytest

from morello.compiler import compile_spec
from morello.ir.programs.tree import Allocate, Block, KernelCall, Loop, Node, Resident
from morello.memo.memo import Memo
from morello.search.results.plan_length import written_kernels

PRODUCT = """spec product() {{
  input a: f32[{m}, {k}]
  input b: f32[{k}, {n}]
  output c: f32[{m}, {n}]
  c = matmul(a, b)
}}"""


def _calls(node: Node) -> int:
    """Kernel calls in a program, those of unrolled loops once for every step."""
    match node:
        case Block(steps=steps):
            return sum(map(_calls, steps))
        case Loop(unrolled=True, count=count, body=body):
            return count * _calls(body)
        case Loop(body=body) | Allocate(body=body) | Resident(body=body):
            return _calls(body)
    assert isinstance(node, KernelCall)
    return 1


@pytest.mark.parametrize("sizes", [(4, 5, 16), (7, 3, 19)])
def test_it_counts_the_kernels_of_the_program(sizes: tuple[int, int, int]) -> None:
    """With loops that are unrolled, loops that are not, and tails."""
    source = PRODUCT.format(**dict(zip("mkn", sizes, strict=True)))
    kernel = compile_spec(source, target="x86.avx2", memo=Memo())
    (tree,) = kernel.plan.trees
    assert written_kernels(tree.root) == _calls(kernel.program.body) > 1
