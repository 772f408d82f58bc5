"""Operators and rules: every construct with its exact tree."""

from __future__ import annotations

import pytest

from morello.language import ast
from morello.language.parse import parse_rules
from morello.language.source import Source
from tests.language.shapes import (
    AT,
    apply,
    attribute,
    binary,
    block,
    call,
    dim,
    element,
    group,
    index,
    name,
    number,
    reapply,
    tensor,
)

f, d, t, X, level = (name(text) for text in ("f", "d", "t", "X", "level"))


def parse(text: str) -> ast.RulesFile:
    return parse_rules(Source("test.mrules", text))


def rule(
    match: str = "f: op", clauses: str = "", result: str = "f", doc: str = "Sentence."
) -> ast.RuleDecl:
    [found] = parse(f'rule r "{doc}"\n match {match}\n {clauses}\n yield {result}\n').rules
    return found


# --------------------------------------------------------------------------- operators


def test_operator() -> None:
    text = """
        op matmul(A: T[b..., m, k], B: U[b..., k, n]) -> C: V[b..., m, n]
          "A product."
        {
          C[b..., m, n] += A[b..., m, k] * B[b..., k, n]   # a comment
        }
    """
    left = element("A", group("b"), dim("m"), dim("k"))
    right = element("B", group("b"), dim("k"), dim("n"))
    target = element("C", group("b"), dim("m"), dim("n"))
    expected = ast.OperatorDecl(
        name="matmul",
        name_span=AT,
        doc="A product.",
        inputs=(
            tensor("A", "T", group("b"), dim("m"), dim("k")),
            tensor("B", "U", group("b"), dim("k"), dim("n")),
        ),
        scalars=(),
        output=tensor("C", "V", group("b"), dim("m"), dim("n")),
        statements=(ast.Statement(target, "+=", binary(left, "*", right), span=AT),),
        span=AT,
    )
    assert ast.RulesFile((expected,), ()) == parse(text)


def test_operator_without_inputs_but_with_scalars() -> None:
    [found] = parse("op fill(; value, other) -> Y: T[i...] { Y[i...] = value }").operators
    expected = (ast.Scalar("value", span=AT), ast.Scalar("other", span=AT))
    assert ("", (), expected) == (found.doc, found.inputs, found.scalars)


def test_operator_with_inputs_and_scalars() -> None:
    [found] = parse("op g(X: f32[h + 2*r]; slope = other) -> Y: f32[] { Y[] = slope }").operators
    assert (tensor("X", "f32", index(("h", 1), ("r", 2))),) == found.inputs
    assert (ast.Scalar("slope", name("other"), span=AT),) == found.scalars
    assert tensor("Y", "f32") == found.output


@pytest.mark.parametrize("update", ["=", "+=", "max=", "min="])
@pytest.mark.parametrize("separator", ["\n", ";", "; "])
def test_statements(update: str, separator: str) -> None:
    """Statements stand on lines of their own or are separated by ';'."""
    statement = f"Y[i] {update} max(X[i], 0)"
    text = f"op g(X: T[i]) -> Y: T[i] {{ {statement}{separator}{statement}{separator} }}"
    value = call("max", element("X", dim("i")), number(0))
    expected = ast.Statement(element("Y", dim("i")), update, value, span=AT)
    assert (expected, expected) == parse(text).operators[0].statements


INDICES = {
    "2 * i + j": ast.Index((("i", 2), ("j", 1)), span=AT),
    "s * i + j": ast.Index((("i", "s"), ("j", 1)), span=AT),
    "i * s": ast.Index((("i", "s"),), span=AT),
    "i * x": ast.Index((("x", "i"),), span=AT),
    "s + i": ast.Index((("i", 1),), low=(("s", 1),), span=AT),
    "s + i + t": ast.Index((("i", 1),), low=(("s", 1),), high=(("t", 1),), span=AT),
    "2 * s + i + t + j + s * t": ast.Index(
        (("i", 1), ("j", 1)), low=(("s", 2), ("t", 1)), high=(("t", "s"),), span=AT
    ),
    "s": ast.Index((("s", 1),), span=AT),
}


@pytest.mark.parametrize("text", INDICES)
def test_scalars_in_indices(text: str) -> None:
    """Before a dimension a factor, added before or after the dimensions a margin."""
    [found] = parse(f"op g(X: T[{text}]; s, t) -> Y: T[i] {{ Y[i] = X[{text}] }}").operators
    assert (INDICES[text],) == found.inputs[0].indices
    assert ast.Element("X", (INDICES[text],), span=AT) == found.statements[0].value


def test_what_a_declaration_says_of_sizes_and_of_the_rest() -> None:
    meaning = "{ Y[s + i] = X[i] elsewhere s }"
    text = f"op g(X: T[i]; s) -> Y: T[s + i] tileable i, j where size(i) == s {meaning}"
    [found] = parse(text).operators
    assert (name("i"), name("j")) == found.tileable
    assert (binary(call("size", name("i")), "==", name("s")),) == found.sizes
    assert name("s") == found.statements[0].elsewhere


# --------------------------------------------------------------------------- rules: match


def matched(
    kind: str, operator: str | None = None, *exceptions: str, **flags: bool
) -> ast.MatchOperator:
    accumulating, parallel = flags.get("accumulating", False), flags.get("parallel", False)
    excepted = tuple(name(e) for e in exceptions)
    return ast.MatchOperator("f", kind, operator, accumulating, parallel, excepted, span=AT)


MATCHES = {
    "f: op": matched("op"),
    "f: elementwise op": matched("elementwise"),
    "f: copy": matched("named", "copy"),
    "f: accumulating op": matched("op", accumulating=True),
    "f: parallel op": matched("op", parallel=True),
    "f: parallel accumulating matmul": matched("named", "matmul", parallel=True, accumulating=True),
    "f: op except copy": matched("op", None, "copy"),
    "f: elementwise op except copy, fill": matched("elementwise", None, "copy", "fill"),
}


@pytest.mark.parametrize("text", MATCHES)
def test_match(text: str) -> None:
    found = rule(text)
    assert (MATCHES[text], ()) == (found.match, found.operands)


@pytest.mark.parametrize("text", MATCHES)
def test_match_with_operands(text: str) -> None:
    """The names after 'except' end where an operand begins."""
    found = rule(f"{text}, X: operand of f, Z: operand of f")
    operands = tuple(ast.MatchOperand(variable, "f", "operand", span=AT) for variable in "XZ")
    assert (MATCHES[text], operands) == (found.match, found.operands)


def test_span_of_a_match() -> None:
    """It reaches to the last exception, not to the operands."""
    span = rule("f: op except copy, fill, X: operand of f").match.span
    assert span.source.text[span.start : span.end] == "f: op except copy, fill"


# --------------------------------------------------------------------------- rules: clauses


def test_clauses() -> None:
    found = rule(
        clauses="choose d in dims(f), t in sizes(d) where t > 1, g(d) cost steps(d, t) * x"
    )
    assert (
        ast.Choice("d", call("dims", f), span=AT),
        ast.Choice("t", call("sizes", d), span=AT),
    ) == found.choices
    assert (binary(t, ">", number(1)), call("g", d)) == found.guards
    assert binary(call("steps", d, t), "*", name("x")) == found.cost
    assert (found.name, found.doc) == ("r", "Sentence.")


def test_absent_clauses() -> None:
    found = rule()
    assert (found.choices, found.guards, found.cost) == ((), (), None)


def test_text_with_quotes() -> None:
    assert rule(doc=r"A \"copy\" \\ more").doc == 'A "copy" \\ more'


# --------------------------------------------------------------------------- rules: results


def loop(body: ast.Block, *, parallel: bool = False, pipelined: bool = False) -> ast.ForLoop:
    return ast.ForLoop(d, t, parallel, body, pipelined, span=AT)


def place(
    body: ast.Block,
    layout: ast.Expr | None = None,
    vector: ast.Expr | None = None,
    dtype: ast.Expr | None = None,
    expanded: ast.Expanded | None = None,
) -> ast.With:
    return ast.With("Y", "X", level, dtype, layout, vector, body, expanded, span=AT)


RESULTS = {
    "f": block(reapply("f")),
    "f;": block(reapply("f")),
    "{ f; }": block(reapply("f")),
    "accumulating f": block(reapply("f", accumulating=True)),
    "accumulating serial f": block(reapply("f", accumulating=True, serial=True)),
    "f[X := Y, Z := W]": block(reapply("f", ("X", "Y"), ("Z", "W"))),
    "serial f[X := Y] if g(f)": block(
        reapply("f", ("X", "Y"), serial=True, condition=call("g", f))
    ),
    "g()": block(apply("g")),
    "copy(X, f.out) if a or b": block(
        apply("copy", X, attribute(f, "out"), condition=binary(name("a"), "or", name("b")))
    ),
    "fill(f.out, identity(f)); accumulating f": block(
        apply("fill", attribute(f, "out"), call("identity", f)),
        reapply("f", accumulating=True),
    ),
    "accumulating g(X)": block(apply("g", X, accumulating=True)),
    "g(f.X[i, j + 2 * k, b...], f.out, f.s)": block(
        apply(
            "g",
            ast.View(
                attribute(f, "X"),
                (dim("i"), index(("j", 1), ("k", 2)), group("b")),
                span=AT,
            ),
            attribute(f, "out"),
            attribute(f, "s"),
        )
    ),
    "for d step t { f }": block(loop(block(reapply("f")))),
    "prepack copy(X, Y)": block(apply("copy", name("X"), name("Y"), prepack=True)),
    "ordered copy(X, Y)": block(apply("copy", name("X"), name("Y"), ordered=True)),
    "parallel for d step t { f; f }": block(loop(block(reapply("f"), reapply("f")), parallel=True)),
    "pipelined for d step t { f; f }": block(
        loop(block(reapply("f"), reapply("f")), pipelined=True)
    ),
    "with Y = X expanded over d step t at level layout layout { f }": block(
        place(block(reapply("f")), name("layout"), expanded=ast.Expanded(d, t, span=AT))
    ),
    "with Y = X at level { f }": block(place(block(reapply("f")))),
    "with Y = X at level layout layout { f }": block(place(block(reapply("f")), name("layout"))),
    "with Y = X at level vector 4 { f }": block(place(block(reapply("f")), None, number(4))),
    "with Y = X at level layout layout vector vector { f }": block(
        place(block(reapply("f")), name("layout"), name("vector"))
    ),
    "with Y = X at level dtype X.dtype layout layout { f }": block(
        place(
            block(reapply("f")),
            name("layout"),
            dtype=ast.Attribute(name("X"), "dtype", span=AT),
        )
    ),
    "with Y = X at level dtype dtype { f }": block(place(block(reapply("f")), dtype=name("dtype"))),
    "for d step t { with Y = X at level { f }; f }": block(
        loop(block(place(block(reapply("f"))), reapply("f")))
    ),
}


@pytest.mark.parametrize("text", RESULTS)
def test_result(text: str) -> None:
    assert RESULTS[text] == rule(result=text).result


def test_words_of_the_language_as_variables() -> None:
    """Rules may well call a level 'level' and a matched operator 'op'."""
    text = "op: op, operand: operand of op"
    clauses = "choose level in nearer(operand.level), vector in vectors(operand, level)"
    found = rule(text, clauses, "op[operand := level]")
    assert found.match.variable == "op"
    assert (ast.MatchOperand("operand", "op", "operand", span=AT),) == found.operands
    assert tuple(choice.variable for choice in found.choices) == ("level", "vector")
    assert block(reapply("op", ("operand", "level"))) == found.result


def test_order_and_spans_of_declarations() -> None:
    """Operators and rules may be mixed; a name's span is that of the name alone."""
    first = 'rule a "." match f: op yield f'
    text = f'{first}\nop g() -> Y: T[] {{ Y[] = 1 }}\nrule b "." match f: g yield f\n'
    file = parse(text)
    assert tuple(r.name for r in file.rules) == ("a", "b")
    assert tuple(o.name for o in file.operators) == ("g",)
    assert (file.rules[1].name_span.line, file.rules[1].name_span.column) == (3, 6)
    assert (file.operators[0].span.line, file.operators[0].span.column) == (2, 1)
    span = file.rules[0].span
    assert text[span.start : span.end] == first


def test_windows_line_ends() -> None:
    assert rule() == parse('rule r "Sentence."\r\n match f: op\r\n yield f\r\n').rules[0]


def test_nothing_is_an_empty_file() -> None:
    assert ast.RulesFile((), ()) == parse("# nothing\n")
