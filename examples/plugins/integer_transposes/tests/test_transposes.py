"""The kernel is right, and is what a transpose of integers is made of."""

from __future__ import annotations

from pathlib import Path

import pytest

import morello
from morello.definitions import load_definitions
from morello.toolchain.machine import Machine
from morello.verify.declared import verify_declared

SPEC = Path(__file__).parent.parent / "turned.mspec"
NAME = "rows_of_columns_s32_4x4"


def test_the_kernel_equals_its_operator() -> None:
    """Compiled with sanitizers and executed; where the machine cannot, that is said."""
    definitions = load_definitions()
    target = definitions.targets["x86.avx2"]
    (kernel,) = [kernel for kernel in target.kernels if kernel.name == NAME]
    source = kernel.declaration.span.source
    assert source.name == "morello_integer_transposes/transposes.mtarget"
    (verdict,) = verify_declared(definitions, [source])
    assert verdict.error is None
    assert verdict.untried or verdict.instances > 1


def test_a_transpose_uses_it() -> None:
    """Whole blocks; what remains at the edges is done as before."""
    kernel = morello.compile(SPEC)
    assert NAME in kernel.plan.render()
    assert "transpose_s32_4x4(" in kernel.source
    if Machine().lacks(kernel.program.target.flags):
        pytest.skip("this machine has no AVX2")
    kernel.verify()
