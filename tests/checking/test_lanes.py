"""Kernels that are one for each width that a target has vectors of."""

from __future__ import annotations

import pytest

from morello.definitions import load_definitions
from morello.ir.target import Target
from morello.language.source import Source

MACHINE = """
target {name} extends {base} "Some." {{
  level reg {{ capacity 12 vectors; vector 4, {width}; not addressable }}
}}
"""

BLOCK = """
primitives f32 x {lanes} on {name} {{
  type "v{lanes}"; constant "all({{0}})"; add "({{0}} + {{1}})"; mul "({{0}} * {{1}})" scalar_div
  load "*({{0}})"
}}
"""

SUMS = """
kernel sums for T in f32, s32 x L on c.scalar
  "Sums of vectors."
  match  add(X: T[..., n] at reg lanes L, Z: T[..., n] at reg lanes L, Y: T[..., n] at reg lanes L)
  where  n <= L
  cost   L
  emit   ```
    {{ Y[0] }} = {{ vector.add(X[0], Z[0]) }};
  ```
"""

OWN = """
kernel sums_f32_x8 on my.wide
  "Its own."
  match  add(X: f32[n] at reg vector 32, Z: f32[n] at reg vector 32, Y: f32[n] at reg vector 32)
  cost   1
  emit   ```
    {{ Y[0] }} = {{ X[0] }} + {{ Z[0] }};
  ```
"""


def machine(name: str, base: str, lanes: int, more: str = "") -> str:
    """A target with vectors of f32, and perhaps more primitives."""
    block = BLOCK.replace('load "*', f'{more} load "*') if more else BLOCK
    return (MACHINE + block).format(name=name, base=base, lanes=lanes, width=4 * lanes)


def targets(*texts: str) -> dict[str, Target]:
    """Those of these texts, beside the shipped ones."""
    return dict(load_definitions([Source("some.mtarget", "".join(texts))]).targets)


def named(target: Target, start: str) -> dict[str, str]:
    """Kernels whose names begin so, with the targets that they are on."""
    return {k.name: k.target for k in target.kernels if k.name.startswith(start)}


def test_each_width_has_a_kernel_on_the_first_target_with_such_vectors() -> None:
    """With all that extend it; targets without vectors have none."""
    found = targets(SUMS, machine("my.wide", "my.narrow", 8), machine("my.narrow", "c.scalar", 4))
    assert {"sums_f32_x4": "my.narrow"} == named(found["my.narrow"], "sums")
    both = {"sums_f32_x4": "my.narrow", "sums_f32_x8": "my.wide"}
    assert both == named(found["my.wide"], "sums")
    assert {} == named(found["c.scalar"], "sums")
    (kernel,) = (k for k in found["my.wide"].kernels if k.name == "sums_f32_x8")
    assert [32, 32, 32] == [o.vector for o in kernel.match.operands]


def test_it_is_there_once_the_primitives_are_that_its_template_uses() -> None:
    """Those that a target adds to inherited ones may be what was missing."""
    text = SUMS.replace("vector.add(", "vector.sub(")
    wide, more = machine("my.wide", "c.scalar", 8), machine("my.more", "my.wide", 8, 'sub "-"')
    found = targets(text, more, wide)
    assert {} == named(found["my.wide"], "sums")
    assert {"sums_f32_x8": "my.more"} == named(found["my.more"], "sums")


@pytest.mark.parametrize("call", ["added(vector, X[0], Z[0])", "added(x=X[0], z=Z[0], by=vector)"])
def test_what_macros_use_of_vectors_must_be_there(call: str) -> None:
    """Whatever the parameter is called."""
    macro = 'macro added(by, x, z) on c.scalar "A sum." emit ```{{ by.sub(x, z) }}```\n'
    text = macro + SUMS.replace("vector.add(X[0], Z[0])", call)
    wide, more = machine("my.wide", "c.scalar", 8), machine("my.more", "my.wide", 8, 'sub "-"')
    found = targets(text, more, wide)
    assert {} == named(found["my.wide"], "sums")
    assert {"sums_f32_x8": "my.more"} == named(found["my.more"], "sums")


def test_registers_must_hold_the_vectors() -> None:
    """Of the kernel's type: 16 numbers of f32 are there only to be made of bytes."""
    more = 'primitives u8 x 16 on my.wide { type "bytes" }' + BLOCK.format(name="my.wide", lanes=16)
    found = targets(SUMS, machine("my.wide", "c.scalar", 4), more)["my.wide"]
    assert {"sums_f32_x4": "my.wide"} == named(found, "sums")
    assert {"vector_x4", "vector_x16"} == set(named(found, "vector"))


@pytest.mark.parametrize("on", ["my.wide", "my.wider"])
def test_a_target_may_have_another_one_in_its_place(on: str) -> None:
    """So has what extends it, and its base does not."""
    wide, wider = machine("my.wide", "c.scalar", 8), 'target my.wider extends my.wide "Some." { }'
    found = targets(OWN.replace("my.wide", on), SUMS, wide, wider)
    assert {"sums_f32_x8": on} == named(found["my.wider"], "sums")
    assert {"sums_f32_x8": "my.wide"} == named(found["my.wide"], "sums")
    (kernel,) = (k for k in found[on].kernels if k.name == "sums_f32_x8")
    assert kernel.doc == "Its own."
