"""Parsing: the text of a file to its syntax tree, or all of its syntax errors.

Names, kinds and shapes are not looked at here; that is the checker's work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from lark import Token, Tree

from morello.language import ast, spec_ast, target_ast
from morello.language.build_common import Builder
from morello.language.build_rules import rules_file
from morello.language.build_spec import spec_file
from morello.language.build_target import target_file
from morello.language.grammars import Kind
from morello.language.old_words import old_words, reading, warnings
from morello.language.source import Source, Span
from morello.language.syntax import parse_tree
from morello.records import replace

File = TypeVar("File")


def parse_rules(source: Source) -> ast.RulesFile:
    """Parse an ``.mrules`` file: operators and rewrite rules.

    Raises:
        DiagnosticsError: every syntax error of the file.
    """
    words = old_words(source.text, "rules")
    with reading(words):
        return replace(_parse(source, "rules", rules_file), warnings=warnings(source, words))


def parse_target(source: Source) -> target_ast.TargetFile:
    """Parse an ``.mtarget`` file: targets, primitives and microkernels.

    Raises:
        DiagnosticsError: every syntax error of the file.
    """
    words = old_words(source.text, "target")
    with reading(words):
        return replace(_parse(source, "target", target_file), warnings=warnings(source, words))


def parse_spec(source: Source) -> spec_ast.SpecFile:
    """Parse an ``.mspec`` file: at least one Spec, and perhaps its target.

    Raises:
        DiagnosticsError: every syntax error of the file.
    """
    return _parse(source, "mspec", _specs)


def _parse(source: Source, kind: Kind, build: Callable[[Builder, Tree[Token]], File]) -> File:
    builder = Builder(source, in_spec=kind == "mspec")
    result = build(builder, parse_tree(source, kind))
    builder.errors.raise_if_any()
    return result


def _specs(builder: Builder, tree: Tree[Token]) -> spec_ast.SpecFile:
    result = spec_file(builder, tree)
    if not result.specs:
        span = result.target.span if result.target else Span(builder.source, 0, 0)
        advice = "declare one: spec NAME(M = 64) { ... }"
        builder.errors.error("E002", "this file declares no spec", span, help=advice)
    return result
