"""Machines that exist only here: so small that limits bite and that every Spec can be enumerated.

They are read by the real parser and checks, and are used with the shipped operators and rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from morello.checking.targets import check_targets
from morello.definitions import Definitions, load_definitions
from morello.ir.target import Level, Target
from morello.language.diagnostics import Collector
from morello.language.parse import parse_target
from morello.language.source import Source
from morello.records import replace
from morello.rewriting.context import Context

COEFFICIENTS = """
  coefficient loop_step    = 1 cycles    "one iteration of a loop"                # manual
  coefficient fork_join    = 7 cycles    "entering and leaving a parallel loop"   # manual
  coefficient scalar_load  = 0.5 cycles  "one load of an element"                 # manual
  coefficient scalar_op    = 0.75 cycles "one operation on an element"            # manual
  coefficient vector_load  = 1 cycles    "one load of a vector"                   # manual
  coefficient vector_store = 1.25 cycles "one store of a vector"                  # manual
  coefficient masked_store = 3 cycles    "one store of a row's tail"              # manual
  coefficient vector_op    = 0.5 cycles  "one operation on a vector"              # manual
"""

MEMORY = """
  level mem { line 8
    coefficient fetch         = 3 cycles    "a line"                              # manual
    coefficient fetch_strided = 5 cycles    "a line, rows apart"                  # manual
    coefficient fetch_paged   = 11 cycles   "a line, rows a page apart"           # manual
    coefficient store         = 2 cycles    "a line"                              # manual
    coefficient store_strided = 4.5 cycles  "a line, rows apart"                  # manual
    coefficient store_paged   = 9.25 cycles "a line, rows a page apart"           # manual
  }
"""

KERNELS = """
primitives f32 x 1 on {name} {{
  type "float"; constant "{{0}}"
  add "({{0}} + {{1}})" scalar_op; mul "({{0}} * {{1}})" scalar_op
  max "max({{0}}, {{1}})" scalar_op
  cast_s32 "((float){{0}})" scalar_op
}}

primitives s32 x 1 on {name} {{
  type "int"; constant "{{0}}"
  add "({{0}} + {{1}})" scalar_op; mul "({{0}} * {{1}})" scalar_op
  max "max({{0}}, {{1}})" scalar_op
  cast_f32 "((int){{0}})" scalar_op
}}

primitives s32 x 2 on {name} {{
  type "int2"
}}

primitives f32 x 2 on {name} {{
  type "float2"; constant "all({{0}})"
  add "add({{0}}, {{1}})" vector_op; max "max({{0}}, {{1}})" vector_op
}}

kernel element on {name}
  "One iteration of any operator."
  match  any op (any[...] at {memory} or reg layout any vector {scalar})
  cost   arithmetic(f) + scalar_load
  emit   definition

kernel load_x2 on {name}
  "A row to registers."
  match  copy(X: f32[..., n] at {memory}{panels}, Y: f32[..., n] at reg vector 8)
  where  n % 2 == 0 or free(reg) >= 1
  cost   fetch(X, {inner}) + ceil_div(n, 2) * vector_load
  emit   definition

kernel store_x2 on {name}
  "A row from registers."
  match  copy(X: f32[..., n] at reg vector 8, Y: f32[..., n] at {memory}{panels})
  cost   store(Y, {inner}) + n // 2 * vector_store + (masked_store if n % 2 != 0)
  emit   definition

kernel vector_x2 on {name}
  "A row of any elementwise operator in registers."
  match  pointwise op (f32[..., n] at reg vector 8)
  cost   ceil_div(n, 2) * arithmetic(f)
  emit   definition

kernel multiply_x2 on {name}
  "One element times a row of vectors, added to a row of vectors."
  match  accumulating matmul(A: f32[..., 1, 1] at {nearest} layout any,
                             B: f32[..., 1, n] at reg{panels} vector 8,
                             C: f32[..., 1, n] at reg vector 8)
  where  free(reg) >= 1
  cost   scalar_load + ceil_div(n, 2) * vector_op
  emit   definition
"""

OUTER = """
kernel outer_x2 on {name}
  "A packed column of two elements times a row of one vector, added to two vectors."
  match  accumulating matmul(A: f32[..., 2, 1] at {nearest} layout (1, 0),
                             B: f32[..., 1, n] at reg vector 8, C: f32[..., 2, n] at reg vector 8)
  where  n <= 2
  cost   scalar_load + vector_op
  emit   definition
"""

# A cache of two capacity units of two lines, registers of one width. Rows of two elements are
# paged.
CACHED = f"""
target tiny.cached
  "A cache that holds four lines."
{{
  emitter none
  sizes 1, 2
  page 8
  {MEMORY}
  level near {{ capacity 32; capacity_unit 16; line 8; cache }}
  level reg {{ capacity 3 vectors; vector 8; not addressable }}
  {COEFFICIENTS}
}}
{
    KERNELS.format(
        name="tiny.cached",
        memory="near or mem",
        nearest="near",
        inner="near",
        scalar=8,
        panels=" panels 2",
    )
}
"""

# Buffers instead of a cache, where contiguity matters too, so that panels are tried; sizes that
# divide each other badly.
BUFFERED = f"""
target tiny.buffered
  "A small memory that programs fill themselves."
{{
  emitter none
  sizes 1, 3
  page 12
  {MEMORY}
  level pad {{ capacity 24; capacity_unit 8; line 8
    coefficient fetch         = 1 cycles    "a line"                              # manual
    coefficient fetch_strided = 1.5 cycles  "a line, rows apart"                  # manual
    coefficient store_strided = 2.5 cycles  "a line, rows apart"                  # manual
  }}
  level reg {{ capacity 3 vectors; vector 8; not addressable }}
  {COEFFICIENTS}
}}
{
    KERNELS.format(
        name="tiny.buffered",
        memory="pad or mem",
        nearest="pad",
        inner="reg",
        scalar=8,
        panels=" panels 3",
    )
}
"""

# Memory and registers only, of two widths, and a kernel that wants another layout.
FLAT = f"""
target tiny.flat
  "Memory and three registers."
{{
  emitter none
  sizes 1, 2
  page 8
  {MEMORY}
  level reg {{ capacity 3 vectors; vector 4, 8; not addressable }}
  {COEFFICIENTS}
}}
{KERNELS.format(name="tiny.flat", memory="mem", nearest="mem", inner="reg", scalar=4, panels="")}
{OUTER.format(name="tiny.flat", nearest="mem")}
"""


@cache
def installed() -> Definitions:
    """The shipped definitions, read once."""
    return load_definitions()


TEXTS = {"tiny.cached": CACHED, "tiny.buffered": BUFFERED, "tiny.flat": FLAT}

TINY = tuple(TEXTS)


def load_target(text: str) -> Target:
    """The one target of a text, which has to be right."""
    collector = Collector()
    found = check_targets(
        [parse_target(Source("tiny.mtarget", text))], installed().operators, collector
    )
    collector.raise_if_any()
    (only,) = found.values()
    return only


@cache
def target(name: str) -> Target:
    """A target of this file or an installed one."""
    return load_target(TEXTS[name]) if name in TEXTS else installed().targets[name]


@cache
def context(name: str) -> Context:
    """A target with the shipped operators and rules."""
    return Context(target(name), installed().operators, installed().rules)


def with_capacities(of: Target, capacities: Mapping[str, int]) -> Target:
    """The target with other capacities, in capacity units, of the levels named."""

    def changed(level: Level) -> Level:
        return replace(level, capacity=capacities.get(level.name, level.capacity))

    return replace(of, levels=tuple(map(changed, of.levels)))
