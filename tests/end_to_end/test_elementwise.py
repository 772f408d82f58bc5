"""Elementwise operators: each on each target, against formulas that are not its declaration."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
import pytest

import morello
from morello.definitions import load_definitions
from morello.ir.spec import Family
from morello.language.source import Source
from morello.reference.inputs import KINDS
from morello.rewriting.alternatives import Alternative
from morello.rewriting.context import Context
from morello.rewriting.enumeration import alternatives
from morello.search.planning import families

from .kernels import Array, small_machines, to_run

TARGETS = ("x86.scalar", "x86.avx2", "x86.avx512")

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _tanh_gelu(x: Array) -> Array:
    inner = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    return np.asarray(0.5 * x * (1 + np.tanh(inner)))


EXPECTED: Mapping[str, Callable[[Array], Array]] = {
    "scale(x, factor = -1.5)": lambda x: -1.5 * x,
    "shift(x, amount = 0.25)": lambda x: x + 0.25,
    "clamp(x, low = -1, high = 2)": lambda x: np.clip(x, -1, 2),
    "leaky_relu(x, slope = 0.125)": lambda x: np.where(x > 0, x, x / 8),
    "square(x)": lambda x: x**2,
    "reciprocal(x)": lambda x: x**-1.0,
    "rsqrt(x)": lambda x: x**-0.5,
    "floor(x)": np.floor,
    "round(x)": np.rint,
    "exp(x)": lambda x: math.e**x,
    "log(x)": lambda x: np.log2(x) * np.log(2),
    "tanh(x)": lambda x: np.expm1(2 * x) / (np.expm1(2 * x) + 2),
    "log1p(x)": lambda x: np.log2(1 + x) * np.log(2),
    "expm1(x)": lambda x: math.e**x - 1,
    "erfc(x)": lambda x: np.asarray(1 - _erf(x)),
    "erf(x)": lambda x: np.asarray(1 - np.vectorize(math.erfc)(x)),
    "sin(x)": lambda x: np.imag(np.exp(1j * x)),
    "cos(x)": lambda x: np.real(np.exp(1j * x)),
    "atan(x)": lambda x: np.angle(1 + 1j * x),
    "sigmoid(x)": lambda x: 0.5 + 0.5 * np.tanh(x / 2),
    "silu(x)": lambda x: x / 2 * (1 + np.tanh(x / 2)),
    "gelu(x)": lambda x: x / 2 * (1 + _erf(x / np.sqrt(2))),
    "gelu_tanh(x)": _tanh_gelu,
    "softplus(x)": lambda x: np.logaddexp(x, 0),
}
"""Uses of operators of one tensor, and what they give in double precision."""


@cache
def _compiled(target: str) -> morello.Kernel:
    """All uses, one after the other, each with an output of its own."""
    lines = ["input x: f32[37]"]
    for number, use in enumerate(EXPECTED):
        lines += [f"output y{number}: f32[37]", f"y{number} = {use}"]
    return to_run(
        morello.compile,
        "\n".join(["spec used() {", *lines, "}"]),
        target=target,
        definitions=small_machines(),
    )


def _computed(use: str, target: str, x: Array) -> Array:
    """What the program for a target says."""
    results: tuple[Array, ...] = _compiled(target).function.results(x)
    return results[list(EXPECTED).index(use)]


def _values() -> Array:
    """Numbers of both signs, none of them where the declarations cancel or overflow."""
    rng = np.random.default_rng(4)
    return np.asarray(rng.uniform(0.01, 6, 37) * rng.choice([-1, 1], 37), np.float32)


@pytest.mark.sample(6)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("use", EXPECTED)
def test_an_operator(use: str, target: str) -> None:
    """It agrees with the formula to some ulp, NaN in the same places."""
    x = _values()
    with np.errstate(invalid="ignore"):
        expected = EXPECTED[use](x.astype(np.float64))
    np.testing.assert_allclose(_computed(use, target, x), expected, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_they_pass_verification(target: str) -> None:
    """Each of them, on every kind of inputs."""
    assert _compiled(target).verify().elements == len(KINDS) * len(EXPECTED) * 37


def _logistic(x: float) -> float:
    return math.exp(x) / (1 + math.exp(x))


TAILS: Mapping[str, tuple[float, Mapping[float, float]]] = {
    "softplus(x)": (3, {x: math.log1p(math.exp(x)) for x in (-87.0, -30.0, -17.0, -2.8, -0.5)}),
    "sigmoid(x)": (3, {x: _logistic(x) for x in (-95.0, -89.0, -88.5, -17.0, -2.5)}),
    "silu(x)": (4, {x: x * _logistic(x) for x in (-91.0, -88.5, -17.0, -2.5)}),
    "gelu(x)": (
        # The argument of erfc is rounded: its slope makes z^2 ulp of that, besides its own.
        40,
        {x: x / 2 * math.erfc(-x / math.sqrt(2)) for x in (-7.0, -5.0, -4.0, -3.0, -1.0)},
    ),
}
"""Ulp that are allowed, and what is right where 1 + x would lose what is small."""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("use", TAILS)
def test_tails(use: str, target: str) -> None:
    """Small results keep their digits, and are not 0 while a float can hold them."""
    allowed, right = TAILS[use]
    x = np.resize(np.array([*right], np.float32), 37)
    exact = np.resize(np.array([*right.values()]), 37)
    found = _computed(use, target, x).astype(np.float64)
    spacing = np.maximum(np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64), 2.0**-149)
    few_digits = x < -87  # of the exponential, which is subnormal, and multiplied by x
    limits = np.where(few_digits, np.maximum(np.abs(x), allowed), allowed)
    assert (np.abs(found - exact) / spacing <= limits).all()
    assert (found != 0).all()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("condition", ["u8", "s32", "f32"])
def test_select(condition: str, target: str) -> None:
    """Where the condition is 0 of either sign the third operand; NaN is not 0."""
    kernel = to_run(
        morello.compile,
        f"spec s() {{ input c: {condition}[5, 7]\n input x: f32[5, 7]\n"
        " input z: f32[5, 7]\n output y: f32[5, 7]\n y = select(c, x, z) }",
        target=target,
    )
    assert kernel.verify().elements > 0
    rng = np.random.default_rng(5)
    dtype = kernel.signature.inputs[0].dtype.numpy
    c = rng.integers(0, 2, (5, 7)).astype(dtype)
    if condition == "f32":
        c[0, :3] = np.nan, -0.0, np.inf
    x, z = rng.random((2, 5, 7), np.float32)
    x[1], z[2] = np.nan, np.nan
    np.testing.assert_array_equal(kernel(c, x, z), np.where(c != 0, x, z))


FAR: Mapping[str, Mapping[float, float]] = {
    "sigmoid(x)": {-200: 0, 200: 1, -np.inf: 0, np.inf: 1},
    "silu(x)": {-200: 0, 200: 200, -3e38: 0, np.inf: np.inf},
    "gelu(x)": {-200: 0, 200: 200, -3e38: 0, 3e38: 3e38, np.inf: np.inf},
    "gelu_tanh(x)": {-200: 0, 200: 200, -3e38: 0, 3e38: 3e38, np.inf: np.inf},
    "softplus(x)": {-200: 0, 200: 200, -np.inf: 0, np.inf: np.inf, 3e38: 3e38},
    "exp(x)": {-200: 0, 200: np.inf, -np.inf: 0, np.inf: np.inf},
    "log(x)": {-0.0: -np.inf, np.inf: np.inf, -1e-45: np.nan, -np.inf: np.nan},
    "tanh(x)": {-200: -1, 200: 1, -np.inf: -1, np.inf: 1},
    "log1p(x)": {-1: -np.inf, np.inf: np.inf, -1.5: np.nan, -np.inf: np.nan, 1e-30: 1e-30},
    "expm1(x)": {-200: -1, 200: np.inf, -np.inf: -1, np.inf: np.inf, -1e-30: -1e-30},
    "erfc(x)": {-200: 2, 200: 0, -np.inf: 2, np.inf: 0, 0: 1},
    "erf(x)": {-200: -1, 200: 1, -np.inf: -1, np.inf: 1},
    "sin(x)": {np.inf: np.nan, -np.inf: np.nan, 0: 0, 1e-30: 1e-30},
    "atan(x)": {np.inf: np.pi / 2, -np.inf: -np.pi / 2, 3e38: np.pi / 2, -1e-30: -1e-30},
    "cos(x)": {np.inf: np.nan, -np.inf: np.nan, 0: 1, 1e-30: 1},
    "clamp(x, low = -1, high = 2)": {-np.inf: -1, np.inf: 2},
    "round(x)": {0.5: 0, 1.5: 2, -2.5: -2, 8388607.5: 8388608, 3e38: 3e38, -np.inf: -np.inf},
    "floor(x)": {-0.5: -1, 1.5: 1, -8388607.5: -8388608, 3e38: 3e38, np.inf: np.inf},
}


@pytest.mark.sample(6)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("use", FAR)
def test_far_from_0(use: str, target: str) -> None:
    """What overflows on the way makes no NaN, and NaN stays one."""
    given = [*FAR[use], np.nan]
    x = np.resize(np.array(given, np.float32), 37)
    expected = np.resize(np.array([*FAR[use].values(), np.nan], np.float32), 37)
    np.testing.assert_array_equal(_computed(use, target, x), expected)


CONDITIONS = """
op conditions(X: T[i...], Z: T[i...]) -> Y: T[i...]
  "Every comparison and every connective, some of them twice."
{
  Y[i...] = (X[i...] if X[i...] < Z[i...] and not X[i...] == 3 else Z[i...])
          + (2 if X[i...] <= Z[i...] or X[i...] != 5 and X[i...] > 1)
          + (X[i...] + 1 if X[i...] >= Z[i...] or X[i...] < Z[i...] and not X[i...] == 3 else 7)
}
"""


@pytest.mark.sample(3)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["f32", "s32", "s8", "u8"])
def test_conditions(dtype: str, target: str) -> None:
    """In every type that has arithmetic: integers of their full range, and NaN."""
    definitions = load_definitions([Source("conditions.mrules", CONDITIONS)])
    text = f"""spec s() {{ input x: {dtype}[131]
      input z: {dtype}[131]
      output y: {dtype}[131]
      y = conditions(x, z) }}"""
    kernel = to_run(morello.compile, text, target=target, definitions=definitions)
    assert kernel.verify().elements > 0
    rng = np.random.default_rng(6)
    kind = kernel.signature.inputs[0].dtype.numpy
    x, z = rng.integers(0, 8, (2, 131)).astype(kind)
    if dtype == "f32":
        x[::9], z[::13] = np.nan, np.nan
    one, two, seven = kind.type(1), kind.type(2), kind.type(7)
    less = (x < z) & (x != 3)
    expected = np.where(less, x, z) + np.where((x <= z) | (x != 5) & (x > 1), two, 0 * two)
    expected = expected + np.where((x >= z) | less, x + one, seven)
    np.testing.assert_array_equal(kernel(x, z), expected.astype(kind))


def test_what_is_written_twice_is_computed_once() -> None:
    """In C, and in what it is predicted to cost."""
    text = 'op {0}(X: T[i...]) -> Y: T[i...] "Once." {{ Y[i...] = {1} }}\n'
    rules = text.format("twice", "exp(X[i...] + 1) / (2 + exp(X[i...] + 1))")
    rules += text.format("once", "exp(X[i...] + 1) / (2 + X[i...])")
    definitions = load_definitions([Source("own.mrules", rules)])
    spec = "spec s() {{ input x: f32[16]\n output y: f32[16]\n y = {}(x) }}"
    costs = []
    for name in ("twice", "once"):
        kernel = morello.compile(spec.format(name), target="x86.avx512", definitions=definitions)
        body = kernel.source[kernel.source.rindex("void s(") :]
        assert body.count("exp_f32_x16(") == 1
        costs.append(kernel.cost)
    assert costs[0] == costs[1]


@pytest.mark.parametrize("target", TARGETS)
def test_sums_of_many_tensors(target: str) -> None:
    """Computed in parts that have registers enough: integers, added exactly."""
    count, size = 40, 21
    inputs = " ".join(f"input x{i}: f32[{size}]" for i in range(count))
    sums = " ".join(f"s{i} = add(s{i - 1}, x{i})" for i in range(2, count - 1))
    text = f"""spec s() {{ {inputs} output y: f32[{size}]
      s1 = add(x0, x1) {sums} y = add(s{count - 2}, x{count - 1}) }}"""
    kernel = to_run(morello.compile, text, target=target, definitions=small_machines())
    values = np.random.default_rng(8).integers(-1000, 1000, (count, size))
    np.testing.assert_array_equal(kernel(*values.astype(np.float32)), values.sum(axis=0))


def test_operands_come_to_registers_of_one_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each may come to vectors or to single numbers, but no kernel takes some of either."""
    explored: list[Family] = []

    def counted(context: Context, family: Family) -> tuple[Alternative, ...]:
        explored.append(family)
        return alternatives(context, family)

    monkeypatch.setattr(families, "alternatives", counted)
    inputs = " ".join(f"input x{i}: f32[21]" for i in range(9))
    sums = " ".join(f"s{i} = add(s{i - 1}, x{i})" for i in range(2, 8))
    text = f"spec s() {{ {inputs} output y: f32[21] s1 = add(x0, x1) {sums} y = add(s7, x8) }}"
    morello.compile(text, target="x86.avx2", memo=morello.Memo())
    sums_of_all = [family for family in explored if len(family.operands) == 10]
    assert 0 < len(sums_of_all) < 150
    vectors = [{o.vector for o in family.operands[:-1]} - {0} for family in sums_of_all]
    assert max(map(len, vectors)) == 1


@pytest.mark.parametrize("operator", ["maximum", "minimum"])
def test_a_tensor_compared_with_itself(operator: str) -> None:
    """Compilers give a warning of such C, and warnings are errors."""
    text = f"""spec s() {{
      input  x: s32[1, 1, 2]
      output y: s32[1, 1, 1, 2]
      t = split_rows(x, width = 2)
      y = {operator}(t, t) }}"""
    kernel = to_run(morello.compile, text, target="x86.avx2", definitions=small_machines())
    np.testing.assert_array_equal(kernel(np.array([[[3, -4]]], np.int32)), [[[[3, -4]]]])


def test_a_sum_compared_with_itself() -> None:
    """In the output's memory."""
    text = """spec s() {
      input  x: s32[1]
      output y: s32[]
      t = row_sum(x)
      y = maximum(t, t) }"""
    assert (
        to_run(morello.compile, text, target="x86.avx2", definitions=small_machines())
        .verify()
        .elements
        > 0
    )
