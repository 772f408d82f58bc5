"""Small definitions written in tests, parsed and checked together with the shipped ones."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent

from morello.checking.operators import check_operators
from morello.checking.rules import check_rules
from morello.checking.specs import check_spec
from morello.checking.targets import check_targets
from morello.ir.goal import Goal
from morello.ir.operators import Operator
from morello.ir.rule import Rule
from morello.ir.target import Target
from morello.language import target_ast
from morello.language.diagnostics import Collector, Diagnostic, DiagnosticsError
from morello.language.parse import parse_rules, parse_spec, parse_target
from morello.language.source import Source
from tests.checking.fail_cases import shipped_operators


def source(text: str, suffix: str) -> Source:
    """A text as a file."""
    return Source(f"test.{suffix}", dedent(text))


def operators(text: str) -> dict[str, Operator]:
    """The operators of a text, which has to be right."""
    collector = Collector()
    found = check_operators([parse_rules(source(text, "mrules"))], collector)
    collector.raise_if_any()
    return found


def rules(text: str, known: Mapping[str, Operator] | None = None) -> tuple[Rule, ...]:
    """The rules of a text, which has to be right but need not make progress."""
    collector = Collector()
    every = shipped_operators() if known is None else known
    found = check_rules([parse_rules(source(text, "mrules"))], every, collector)
    collector.raise_if_any()
    return found


def target_file(text: str) -> target_ast.TargetFile:
    """A parsed file of targets."""
    return parse_target(source(text, "mtarget"))


def targets(*texts: str) -> dict[str, Target]:
    """The targets of texts, which have to be right."""
    collector = Collector()
    found = check_targets([target_file(t) for t in texts], shipped_operators(), collector)
    collector.raise_if_any()
    return found


def goal(
    text: str,
    name: str | None = None,
    known: Mapping[str, Operator] | None = None,
    **defines: int,
) -> Goal:
    """The goal of a spec."""
    every = shipped_operators() if known is None else known
    return check_spec(parse_spec(source(text, "mspec")), name, defines, every, Collector())


def errors_of(text: str, name: str | None = None, **defines: int) -> list[Diagnostic]:
    """What is wrong with a spec."""
    try:
        goal(text, name, None, **defines)
    except DiagnosticsError as error:
        return error.diagnostics
    return []


def shown(diagnostic: Diagnostic) -> tuple[str, int, int, str]:
    """Code, line, column and message of a diagnostic."""
    span = diagnostic.span
    return diagnostic.code, span.line, span.column, diagnostic.message
