"""Spec files: every construct with its exact tree."""

from __future__ import annotations

import pytest

from morello.language import ast, spec_ast
from morello.language.diagnostics import DiagnosticsError
from morello.language.parse import parse_spec
from morello.language.source import Source
from tests.language.shapes import AT, binary, name, number


def parse(text: str) -> spec_ast.SpecFile:
    return parse_spec(Source("test.mspec", text))


def spec(body: str = "", head: str = "s()") -> spec_ast.SpecDecl:
    [found] = parse(f"spec {head} {{ {body} }}").specs
    return found


def tensor(
    role: str,
    text: str,
    *shape: ast.Expr,
    order: tuple[int, ...] | None = None,
    panel: ast.Panel | None = None,
    strides: tuple[ast.Expr, ...] | None = None,
) -> spec_ast.TensorDecl:
    return spec_ast.TensorDecl(role, text, "f32", shape, order, panel, strides, span=AT)


def use(result: str, operator: str, *arguments: str, **scalars: ast.Expr) -> spec_ast.OperatorUse:
    operands = tuple(name(argument) for argument in arguments)
    call = spec_ast.OperatorCall(operator, AT, operands, tuple(scalars.items()), span=AT)
    return spec_ast.OperatorUse(result, call, span=AT)


def test_file() -> None:
    text = """
        target x86.avx512   # a comment

        spec two(M = 2 * 8, N) threads M // 8 {
          input  a: f32[M, N + 1]
          weight b: f32[N]  layout (0) panels 16
          output c: f32[M, N] layout (1, 0) panels (8, 4);
          input d: f32[M, N] stride (2 * N, 1)
          t = add(a, b)
          c = scale(t, by = 0.5, shift = M)
        }
        spec empty() { }
    """
    m, n = name("M"), name("N")
    two = spec_ast.SpecDecl(
        name="two",
        name_span=AT,
        parameters=(
            spec_ast.SpecParameter("M", binary(number(2), "*", number(8)), span=AT),
            spec_ast.SpecParameter("N", None, span=AT),
        ),
        threads=binary(m, "//", number(8)),
        tensors=(
            tensor("input", "a", m, binary(n, "+", number(1))),
            tensor("weight", "b", n, order=(0,), panel=16),
            tensor("output", "c", m, n, order=(1, 0), panel=(8, 4)),
            tensor("input", "d", m, n, strides=(binary(number(2), "*", n), number(1))),
        ),
        uses=(use("t", "add", "a", "b"), use("c", "scale", "t", by=number(0.5), shift=m)),
        span=AT,
    )
    empty = spec_ast.SpecDecl("empty", AT, (), None, (), (), span=AT)
    assert spec_ast.SpecFile(name("x86.avx512"), (two, empty)) == parse(text)


def test_a_size_that_calls_bring() -> None:
    """It has a limit, and no default."""
    m = spec_ast.SpecParameter("M", None, binary(number(2), "*", name("N")), span=AT)
    n = spec_ast.SpecParameter("N", number(8), span=AT)
    assert (n, m) == parse("spec s(N = 8, M <= 2 * N) { }").specs[0].parameters


def test_an_output_needs_no_type() -> None:
    """An input does: what would follow from it is nowhere else."""
    untyped = spec_ast.TensorDecl("output", "y", None, (), None, None, span=AT)
    for body in ("output y y = relu(x)", "output y; y = relu(x)", "y = relu(x) output y"):
        found = spec(body)
        assert ((untyped,), (use("y", "relu", "x"),)) == (found.tensors, found.uses)
    for role in ("input", "weight", "local"):
        with pytest.raises(DiagnosticsError, match=r"expected ':'|an element type and a shape"):
            spec(f"{role} x; y = relu(x)")


def test_no_target() -> None:
    assert parse("spec s() { }").target is None


USES = {
    "o = relu(x)": use("o", "relu", "x"),
    "o = zero()": use("o", "zero"),
    "o = fill(value = 1)": use("o", "fill", value=number(1)),
    "o = op(x, slope = 0.1)": use("o", "op", "x", slope=number(0.1)),
    "spec = target(copy, layout, input = 1)": use(
        "spec", "target", "copy", "layout", input=number(1)
    ),
}


@pytest.mark.parametrize("text", USES)
def test_use(text: str) -> None:
    assert (USES[text],) == spec(text).uses


def test_tensor_of_rank_0() -> None:
    assert (tensor("output", "o"),) == spec("output o: f32[]").tensors


@pytest.mark.parametrize("separator", ["\n", ";", " "])
def test_separators(separator: str) -> None:
    """Items stand on lines of their own or are separated by ';'."""
    found = spec(separator.join(["input a: f32[4]", "output b: f32[4]", "t = g(a)", "b = h(t)"]))
    assert tuple(tensor.name for tensor in found.tensors) == ("a", "b")
    assert tuple(use.result for use in found.uses) == ("t", "b")


def test_spans() -> None:
    text = "target a.b\nspec s(M = 3) {\n  o = relu(x)\n}\n"
    file = parse(text)
    assert file.target is not None
    [found] = file.specs
    [use] = found.uses
    assert isinstance(use, spec_ast.OperatorUse)
    spans = file.target.span, found.span, found.name_span, use.call.operator_span
    assert [str(span) for span in spans] == [
        "test.mspec:1:8",
        "test.mspec:2:1",
        "test.mspec:2:6",
        "test.mspec:3:7",
    ]
    assert text[file.target.span.start : file.target.span.end] == "a.b"
    assert text[found.span.start :].strip() == text[found.span.start : found.span.end]


def test_file_without_a_spec() -> None:
    with pytest.raises(DiagnosticsError) as caught:
        parse("\ntarget a.b\n")
    [error] = caught.value.diagnostics
    assert (error.code, error.message) == ("E002", "this file declares no spec")
    assert str(error.span) == "test.mspec:2:8"
    assert error.help == "declare one: spec NAME(M = 64) { ... }"
