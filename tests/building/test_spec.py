"""Specs from Python objects: the tree of the text, the same errors, and where they come from."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import morello
from morello.definitions import Definitions
from morello.errors import MorelloError, UsageError
from morello.language.diagnostics import DiagnosticsError
from morello.language.parse import parse_spec
from morello.language.source import Source

Array = np.ndarray[Any, np.dtype[Any]]

DENSE = """target x86.scalar

spec dense(M = 4, K, B = M // 2 + 1) threads B {
  input  x: f32[M, K - 1]
  weight w: f32[K - 1, 24] layout (1, 0) panels 8
  input  b: f32[24]
  local  h: f32[M, 24]
  output y
  output z: f32[M, 24] layout (1, 0) panels (8, 4)
  h = matmul(x, w)
  add_bias_1 = add_bias(h, b)
  y = relu(add_bias_1)
  z = scale(add_bias_1, factor = -1 / (M + 0.5))
}
"""


def dense() -> morello.SpecBuilder:
    """What `DENSE` says, once."""
    spec = morello.SpecBuilder("dense", target="x86.scalar")
    m, k = spec.size("M", 4), spec.size("K")
    spec.threads = spec.size("B", m // 2 + 1)
    x = spec.input("x", np.float32, (m, k - 1))
    w = spec.weight("w", "f32", (k - 1, 24), layout=(1, 0), panels=8)
    b = spec.input("b", "float32", 24)
    h = spec.local("h", spec.op.matmul(x, w), np.dtype(np.float32), [m, np.int64(24)])
    biased = spec.op.add_bias(h, b)
    spec.output("y", spec.op.relu(biased))
    scaled = spec.apply("scale", biased, factor=-1 / (m + np.float32(0.5)))
    spec.output("z", scaled, "f32", (m, 24), layout=(1, 0), panels=(8, 4))
    return spec


def test_it_is_the_text() -> None:
    """The text, and the tree that parsing it gives; calls are statements, in order."""
    spec = dense()
    assert DENSE == spec.text == str(spec)
    assert parse_spec(Source("dense", DENSE)) == spec._file() == parse_spec(spec.source)


def test_it_is_compiled_as_the_text_is() -> None:
    """The same C for the same sizes, whichever it is given as."""
    spec = morello.SpecBuilder("two", target="x86.scalar", threads=2)
    x = spec.input("x", "s32", (spec.size("M"), 3))
    y = spec.output("y", spec.op.relu(x))
    spec.output("z", spec.op.neg(y), "s32", (5, 3), layout=(1, 0))
    options: dict[str, Any] = {"defines": {"M": 5}, "memo": morello.Memo()}
    kernel = morello.compile(spec, **options)
    assert morello.compile(spec.text, **options).source == kernel.source
    outputs = [(output.name, output.shape) for output in kernel.signature.outputs]
    assert [("y", (5, 3)), ("z", (5, 3))] == outputs
    assert 2 == kernel.goal.threads


def test_arrays_tell_type_shape_and_layout() -> None:
    """Of any order of dimensions, and what is neither in C's order nor needs to be said."""
    spec = morello.SpecBuilder("arrays")
    spec.input("rows", like=np.zeros((2, 3), np.int8))
    spec.input("columns", like=np.zeros((2, 3), np.uint8, order="F"))
    spec.weight("turned", like=np.zeros((2, 3, 4), ml_dtypes.bfloat16).transpose(2, 0, 1))
    spec.input("line", like=np.zeros((1, 5), np.float32)[:, :1].T)
    spec.input("part", like=np.zeros((4, 9), np.float32)[:, 2:5])
    spec.input("one", like=np.zeros((), np.int32))
    assert [
        "  input  rows: s8[2, 3]",
        "  input  columns: u8[2, 3] layout (1, 0)",
        "  weight turned: bf16[4, 2, 3] layout (1, 2, 0)",
        "  input  line: f32[1, 1]",
        "  input  part: f32[4, 3] stride (9, 1)",
        "  input  one: s32[]",
    ] == spec.text.splitlines()[1:-1]


def test_a_layout_from_an_array_is_the_one_that_calls_take() -> None:
    """The kernel takes the very array."""
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4).transpose(1, 2, 0)
    spec = morello.SpecBuilder("positive", target="x86.scalar")
    spec.output("y", spec.op.relu(spec.input("x", like=x - 7)))
    [argument] = morello.compile(spec).signature.inputs
    assert argument.unpack(x - 7).strides == (x - 7).strides


def test_a_size_may_be_brought_by_each_call() -> None:
    spec = morello.SpecBuilder("rows", target="x86.scalar")
    n = spec.size("N", 5)
    rows = spec.size("M", at_most=2 * n)
    spec.output("y", spec.op.relu(spec.input("x", "f32", (rows, n))))
    assert "spec rows(N = 5, M <= 2 * N) {" in spec.text
    kernel = morello.compile_any_size(spec)
    assert kernel.size.limit == 10
    with pytest.raises(morello.UsageError, match="has a default, and each call brings it"):
        spec.size("K", 2, at_most=3)


def test_names_that_nobody_gave_are_free() -> None:
    """They avoid given ones, and a value that is named later has one name everywhere."""
    spec = morello.SpecBuilder("names")
    x = spec.input("relu_1", "f32", 3)
    first = spec.op.relu(x)
    second = spec.op.relu(first)
    assert ["relu_2", "relu_3"] == [first.name, second.name]
    spec.output("y", first)
    assert ["y", "relu_2"] == [first.name, second.name]
    assert "  y = relu(relu_1)\n  relu_2 = relu(y)\n" in spec.text
    assert "<tensor 'y' of spec 'names'>" == repr(first)


numbers = st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False)


@given(numbers, numbers, st.sampled_from("+-*/"), st.booleans())
def test_arithmetic_of_sizes_is_written_as_it_is_meant(
    left: float, right: float, symbol: str, size_first: bool
) -> None:
    """Whatever the numbers, the text has the tree that Python's own precedence made."""
    spec = morello.SpecBuilder("sizes")
    n = spec.size("N", 2)
    x = spec.input("x", "f32", n)
    steps: dict[str, Callable[[Any, Any], Any]] = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a / b,
    }
    inner = steps[symbol](n, left) if size_first else steps[symbol](left, n)
    spec.output("y", spec.op.scale(x, factor=-(inner % 5 - right // inner) - inner))
    assert parse_spec(spec.source) == spec._file()


def test_numbers_of_numpy_leave_arithmetic_to_sizes() -> None:
    """On either side."""
    n = morello.SpecBuilder("sizes").size("N")
    left: Any = np.int64(3)  # its types do not know
    assert ["3 * N", "N + 3"] == [str(left * n), str(n + np.int64(3))]
    assert "<size -N>" == repr(-n)


# ------------------------------------------------------------------------- errors


def line_of(function: Callable[..., object], text: str) -> str:
    """Where in this file a function first says something."""
    lines, first = inspect.getsourcelines(function)
    number = next(number for number, line in enumerate(lines, first) if text in line)
    return f"{__file__}:{number}"


def test_errors_are_those_of_the_text_with_places_in_python() -> None:
    """All of a stage at once; each with the line that Python made it in."""
    spec = morello.SpecBuilder("wrong", target="x86.scalar")
    x = spec.input("x", "f32", (4, 0))
    y = spec.output("y", spec.op.relux(x))
    spec.output("z", spec.op.leaky_relu(y, beta=0.5), "f32", (2, 2))
    with pytest.raises(DiagnosticsError) as caught:
        morello.compile(spec)
    text = str(caught.value)
    here = test_errors_are_those_of_the_text_with_places_in_python
    for code, place in (("S006", '"f32", (4, 0)'), ("S030", "op.relux(x)"), ("S033", "beta=0.5")):
        [shown] = [part for part in text.split("error[") if part.startswith(code)]
        assert f"= from: {line_of(here, place)}\n" in shown
    assert "did you mean 'relu'?" in text
    with pytest.raises(DiagnosticsError) as plain:
        morello.compile(Source("<spec wrong>", spec.text))
    assert "= from" not in str(plain.value)
    assert caught.value.diagnostics == plain.value.diagnostics


def test_what_is_computed_for_nothing_is_said() -> None:
    """A call whose value nothing reads is a statement like any other."""
    spec = morello.SpecBuilder("idle", target="x86.scalar")
    x = spec.input("x", "f32", 4)
    spec.output("y", spec.op.relu(x))
    spec.op.neg(x)
    with pytest.raises(DiagnosticsError, match="'neg_1' is computed, but nothing reads it"):
        morello.compile(spec)


def test_words_of_the_language_are_errors_with_places() -> None:
    """Where the text would mean something else, it is not parsed to something else."""
    spec = morello.SpecBuilder("words", target="x86.scalar")
    spec.output("weight", spec.op.relu(spec.input("input", "f32", 4)))
    with pytest.raises(DiagnosticsError) as caught:
        morello.compile(spec)
    here = test_words_of_the_language_are_errors_with_places
    assert f"from: {line_of(here, 'spec.op.relu(')}" in str(caught.value)


WRONG: dict[str, tuple[Callable[[morello.SpecBuilder, morello.Tensor], object], str, str]] = {
    "name": (lambda s, x: s.input("a b", "f32", 3), "input is 'a b'; expected a name", "letters"),
    "no text": (lambda s, x: s.size(3), "a size is 3; expected a name", "letters"),  # type: ignore[arg-type]
    "dtype": (lambda s, x: s.input("v", np.float64, 3), "no element type 'float64'", "f32 (float"),
    "order": (lambda s, x: s.input("v", ">f4", 3), "no element type '>f4'", "known: f32"),
    "object": (lambda s, x: s.input("v", Source, 3), "no element type", "known: f32"),
    "size": (lambda s, x: s.input("v", "f32", (3, 2.0)), r"size 2 of 'v' is 2\.0", "spec.size"),  # type: ignore[arg-type]
    "truth": (lambda s, x: s.input("v", "f32", True), "size 1 of 'v' is True", "spec.size"),
    "layout": (lambda s, x: s.input("v", "f32", 3, layout="F"), "layout of 'v' is 'F'", "(1, 0)"),  # type: ignore[arg-type]
    "panels": (lambda s, x: s.input("v", "f32", 3, panels="4"), "panels of 'v' is '4'", "int"),  # type: ignore[call-overload]
    "height": (
        lambda s, x: s.input("v", "f32", 3, panels=(4, 2, 2)),  # type: ignore[arg-type]
        "expected their width",
        "(16, 4)",
    ),
    "nothing": (lambda s, x: s.input("v"), "'v' has no dtype", "like=array"),  # type: ignore[call-overload]
    "half": (lambda s, x: s.local("v", s.op.relu(x), "f32"), "'v' has no shape", "both"),
    "gaps": (
        lambda s, x: s.input("v", like=np.zeros((4, 4), np.float32)[:, ::2]),
        "'v' has strides",
        "np.ascontiguousarray(v)",
    ),
    "list": (lambda s, x: s.input("v", like=[1.0]), "like list; expected", "np.asarray(v)"),  # type: ignore[call-overload]
    "twice": (
        lambda s, x: s.input("v", "f32", like=np.zeros(3, np.float32)),  # type: ignore[call-overload]
        "has a type of its own",
        "or like",
    ),
    "array": (lambda s, x: s.op.relu(np.zeros(3)), "operand 1 of 'relu' is ndarray", "spec.input"),  # type: ignore[arg-type]
    "number": (lambda s, x: s.op.add(x, 3), r"operand 2 of 'add' is 3 \(int\)", "by name"),  # type: ignore[arg-type]
    "foreign": (
        lambda s, x: morello.SpecBuilder("other").op.relu(x),
        "operand 1 of 'relu' is <tensor 'x' of spec 'wrong'>",
        "its own tensors",
    ),
    "scalar": (lambda s, x: s.op.scale(x, factor="2"), "'factor' of 'scale' is '2'", "a float"),  # type: ignore[arg-type]
    "scalar's name": (
        lambda s, x: s.op.scale(x, **{"a = 1, b": 2}),
        "a scalar of 'scale' is 'a = 1, b'",
        "letters",
    ),
    "infinite": (lambda s, x: s.op.scale(x, factor=float("inf")), "a finite number", ""),
    "input out": (lambda s, x: s.output("y", x), "output 'y' is 'x' already", "one only"),
    "two names": (
        lambda s, x: s.output("y", s.local("h", s.op.relu(x))),
        "output 'y' is 'h' already",
        "one only",
    ),
    "true": (lambda s, x: morello.SpecBuilder("t", threads=True), "threads is True", "an int"),
    "threads": (lambda s, x: morello.SpecBuilder("t", threads=1.5), "threads is 1.5", "an int"),  # type: ignore[arg-type]
    "target": (lambda s, x: morello.SpecBuilder("t", target="a b"), "target 'a b'", "letters"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_python_gives_wrongly_is_refused_at_once(case: str) -> None:
    """What was found, what was expected, what to do; and the spec stays as it was."""
    call, message, advice = WRONG[case]
    spec = morello.SpecBuilder("wrong")
    x = spec.input("x", "f32", 3)
    declared = spec.text.count("v:")
    with pytest.raises(UsageError, match=message) as caught:
        call(spec, x)
    assert advice in caught.value.help
    assert declared == spec.text.count("v:")


def test_every_error_of_building_is_of_the_one_root() -> None:
    """So that a caller catches one type."""
    assert issubclass(UsageError, MorelloError)
    assert morello.UsageError is UsageError


# ------------------------------------------------------------------------- operators


def test_operators_are_found_by_completion(definitions: Definitions) -> None:
    """Those that are installed, with their declaration and meaning; nothing else is looked up."""
    spec = morello.SpecBuilder("any")
    assert sorted(definitions.operators) == dir(spec.op)
    shown = repr(spec.op.matmul)
    assert shown.startswith("<operator matmul(A: T[b..., m, k], ")
    assert definitions.operators["matmul"].doc in shown
    assert "<operator 'nothing', which is not installed>" == repr(spec.op.nothing)
    for name in ("__array__", "_repr_html_"):
        assert not hasattr(spec.op, name)


def test_any_definitions_may_have_the_operators() -> None:
    """Those that the spec is compiled with."""
    text = 'op half(X: T[i...]) -> Y: T[i...] "Halves." { Y[i...] = X[i...] * 0.5 }'
    definitions = morello.load_definitions([Source("half.mrules", text)])
    spec = morello.SpecBuilder("halves", target="x86.scalar")
    spec.output("y", spec.op.half(spec.input("x", "f32", (2, 3))))
    assert (2, 3) == morello.compile(spec, definitions=definitions).signature.outputs[0].shape


def test_statements_with_subscripts() -> None:
    """Tensors have the names of the spec, whatever the text calls them."""
    spec = morello.SpecBuilder("pairs")
    n = spec.size("N", 8)
    x = spec.input("x", "f32", (n, 5))
    gram = spec.statement("[i, j] += a[i, k] * b[j, k] / N", a=x, b=x)
    spec.output("y", spec.statement("[i] max= g[i, j]", g=spec.op.relu(gram)))
    assert spec.text == (
        "spec pairs(N = 8) {\n  input  x: f32[N, 5]\n  output y\n"
        "  statement_1[i, j] += x[i, k] * x[j, k] / N\n"
        "  relu_1 = relu(statement_1)\n  y[i] max= relu_1[i, j]\n}\n"
    )
    assert parse_spec(spec.source) == spec._file()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[i] += x[i", "is no statement with subscripts"),
        ("= relu(x)", "is no statement with subscripts"),
        ("[i] = x[i, j] } spec t() { y[i] = x[i]", "is no statement with subscripts"),
        ("[i] = z[i, 0]", "'x' is not read in"),
        ("[i] = x[i, 0] * z[i]", "'z' is not given in"),
    ],
)
def test_statements_that_are_none(text: str, message: str) -> None:
    spec = morello.SpecBuilder("wrong")
    x = spec.input("x", "f32", (4, 5))
    with pytest.raises(UsageError, match=message):
        spec.statement(text, x=x)
