"""The target computes what it should, in its own registers, and its command says so."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
from click.testing import CliRunner

import morello
from morello.cli.main import main
from morello.definitions import load_definitions
from morello.verify.kernel_executions import verify_kernels

BLOCK = Path(__file__).parent.parent / "block.mspec"

CHOICES = """target portable.vectors

spec choices(N = 11) {
  input  x: f32[N]
  input  z: f32[N]
  output y: f32[N]
  y = clamp(div(select(x, maximum(x, z), neg(z)), shift(abs(z), amount = 1)), low = 0 - 2, high = 3)
}
"""


def test_registers_are_its_own() -> None:
    """13 of them, of 4 and of 16 bytes: no other target has these."""
    target = load_definitions().targets["portable.vectors"]
    (level,) = [level for level in target.levels if not level.addressable]
    assert (level.capacity, level.vectors) == (13, (4, 16))


def test_its_command_is_there_and_verifies_a_block() -> None:
    """A product, what is done to its rows, and a reduction, with every compiler that there is."""
    (point,) = [p for p in entry_points(group="morello.plugins") if p.name == "portable-vectors"]
    assert point.dist is not None
    result = CliRunner().invoke(main, ["try-compilers", str(BLOCK)])
    assert result.exit_code == 0, result.output
    assert "equal to the reference" in result.output
    result = CliRunner().invoke(main, ["try-compilers", str(BLOCK), "-c", "no-such-compiler"])
    assert result.exit_code == 1
    assert "there is no program of that name" in result.output


def test_the_block_is_made_of_its_kernels() -> None:
    """And of its types: nothing that only one processor has."""
    kernel = morello.compile(BLOCK)
    assert "multiply_add_scalar_f32_x4" in kernel.plan.render()
    assert "reduce_x4" in kernel.plan.render()
    assert "vector_size(16)" in kernel.source
    assert "immintrin" not in kernel.source


def test_choices_are_made_lane_by_lane() -> None:
    """Comparisons, selections, and what is left of a row."""
    kernel = morello.compile(CHOICES)
    assert "choose_f32_x4(" in kernel.source
    kernel.verify()
    x, z = np.arange(11, dtype=np.float32) - 5, np.arange(11, dtype=np.float32)[::-1].copy()
    chosen = np.where(x != 0, np.maximum(x, z), -z) / (abs(z) + 1)
    assert np.allclose(np.clip(chosen, -2, 3), kernel(x, z), rtol=1e-6)


def test_the_kernel_for_products_equals_its_operator() -> None:
    """`morello check --execute` does that for all of them; it takes a minute."""
    definitions = load_definitions()
    target = definitions.targets["portable.vectors"]
    kernels = [k for k in target.kernels if k.name == "multiply_add_f32_x4"]
    (report,) = verify_kernels(definitions, target, kernels)
    assert report.failure is None
    assert report.instances > 1


def test_functions_are_those_that_are_defined() -> None:
    """In its lanes: none of the C library's, which take one number at a time."""
    kernel = morello.compile(CHOICES.replace("neg(z)", "gelu(softplus(z))"))
    assert {"f32_x4_log1p(", "f32_x4_exp(", "f32_x4_erfc("} <= set(
        re.findall(r"f32_x4_\w+\(", kernel.source)
    )
    assert not re.search(r"\b(exp|erf|erfc|log1p)f\(", kernel.source)
    kernel.verify()
