"""Specs: goals, parameters, and errors that depend on what is given from outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from morello.checking.sizes import MAX_ELEMENTS
from morello.checking.specs import check_spec
from morello.errors import MorelloError
from morello.ir.dtypes import F32, S32
from morello.language import spec_ast
from morello.language.diagnostics import Collector
from morello.language.load import load_source
from morello.language.parse import parse_spec
from tests.checking.fail_cases import shipped_operators
from tests.checking.test_operators import CONVOLUTION
from tests.checking.texts import errors_of, goal, operators, shown

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.mspec"))

MATMUL = """
    target x86.avx512

    spec product(M, N = 2 * M, K = floor(N / 3)) threads M - 1 {
      weight b: f32[K, N] layout (1, 0)
      output c: f32[M, N]
      input  a: f32[M, K]
      c = matmul(a, b)
    }
"""

CONV = """
    spec convolve(H = {h}, R = 3) {{
      input  x: f32[1, 8, H, 10]
      input  w: f32[4, 8, R, 3]
      output y: f32[1, 4, 5, 8]
      y = conv2d(x, w)
    }}
"""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_are_right(path: Path) -> None:
    """Each spec of each example is a goal as it stands."""
    tree = parse_spec(load_source(path))
    found = [check_spec(tree, s.name, {}, shipped_operators(), Collector()) for s in tree.specs]
    assert [s.name for s in tree.specs] == [g.name for g in found]


def test_goal() -> None:
    """Tensors keep the order of the text; operands have that of the operator."""
    found = goal(MATMUL, M=6)
    assert (found.name, found.target, found.threads) == ("product", "x86.avx512", 5)
    assert [(t.name, t.role, t.shape, t.layout.order) for t in found.tensors] == [
        ("b", "weight", (4, 12), (1, 0)),
        ("c", "output", (6, 12), (0, 1)),
        ("a", "input", (6, 4), (0, 1)),
    ]
    assert [t.name for t in found.outputs] == ["c"]
    (only,) = found.computations
    assert [t.name for t in only.operands] == ["a", "b", "c"]
    assert ([t.name for t in only.inputs], only.output.name) == (["a", "b"], "c")
    assert dict(zip(only.operation.dims, only.sizes, strict=True)) == {"m": 6, "n": 12, "k": 4}
    assert not only.operation.accumulating


def test_outputs_without_a_type() -> None:
    """What computes them tells it; the order is that of the declarations."""
    text = """
        spec two(N) {
          input  a: u8[4, N]
          input  b: s8[N, 3]
          output least
          output h: s32[4, 3] layout (1, 0)
          output far
          far   = abs(h)
          least = row_min(far)
          h     = matmul(a, b)
        }"""
    (early,) = errors_of(text, N=2)
    assert "S031" == early.code
    first, middle, last = text.splitlines()[-4:-1]
    found = goal("\n".join([*text.splitlines()[:-4], last, first, middle, "}"]), N=2)
    typed = [("least", S32, (4,)), ("h", S32, (4, 3)), ("far", S32, (4, 3))]
    assert typed == [(t.name, t.dtype, t.shape) for t in found.outputs]
    assert [(0,), (1, 0), (0, 1)] == [t.layout.order for t in found.outputs]
    assert ["h", "far", "least"] == [c.output.name for c in found.computations]


def test_an_output_without_a_type_may_be_as_large_as_any() -> None:
    """And no larger."""
    text = "spec s(N) { input x: f32[N, 1]; input z: f32[1, 256]; output y; y = matmul(x, z) }"
    assert goal(text, N=2**23).outputs[0].elements == MAX_ELEMENTS
    (found,) = errors_of(text, N=2**24)
    assert ("S007", "'y' has 4294967296 elements; the most is 2147483648") == (
        found.code,
        found.message,
    )


def test_batched() -> None:
    """A group takes the dimensions that are there."""
    text = """
        spec batched {
          input  a: f32[2, 3, 4, 5]
          input  b: f32[2, 3, 5, 6]
          output c: f32[2, 3, 4, 6]
          c = matmul(a, b)
        }
    """.replace("batched {", "batched() {")
    (found,) = goal(text).computations
    assert found.operation.group_rank == 2
    assert found.sizes == (2, 3, 4, 6, 5)


def test_output_dtype_is_declared() -> None:
    """A dtype variable of the output alone takes what the spec says."""
    text = "spec widen() { input x: s32[3]; output y: f32[3]; y = copy(x) }"
    (found,) = goal(text).computations
    assert [t.dtype for t in found.operands] == [S32, F32]


def test_scalars() -> None:
    """Scalars are evaluated like sizes, but may be any number."""
    text = "spec half(N = 3) { output y: f32[N]; y = fill(value = 1 / 2 - N) }"
    (found,) = goal(text).computations
    assert found.operation.scalars == (("value", -2.5),)


def test_one_tensor_for_two_inputs() -> None:
    """An input may be used twice."""
    text = "spec double() { input x: f32[3]; output y: f32[3]; y = add(x, x) }"
    (found,) = goal(text).computations
    assert [t.name for t in found.operands] == ["x", "x", "y"]


def test_zero_rank() -> None:
    """A group may be empty."""
    text = "spec one() { input x: f32[]; output y: f32[]; y = relu(x) }"
    (found,) = goal(text).computations
    assert (found.sizes, found.output.elements, found.output.bytes) == ((), 1, 4)


def test_convolution() -> None:
    """A sum of dimensions has the extent that it reaches: 1 + 2 * 4 + 2 along h, 8 + 2 along w."""
    (found,) = goal(CONV.format(h=11), None, operators(CONVOLUTION)).computations
    sizes = dict(zip(found.operation.dims, found.sizes, strict=True))
    assert sizes == {"n": 1, "co": 4, "h": 5, "w": 8, "ci": 8, "r": 3, "s": 3}


def test_convolution_that_does_not_fit() -> None:
    """Elements that nothing reaches, or that are not there, are an error with both numbers."""
    with pytest.raises(MorelloError) as caught:
        goal(CONV.format(h=12), None, operators(CONVOLUTION))
    expected = "'conv2d' reaches 11 elements where there is 12 in dimension 3 of 'x'"
    assert expected in str(caught.value)


SCALARS = operators("""
    op stretched(X: T[i]; low, high = 6 - low, factor = 1 / high) -> Y: T[low + i + high] {
      Y[low + i + high] = X[i] elsewhere factor
    }
""")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("low = 2", (2, 4, 0.25)),
        ("low = 2, high = 8", (2, 8, 0.125)),
        ("factor = 3, low = 1", (1, 5, 3)),
    ],
)
def test_defaults_of_scalars(given: str, expected: tuple[float, ...]) -> None:
    """They are made of the scalars before them, given or not."""
    rows = 5 + int(expected[0] + expected[1])
    text = f"spec s() {{ input x: f32[5]; output y: f32[{rows}]; y = stretched(x, {given}) }}"
    (found,) = goal(text, None, SCALARS).computations
    assert tuple(value for _, value in found.operation.scalars) == expected


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("high = 1", "'stretched' needs a value for its scalar 'low'"),
        ("low = 9", "scalar 'high' of 'stretched' is -3"),
        ("low = 6", "scalar 'factor' by default divides by zero"),
    ],
)
def test_defaults_that_are_wrong(given: str, error: str) -> None:
    """One error for what is not given, or does not go with what is."""
    text = f"spec s() {{ input x: f32[5]; output y: f32[11]; y = stretched(x, {given}) }}"
    with pytest.raises(MorelloError) as caught:
        goal(text, None, SCALARS)
    assert error in str(caught.value)
    assert str(caught.value).count("error") == 1


def test_defines_replace_defaults() -> None:
    """And a default that uses a parameter sees the value that was given."""
    (found,) = goal(MATMUL, M=2, N=9).computations
    assert found.sizes == (2, 9, 3)


def test_unknown_define() -> None:
    """The error stands at the spec, with the nearest parameter."""
    (diagnostic,) = errors_of(MATMUL, M=2, NN=3)
    expected = ("S003", 4, 6, "spec 'product' has no parameter 'NN' to define")
    assert shown(diagnostic) == expected
    assert diagnostic.help == "did you mean 'N'?"


def test_missing_parameter() -> None:
    """A parameter without any value says how to give one, and is the only error."""
    (diagnostic,) = errors_of(MATMUL)
    assert shown(diagnostic) == ("S004", 4, 14, "parameter 'M' has no value")
    assert "-D M=512" in diagnostic.help


@pytest.mark.parametrize("value", [0, -4, 2**24 + 1, 2**62])
def test_sizes_out_of_range(value: int) -> None:
    """Zero, negative and huge sizes are refused with the limit."""
    text = "spec s(N) { input x: f32[N]; output y: f32[N]; y = relu(x) }"
    found = errors_of(text, N=value)
    bound = "at least 1" if value < 1 else "at most 16777216"
    messages = {f"size 1 of '{t}' is {value}; it must be {bound}" for t in "xy"}
    assert {d.message for d in found} == messages
    assert {d.code for d in found} == {"S006"}


def test_largest_tensor() -> None:
    """The limit itself is allowed."""
    text = "spec s(N) { input x: f32[32, N]; output y: f32[32, N]; y = relu(x) }"
    assert goal(text, N=2**24 // 2).tensors[0].elements <= MAX_ELEMENTS
    assert goal(text.replace("32, N", "128, N"), N=2**24).tensors[0].elements == MAX_ELEMENTS
    found = errors_of(text.replace("32, N", "129, N"), N=2**24)
    assert [d.code for d in found] == ["S007", "S007"]


def test_overflow_is_an_error() -> None:
    """A number that cannot be computed is a diagnostic."""
    text = "spec s(N) { input x: f32[N * N]; output y: f32[exp(N)]; y = relu(x) }"
    assert [d.code for d in errors_of(text, N=2**62)] == ["S005", "S005"]


TWO = """
    spec first()  { input x: f32[3]; output y: f32[3]; y = relu(x) }
    spec second() { input x: f32[4]; output y: f32[4]; y = relu(x) }
"""


@pytest.mark.parametrize(
    ("statement", "code", "help"),
    [
        ("y[i] = x[i] * kk", "K001", "known: N, i"),
        ("y[i] = max(x[i], -inf)", "K001", "-3.4028235e38 to"),
        ("y[i] = x[i] elsewhere inf", "K001", "to 3.4028235e38"),
        ("y[i] = softmax(x[i])", "K002", "'softmax' is an operator, and operators take whole"),
        ("y[i] = cosh(x[i])", "K002", "did you mean 'cos'?"),
        ("u[i] = x[i] + 1; y = relu(x)", "S022", "remove it, or make it an output: output u"),
        ("local u: f64[N]; y = relu(x)", "S010", "element types are f32, f16, bf16, s32, s8, u8"),
    ],
)
def test_advice(statement: str, code: str, help: str) -> None:
    """It says what can be written instead."""
    found = errors_of(f"spec s(N = 8) {{ input x: f32[N]; output y: f32[N]; {statement} }}")
    assert help in {d.code: d.help for d in found}[code]


def test_choice_of_a_spec() -> None:
    """With several specs one has to be named, and the names are listed."""
    (found,) = goal(TWO, "second").computations
    assert found.sizes == (4,)
    (unchosen,) = errors_of(TWO)
    assert shown(unchosen)[:3] == ("S001", 2, 6)
    assert unchosen.help == "choose one of: first, second"
    (unknown,) = errors_of(TWO, "third")
    assert shown(unknown) == ("S001", 2, 6, "the file has no spec 'third'")


def test_no_spec_at_all() -> None:
    """A tree without specs, which no text gives, is an error all the same."""
    with pytest.raises(MorelloError, match="the file has no spec"):
        check_spec(spec_ast.SpecFile(None, ()), None, {}, shipped_operators(), Collector())


def test_mismatch_names_both_places() -> None:
    """Both sizes, both tensors, and the shape of the second one."""
    text = """
        spec s() {
          input  a: f32[2, 3]
          input  b: f32[4, 5]
          output c: f32[2, 5]
          c = matmul(a, b)
        }
    """
    (diagnostic,) = errors_of(text)
    expected = "dimension 'k' of 'matmul' is 3 in dimension 2 of 'a' but 4 in dimension 1 of 'b'"
    assert shown(diagnostic) == ("S036", 6, 17, expected)
    assert diagnostic.label == "4 here, 3 in 'a'"
    assert diagnostic.help == "the shape of 'b' is [4, 5]"
