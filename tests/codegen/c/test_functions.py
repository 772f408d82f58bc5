"""Functions in C that primitives call: how exact they are, and where they stand in a program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import morello
from benchmarks.ulp import Array, Worst, compiled, spec_of, ulps, values, worst
from morello.codegen.c.emitter import CEmitter
from morello.definitions import Definitions, load_definitions
from morello.ir.functions import Function
from morello.ir.primitives import FUNCTION_ULPS
from morello.ir.programs.emitted import EmitOptions
from morello.ir.programs.tree import Program
from morello.ir.target import Primitives, Target
from morello.language.load import load_source
from morello.memo.memo import Memo
from morello.records import replace

from .build import program, tensor
from .definitions import runnable, targets
from .harness import compile_only
from .programs import element_loops, vector_rows

PORTABLE = "portable.vectors"
"""It writes no function itself: all are defined by equations, on the target that it extends."""

CALLED = {"sin", "cos", "atan"}
"""Functions of the C library that no target has for vectors."""

VECTORS = [
    *((PORTABLE, function) for function in FUNCTION_ULPS if function not in CALLED),
    *(
        (target, function.name)
        for target in ("x86.avx2", "x86.avx512")
        for function in targets()[target].functions.values()
        if function.target == target and function.name.partition("_")[0] in FUNCTION_ULPS
    ),
]


PROJECT = Path(__file__).resolve().parents[3]
VECTORS_ANYWHERE = (
    PROJECT / "examples/plugins/portable_vectors/morello_portable_vectors/vectors.mtarget"
)


def _arguments() -> Iterator[Array]:
    """Numbers of every exponent and sign; many where functions change; and special ones."""
    random = np.random.default_rng(7)
    bits = random.integers(0, 1 << 32, 1 << 20, dtype=np.uint32)
    exponents = np.repeat(np.arange(512, dtype=np.uint32) << 23, 1 << 11)
    yield (exponents | bits & 0x7FFFFF).view(np.float32)
    for least, most in ((-104.5, -86.5), (-20, 20), (-1, 1), (0.5, 2), (80, 90)):
        yield random.uniform(least, most, 1 << 20).astype(np.float32)
    special = [0.0, 1.0, 0.75, 1.5, 89.0, 9.1, 3.92, 2.0**-126, 2.0**-149, 2.0**127, 88.722839]
    special += [3.4028235e38, 104.0, 103.97208, 87.336548, np.inf, np.nan, 0.5 * np.log(2)]
    near = [np.nextafter(np.float32(x), np.float32(y)) for x in special for y in (-9e9, x, 9e9)]
    yield np.array([*near, *(-x for x in near)], np.float32)


@cache
def _worst(function: str) -> dict[str, Worst]:
    """On every target; what is right is the same for all of them, and worked out once."""
    kernels = {target: compiled(function, target) for target in runnable()}
    kernels[PORTABLE] = morello.compile(
        spec_of(function), target=PORTABLE, definitions=_portable(), memo=Memo()
    )
    return worst(function, kernels, _arguments())


@cache
def _portable() -> Definitions:
    return load_definitions([load_source(VECTORS_ANYWHERE)])


@pytest.mark.sample(3)
@pytest.mark.parametrize("target", [*runnable(), PORTABLE])
@pytest.mark.parametrize("function", FUNCTION_ULPS)
def test_a_function_is_as_exact_as_stated(target: str, function: str) -> None:
    """In units in the last place, over the whole range; special values are what they should be."""
    found = _worst(function)[target]
    assert found.ulps <= FUNCTION_ULPS[function], found


@pytest.mark.parametrize(("target", "name"), VECTORS)
def test_a_vector_function_is_as_exact_as_its_sentence_says(target: str, name: str) -> None:
    """And that is no more than what is stated for all targets."""
    if target not in (*runnable(), PORTABLE):
        pytest.skip(f"this machine lacks {target}")
    function = name.partition("_")[0]
    if target == PORTABLE:
        doc = _portable().targets[target].primitives["f32", 4].definitions[function].doc
    else:
        doc = targets()[target].functions[name].doc
    said = re.search(r"less than ([\d.]+) ulp", doc)
    assert said is not None
    assert _worst(function)[target].ulps < float(said[1]) <= FUNCTION_ULPS[function]


def test_errors_are_seen() -> None:
    """The measure itself: units at both ends of a binade, below the normal numbers, at the ends."""
    x = np.array([0.0, np.log(1.5), -100.0, 200.0, 200.0, -np.inf, np.nan, 0.0], np.float32)
    with np.errstate(over="ignore"):
        exact = np.exp(x.astype(np.float64)).astype(np.float32)
    right = values("exp", x)
    np.testing.assert_array_less(ulps(exact, right), 0.5 + 1e-9)
    off = exact.copy()
    off[0], off[1] = 1 + 2.0**-22, exact[1] + 2.0**-23
    off[2], off[3], off[4] = exact[2] + 3 * 2.0**-149, np.nan, 3.4028235e38
    off[5], off[6], off[7] = 2.0**-149, 1.0, np.inf
    found = ulps(off, right)
    assert found[0] == 2
    assert abs(found[1] - 1) < 0.6
    assert abs(found[2] - 3) < 0.6
    assert found[4] == 1
    assert found[5] == 1
    assert np.isinf(found[[3, 6]]).all()
    assert ulps(np.array([-1.0]), values("log", np.array([0.0])))[0] == np.inf


# ------------------------------------------------------------------------------- in programs


def _with_functions(target: Target, texts: dict[str, tuple[str, tuple[str, ...]]]) -> Target:
    """The target with functions of its own, the first of which is its ``add``."""
    declaration = next(iter(targets()["x86.avx2"].functions.values())).declaration
    own = {
        name: Function(name, f"Is {name}.", target.name, text, calls, declaration)
        for name, (text, calls) in texts.items()
    }
    first: tuple[str, str | None] = f"{next(iter(own))}({{0}}, {{1}})", None
    entries = {**target.primitives["f32", 1].entries, "add": first}
    primitives = {**target.primitives, ("f32", 1): Primitives("f32", 1, entries)}
    return replace(target, functions=own, primitives=primitives)


def _sums(target: Target, name: str = "f", arguments: tuple[str, str] = ("x", "z")) -> Program:
    x, z = (tensor(n, (4,), role="input") for n in arguments)
    y = tensor("y", (4,), role="output")
    return program(target, [x, z, y], element_loops(target, "add", [x, z, y], 1), name)


OWN = {
    "outer": ("static inline float outer(float a, float b) { return inner(a) + b; }", ("inner",)),
    "inner": ("static inline float inner(float a) { return a; }", ()),
    "unused": ("static inline float unused(float a) { return a; }", ()),
}


def test_functions_stand_once_after_what_they_call(tmp_path: Path) -> None:
    """Those that the program needs, each under its sentence, and no others."""
    code = CEmitter().emit(_sums(_with_functions(targets()["x86.scalar"], OWN)), EmitOptions())
    assert re.findall(r"static inline float (\w+)", code.source) == ["inner", "outer"]
    assert "/* Is inner. */\nstatic inline float inner" in code.source
    compile_only(code, tmp_path)
    again = re.sub(r"\bf(_\w+|\()", r"g\1", code.source)  # two programs in one file
    twice = replace(code, source=code.source + again)
    compile_only(twice, tmp_path)


def test_nothing_in_a_program_is_called_like_a_function(tmp_path: Path) -> None:
    """Neither it, nor an argument of it."""
    target = _with_functions(targets()["x86.scalar"], OWN)
    code = CEmitter().emit(_sums(target, "outer", ("inner", "unused")), EmitOptions())
    assert code.name == "outer_2"
    compile_only(code, tmp_path)


def test_a_program_without_functions_has_none() -> None:
    """Kernels with other primitives bring nothing."""
    made = vector_rows(targets()["x86.avx512"], "mixed", [16], "f32")
    assert "static inline" not in CEmitter().emit(made, EmitOptions()).source


def test_annotations_say_where_a_function_is_declared() -> None:
    """As of kernels."""
    target = targets()["x86.scalar"]
    x, y = tensor("x", (4,), role="input"), tensor("y", (4,), role="output")
    made = program(target, [x, y], element_loops(target, "leaky_relu", [x, y], 1, slope=0.5))
    source = CEmitter().emit(made, EmitOptions(annotate=True)).source
    assert "/* One of two numbers, by a condition that is 0 or 1. (scalar.mtarget:" in source
