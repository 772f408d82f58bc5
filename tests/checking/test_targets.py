"""Targets: inheritance, levels, and what a checked target gives."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from morello.checking.levels import check_coefficients
from morello.checking.targets import check_targets
from morello.ir.target import Target
from morello.language.diagnostics import Collector
from morello.language.load import load_source
from morello.language.parse import parse_target
from morello.records import replace
from tests.checking.fail_cases import shipped_operators
from tests.checking.texts import shown, target_file, targets

SHIPPED = Path(__file__).parents[2] / "targets"

BASE = """
    target base
      "A base."
    {
      emitter base_emitter
      sizes 1, 2
      page 4 KiB
      flags "-a", "-b"
      headers "a.h"
      level mem { line 64 }
      level l1  { capacity 32 KiB; capacity_unit 2 KiB; line 64; cache
        coefficient fetch = 2 cycles "a line"   # manual
        coefficient store = 3 cycles "a line"   # manual
      }
      level reg { capacity 12 vectors; vector 4; not addressable }
      coefficient load = 1 cycles "a load"  # measured
      coefficient add  = 2 cycles "a sum"   # measured
    }
    primitives f32 x 1 on base { type "float"; add "+" add; mul "*" }
    kernel one on base
      "Anything."
      match  any op (any[...] at l1)
      cost   load
      emit   definition
"""

DERIVED = """
    target derived extends base
      "More."
    {
      sizes 1, 2, 4
      flags "-b", "-c"
      headers "b.h"
      level mem { }
      level l2  { capacity 1 MiB; capacity_unit 64 KiB; line 64; cache }
      level l1  { coefficient store = 4 cycles "a line"  # calibrated
      }
      level reg { capacity 32 vectors; vector 4, 32 }
      coefficient load = 0.5 cycles "a load"  # calibrated
    }
    primitives f32 x 1 on derived { add "plus" load }
    primitives f32 x 8 on derived { type "float8" }
    kernel two on derived
      "Anything in registers."
      match  pointwise op (f32[..., n] at reg vector 32)
      where  free(reg) >= 1, n % 8 == 0
      cost   n * load + add
      emit   definition
"""


@pytest.fixture(name="derived")
def _derived() -> Target:
    return targets(DERIVED, BASE)["derived"]


def test_shipped_targets_are_right() -> None:
    """Nothing is wrong with what the project ships."""
    collector = Collector()
    files = [parse_target(load_source(path)) for path in sorted(SHIPPED.glob("*/*.mtarget"))]
    found = check_targets(files, shipped_operators(), collector)
    assert collector.diagnostics == []
    assert set(found) == {
        "aarch64.neon",
        "aarch64.dotprod",
        "c.scalar",
        "x86.scalar",
        "x86.avx2",
        "x86.avx512",
        "x86.avx512_vnni",
        "x86.avx512_bf16",
        "x86.zen5",
        "x86.sapphire_rapids",
        "x86.amx",
    }
    assert found["x86.avx512"].lineage == ("c.scalar", "x86.scalar", "x86.avx2", "x86.avx512")


def test_levels_nearest_first(derived: Target) -> None:
    """Distances count from the nearest level, and a new level is where the text puts it."""
    assert [level.name for level in derived.levels] == ["reg", "l1", "l2", "mem"]
    assert [level.distance for level in derived.levels] == [0, 1, 2, 3]


def test_capacity_in_units(derived: Target) -> None:
    """Caches count capacity units, registers whole vectors; the farthest level has no limit."""
    assert [level.capacity for level in derived.levels] == [32, 16, 16, None]
    assert [level.capacity_unit for level in derived.levels] == [1, 2048, 65536, 1]


def test_level_keeps_what_is_not_given_again(derived: Target) -> None:
    """A redeclared level overrides some properties and adds coefficients."""
    l1, reg = derived.level_by_name["l1"], derived.level_by_name["reg"]
    assert (l1.line, l1.cache, l1.addressable) == (64, True, True)
    assert {n: c.value for n, c in l1.coefficients.items()} == {"fetch": 2, "store": 4}
    assert (reg.vectors, reg.addressable, reg.cache) == ((4, 32), False, False)


def test_inherited_values(derived: Target) -> None:
    """What is given replaces or joins what the base has."""
    assert (derived.emitter, derived.sizes, derived.page) == ("base_emitter", (1, 2, 4), 4096)
    assert derived.flags == ("-a", "-b", "-c")
    assert derived.headers == ("a.h", "b.h")
    assert derived.lineage == ("base", "derived")
    assert {n: c.value for n, c in derived.coefficients.items()} == {"load": 0.5, "add": 2}
    assert derived.coefficients["load"].source.startswith("calibrated")


def test_inherited_primitives(derived: Target) -> None:
    """Entries join; one that is given again wins."""
    assert derived.primitives["f32", 1].entries == {
        "type": ("float", None),
        "add": ("plus", "load"),
        "mul": ("*", None),
    }
    assert set(derived.primitives) == {("f32", 1), ("f32", 8)}


def test_inherited_kernels(derived: Target) -> None:
    """The base's kernels stand first, each on the target that declares it."""
    assert [(k.name, k.target) for k in derived.kernels] == [("one", "base"), ("two", "derived")]


def test_inherited_kernels_accept_what_is_farther_of_all_levels() -> None:
    """Also what only the derived target has."""
    base = BASE.replace("any op (any[...] at l1)", "any op (any[...] at l1 or farther)")
    for name, levels in {"base": ("l1", "mem"), "derived": ("l1", "l2", "mem")}.items():
        kernel = targets(base, DERIVED)[name].kernels[0]
        assert [pattern.levels for pattern in kernel.match.operands] == [levels]


def test_base_is_not_changed_by_a_target_that_extends_it() -> None:
    """Inheritance goes one way."""
    alone, together = targets(BASE)["base"], targets(BASE, DERIVED)["base"]
    assert alone == together


@pytest.mark.parametrize("value", [-1.0, math.inf, math.nan])
def test_coefficient_that_is_no_cost(value: float) -> None:
    """Numbers that only a program can write are refused too."""
    declared = target_file(BASE).targets[0].coefficients[0]
    collector = Collector()
    check_coefficients([replace(declared, value=value)], collector)
    (diagnostic,) = collector.diagnostics
    expected = f"coefficient 'load' is {value:g} cycles; it must be 0 or more"
    assert shown(diagnostic) == ("T011", 16, 15, expected)


def test_functions_of_templates() -> None:
    """Where the functions of an emitter are known, templates may call no others."""
    text = BASE.replace("emit   definition", "emit ```\n  {{ lanes(1) }}{{ range(2) }}\n```")
    collector = Collector()
    check_targets([target_file(text)], shipped_operators(), collector)
    assert collector.diagnostics == []
    check_targets(
        [target_file(text)], shipped_operators(), collector, template_functions=("range", "lane")
    )
    (diagnostic,) = collector.diagnostics
    assert diagnostic.code == "T061"
    assert diagnostic.help == "did you mean 'lane'?"


@pytest.mark.parametrize("value", ["9" * 5_000, "(" * 5_000 + ")" * 5_000], ids=["huge", "nested"])
def test_hostile_templates_do_not_parse(value: str) -> None:
    """What jinja2 does not call a syntax error is one."""
    text = BASE.replace("emit   definition", f"emit ```\n  {{{{ {value} }}}}\n```")
    collector = Collector()
    check_targets([target_file(text)], shipped_operators(), collector)
    (diagnostic,) = collector.diagnostics
    assert diagnostic.code == "T060"
    assert value in diagnostic.span.source.text[diagnostic.span.start : diagnostic.span.end]


def test_broken_targets_are_left_out() -> None:
    """What extends an unknown target is not built, and its kernels are no errors of their own."""
    collector = Collector()
    found = check_targets([target_file(DERIVED)], shipped_operators(), collector)
    assert found == {}
    assert [d.code for d in collector.diagnostics] == ["T002"]
