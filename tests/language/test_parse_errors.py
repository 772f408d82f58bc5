"""Syntax errors: each class with its place, its text and its advice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from morello.language import syntax
from morello.language.diagnostics import Diagnostic, DiagnosticsError
from morello.language.grammars import Kind
from morello.language.parse import parse_rules, parse_spec, parse_target
from morello.language.source import Source
from morello.language.syntax import MAX_DEPTH, MAX_ERRORS, MAX_REREAD
from morello.language.syntax_advice import ADVICE

PARSERS: dict[Kind, Callable[[Source], object]] = {
    "rules": parse_rules,
    "target": parse_target,
    "mspec": parse_spec,
}

RULE = 'rule r "." match f: op '


def errors(kind: Kind, text: str) -> list[Diagnostic]:
    with pytest.raises(DiagnosticsError) as caught:
        PARSERS[kind](Source("test", text))
    return caught.value.diagnostics


@dataclass(frozen=True)
class Case:
    """A text with one error; ``at`` is the text that the span covers."""

    kind: Kind
    text: str
    code: str
    place: str
    at: str
    message: str
    help: str = ""


CASES = (
    # a token out of place: what was expected, in words
    Case(
        "rules", "rulex a", "E003", "1:1", "rulex",
        "expected 'op', 'rule' or the end of the file, found 'rulex'",
        "did you mean 'rule'?",
    ),
    Case(
        "rules", f"{RULE}\n wher a yield f", "E003", "2:2", "wher",
        "expected ',', 'choose', 'cost', 'except', 'where' or 'yield', found 'wher'",
        "did you mean 'where'?",
    ),
    Case(
        "rules", f"{RULE} yield", "E003", "1:30", "",
        "expected 'accumulating', 'consuming', 'for', 'ordered', 'parallel', 'pipelined', "
        "'prepack', 'producing', 'serial', 'with', '{' or a name, found the end of the file",
    ),
    Case(
        "rules", f"{RULE} where a * * b yield f", "E003", "1:35", "*",
        "expected an expression, found '*'",
    ),
    Case(
        "rules", f"{RULE} where (a b) yield f", "E003", "1:34", "b",
        "expected an operator or ')', found 'b'",
    ),
    Case(
        "rules", "op g(X: T[2.5 * i]) -> Y: T[i] { Y[i] = 1 }", "E003", "1:11", "2.5",
        "expected ']', a name or a whole number, found '2.5'",
    ),
    Case(
        "target", "target t { level l { capcity 4 } }", "E003", "1:22", "capcity",
        "expected 'arguments', 'cache', 'capacity', 'capacity_unit', 'coefficient', 'line', 'not', "
        "'streams', 'vector' or '}', "
        "found 'capcity'",
        "did you mean 'capacity'?",
    ),
    Case(
        "target", 'target t { emitter "x" }', "E003", "1:20", '"x"',
        "expected a name, found the text \"x\"",
    ),
    Case(
        "target", "target t { coefficient a = b", "E003", "1:28", "b",
        "expected a number, found 'b'",
        'a coefficient has a value, the word cycles and a text: coefficient NAME = 1 cycles "..."',
    ),
    Case(
        "mspec", "spec s() { input a: f32[4] layout (0, 1.5) }", "E003", "1:39", "1.5",
        "expected a whole number, found '1.5'",
    ),
    # advice for what was found
    Case(
        "rules", f"{RULE} where a = b yield f", "E003", "1:33", "=",
        "expected an operator, ',', 'cost' or 'yield', found '='", "compare with '=='",
    ),
    Case(
        "rules", f"{RULE} where a < b < c yield f", "E003", "1:37", "<",
        "expected an operator, ',', 'cost' or 'yield', found '<'",
        "comparisons do not chain: write 'a < b and b < c'",
    ),
    Case(
        "rules", "// a comment", "E003", "1:1", "//",
        "expected 'op', 'rule' or the end of the file, found '//'",
        "comments begin with '#'",
    ),
    Case(
        "mspec", "\n  kernel k", "E003", "2:3", "kernel",
        "expected 'spec', 'target' or the end of the file, found 'kernel'",
        "'kernel' belongs in a .mtarget file",
    ),
    Case(
        "mspec", "spec s(N = 8) { y = silu(x) + x }", "E003", "1:29", "+",
        "expected ';', 'input', 'local', 'output', 'weight', '}' or a name, found '+'",
        "operators are calls: y = add(silu(x), x); arithmetic needs subscripts: y[i] = ...",
    ),
    Case(
        "mspec", "spec s() { y[i] = x[i] ** 2 }", "E003", "1:25", "*",
        "expected an expression, found '*'",
        "there is no operator for powers: write x * x, or exp(a * log(x)) where x > 0",
    ),
    Case(
        "mspec", "spec s() {\n  input s: f32 # one\n  output y: f32[]\n}", "E003", "2:15", "",
        "expected '[', found 'output'",
        "a shape follows the element type, f32[M, K]; that of a single number is f32[]",
    ),
    Case(
        "mspec", "spec s() { input s: f32; output y: f32[] }", "E003", "1:24", ";",
        "expected '[', found ';'",
        "a shape follows the element type, f32[M, K]; that of a single number is f32[]",
    ),
    # characters and texts
    Case(
        "rules", f"{RULE} where a && b", "E004", "1:33", "&", "'&' has no meaning here",
        "write 'and'",
    ),
    Case(
        "mspec", "spec s() { y[i] = x[i] & 15 }", "E004", "1:24", "&", "'&' has no meaning here",
        "write 'and'; of whole numbers, x % 16 is the low 4 bits",
    ),
    Case(
        "mspec", "spec größe() {}", "E004", "1:8", "ö", "'ö' has no meaning here",
        "names are made of a-z, A-Z, 0-9 and '_'",
    ),
    Case(
        "mspec", "spec\u00a0s() {}", "E004", "1:5", "\u00a0", "U+00A0 has no meaning here",
        "use a plain space",
    ),
    Case(
        "rules", "rule r 'text'", "E004", "1:8", "'", "''' has no meaning here",
        "texts stand in double quotes",
    ),
    Case("rules", "$", "E004", "1:1", "$", "'$' has no meaning here"),
    Case(
        "rules", 'rule r "text\n match f: op', "E005", "1:8", '"text', "this text is not closed",
        "close it with '\"' on the same line",
    ),
    Case(
        "target", 'kernel k on t "." match any op (any[] at l) cost 1 emit ```\n a', "E005", "1:57",
        "```", "this template is not closed", "close it with ```",
    ),
    # what a grammar cannot see
    Case(
        "rules", f"{RULE} where 1e999 yield f", "E006", "1:31", "1e999",
        "this number is too large",
    ),
    Case(
        "target", "target t { page 9999999999999 GiB }", "E006", "1:17", "9999999999999 GiB",
        "this number is too large",
    ),
    Case(
        "mspec", f"spec s(M = {'9' * 5000}) {{ }}", "E006", "1:12", "9" * 5000,
        "this number is too large",
    ),
    Case("target", "target t { page 4 page 8 }", "E008", "1:19", "page 8", "'page' is given twice"),
    Case(
        "target", "target t { level l { cache; line 4; cache } }", "E008", "1:37", "cache",
        "'cache' is given twice",
    ),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.message[:60])
def test_error(case: Case) -> None:
    """One error, at this place, in these words, with this advice."""
    [found] = errors(case.kind, case.text)
    span = found.span
    assert (case.code, case.message, case.help) == (found.code, found.message, found.help)
    assert f"test:{case.place}" == str(span)
    assert case.at == case.text[span.start : span.end]


def test_nesting() -> None:
    """What would exhaust the stack of later stages is refused here."""
    [found] = errors("rules", f"{RULE} where {'-' * 5000}a yield f")
    assert ("E007", f"nested more than {MAX_DEPTH} deep") == (found.code, found.message)
    assert found.help == "split it into smaller parts"


def test_parentheses_are_no_nesting() -> None:
    text = f"{RULE} where {'(' * 5000}a{')' * 5000} yield f"
    assert parse_rules(Source("test", text)) == parse_rules(
        Source("test", f"{RULE} where a yield f")
    )


# --------------------------------------------------------------------------- advice

EXAMPLES = [
    pytest.param(kind, advice, example, id=f"{kind}: {example}")
    for kind, table in ADVICE.items()
    for advice, examples in table
    for example in examples
]


@pytest.mark.parametrize(("kind", "advice", "example"), EXAMPLES)
def test_advice(kind: Kind, advice: str, example: str) -> None:
    """Every broken example of the table gets the advice that it stands for."""
    assert advice == errors(kind, example)[0].help


# --------------------------------------------------------------------------- several errors


def test_every_declaration_is_looked_at() -> None:
    """One error for each broken declaration; good ones between them make none."""
    text = f"""
{RULE} yield f
rule no_text match f: op yield f
op good() -> Y: T[] {{ Y[] = 1 }}
{RULE} where x
{RULE} where $ yield f
kernel k on t
{RULE} yield g(
"""
    found = errors("rules", text)
    assert [f"{d.span}: {d.message}" for d in found] == [
        "test:3:14: expected a text in quotes, found 'match'",
        "test:6:1: expected an operator, ',', 'cost' or 'yield', found 'rule'",
        "test:6:31: '$' has no meaning here",
        "test:7:1: expected 'op', 'rule' or the end of the file, found 'kernel'",
        "test:8:33: expected an expression or ')', found the end of the file",
    ]


def test_keywords_in_templates_are_no_declarations() -> None:
    """Recovery does not take C for a declaration."""
    kernel = 'kernel k on t "." match any op (any[] at l) cost {} emit ```\nop x\nrule y\n```\n'
    found = errors("target", kernel.replace("{}", "1 1") + kernel.replace("{}", "1"))
    assert [str(d.span) for d in found] == ["test:1:52"]


def test_errors_are_limited() -> None:
    assert len(errors("rules", "rule ?\n" * 3 * MAX_ERRORS)) == MAX_ERRORS


WORDS = [
    "\n",
    *[
        "rule",
        "op",
        "spec",
        "target",
        "kernel",
        "primitives",
        "function",
        "match",
        "yield",
        "where",
        "cost",
        "emit",
        "level",
        "input",
        "for",
        "at",
    ],
    *[
        '"s"',
        "f",
        "a",
        "1",
        "2.5",
        "KiB",
        ":",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        ";",
        ",",
        "=",
        "+=",
        "...",
        "->",
        "not",
        "```",
        '"',
        "#",
        "$",
    ],
]


def problems(kind: Kind, text: str) -> list[Diagnostic]:
    try:
        PARSERS[kind](Source("test", text))
    except DiagnosticsError as error:
        return error.diagnostics
    return []


@given(st.sampled_from(list(PARSERS)), st.lists(st.sampled_from(WORDS), max_size=30))
def test_any_text_parses_or_is_diagnosed(kind: Kind, words: list[str]) -> None:
    """No text makes anything but diagnostics, each inside the text."""
    text = " ".join(words)
    for problem in problems(kind, text):
        assert problem.message
        assert 0 <= problem.span.start <= problem.span.end <= len(text)


def test_many_errors_in_a_large_file_take_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not read once for each error; a small file is read to its end all the same."""
    read: list[int] = []
    attempt = syntax._attempt

    def counted(lark: Lark, text: str) -> tuple[Tree[Token] | None, UnexpectedInput | None]:
        read.append(len(text.lstrip()))
        return attempt(lark, text)

    monkeypatch.setattr(syntax, "_attempt", counted)
    wrong, right = "spec s(M 8) {}\n", "spec s(M = 8) { input x: f32[M]; output y: f32[M] }\n"
    assert 5 == len(errors("mspec", (wrong + right) * 5))
    read.clear()
    assert 1 == len(errors("mspec", wrong * 5 + right * 3_000))
    assert sum(read[1:]) <= MAX_REREAD
    assert 5 == len(errors("mspec", right * 2_000 + wrong * 5))
