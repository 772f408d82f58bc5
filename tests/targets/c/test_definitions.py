"""Portable C: nothing of a processor is in it, and programs in it run on another family's."""

from __future__ import annotations

from importlib.resources import files

import pytest

import morello
from morello.definitions import load_definitions
from morello.language.source import Source
from morello.plugins import definitions_in
from tests.documentation.blocks import PROJECT, blocks_of
from tests.end_to_end.kernels import only_l1, small_machines
from tests.machines import AARCH64, needed
from tests.test_layering import INSTRUCTION_SETS

from ...codegen.c.definitions import targets

STANDARD = {"stddef.h", "stdint.h", "math.h"}

PROGRAMS = {
    "product": """spec product(M = 2, K = 3, N = 6) {
      input  a: f32[M, K]
      weight b: f32[K, N]
      output c: f32[M, N]
      c = matmul(a, b)
    }""",
    "bytes": """spec bytes(M = 2, K = 4, N = 3) {
      input  a: u8[M, K]
      input  b: s8[K, N]
      output c: s32[M, N]
      c = matmul(a, b)
    }""",
    "softmax": """spec probabilities(M = 2, N = 6) {
      input  x: f32[M, N]
      output y: f32[M, N]
      y = softmax(x)
    }""",
}


def test_no_processor_is_named() -> None:
    """Nor an instruction set: in any file of the directory."""
    found = list(definitions_in(files("morello_c")))
    assert {file.name for file in found} == {
        "functions.mtarget",
        "scalar.mtarget",
        "vectors.mtarget",
    }
    assert [INSTRUCTION_SETS.findall(file.read_text("utf-8")) for file in found] == [[]] * len(
        found
    )


def test_nothing_is_asked_of_the_processor() -> None:
    """No feature and no machine flag; headers are those of C11 alone."""
    target = targets()["c.scalar"]
    assert target.lineage == ("c.scalar",)
    assert set(target.headers) <= STANDARD
    assert target.features == ()
    assert [flag for flag in target.flags if flag.startswith("-m")] == []
    assert (target.compiler, target.runner) == ("", "")


def test_the_base_of_x86_is_the_same() -> None:
    """Levels, costs, primitives and kernels are inherited, and none is said again."""
    base, derived = targets()["c.scalar"], targets()["x86.scalar"]
    assert derived.lineage == ("c.scalar", "x86.scalar")
    for what in ("levels", "coefficients", "primitives", "functions", "kernels", "flags"):
        assert getattr(base, what) == getattr(derived, what) != ()


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_run_on_another_family(name: str) -> None:
    """Skipped by name where a compiler or an emulator for it is missing."""
    machine = needed(AARCH64)
    kernel = morello.compile(
        PROGRAMS[name],
        target="c.scalar",
        definitions=small_machines(),
        machine=machine,
        memo=morello.Memo(),
    )
    report = kernel.verify()
    assert report.elements == report.total > 0


@pytest.mark.parametrize("name", ["product", "softmax"])
def test_a_target_that_a_page_writes_runs_on_another_family(name: str) -> None:
    """That of ``docs/write-a-target.md``: it extends this one by vectors, and uses them there."""
    machine = needed(AARCH64)
    blocks = blocks_of((PROJECT / "docs" / "write-a-target.md").read_text())
    files = {b.argument: b.text for b in blocks if (b.language, b.word) == ("mtarget", "file")}
    sources = [Source(file, text) for file, text in files.items()]  # the last text of each counts
    kernel = morello.compile(
        PROGRAMS[name],
        target="my.arm",
        definitions=only_l1(load_definitions(sources)),
        machine=machine,
        memo=morello.Memo(),
    )
    assert "float32x4_t" in kernel.source
    report = kernel.verify()
    assert report.elements == report.total > 0
