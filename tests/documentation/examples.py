"""What the checks say of the examples in pages, each by itself beside what comes with Morello."""

from __future__ import annotations

from functools import cache

from morello.checking.operators import check_operators
from morello.checking.rules import check_rules
from morello.checking.targets import check_targets
from morello.definitions import Definitions, load_definitions, spec_errors
from morello.definitions.check import parse_file
from morello.language import ast, target_ast
from morello.language.diagnostics import Collector, Diagnostic, DiagnosticsError
from morello.language.parse import parse_spec
from morello.language.source import Source
from morello.rewriting.progress import check_progress
from tests.documentation.blocks import PROJECT, Block

SIZE = 16
"""Of a parameter of a spec without a default, where the example is a good one."""


def diagnostics_of(block: Block, name: str) -> list[Diagnostic]:
    """All errors of a spec or of definitions, in order.

    Args:
        block: The example. It may replace what comes with Morello by something of its name.
        name: What diagnostics call its file.
    """
    source = Source(f"{name}.{block.language}", block.text)
    collector = Collector()
    try:
        if block.language == "mspec":
            collector.diagnostics += _of_specs(source, load_definitions(), block.word != "bad")
        elif block.language == "mrules":
            _check_rules(source, load_definitions(), collector)
        else:
            _check_targets(source, load_definitions(), collector)
        collector.raise_if_any()
    except DiagnosticsError as error:
        return error.diagnostics
    return []


def _of_specs(source: Source, definitions: Definitions, fill: bool) -> list[Diagnostic]:
    file = parse_spec(source)
    parameters = [p for spec in file.specs for p in spec.parameters]
    missing = {p.name: SIZE for p in parameters if p.default is None}
    return spec_errors(file, definitions, missing if fill else {})


def _check_rules(source: Source, definitions: Definitions, collector: Collector) -> None:
    file = parse_file(source)
    assert isinstance(file, ast.RulesFile)
    operators = {**definitions.operators, **check_operators([file], collector)}
    coefficients = {c for t in definitions.targets.values() for c in t.coefficients}
    rules = check_rules([file], operators, collector, coefficients)
    if not collector.diagnostics:
        check_progress(operators, rules, collector)


def _check_targets(source: Source, definitions: Definitions, collector: Collector) -> None:
    file = parse_file(source)
    assert isinstance(file, target_ast.TargetFile)
    named = (base for base in definitions.targets if base in source.text)
    bases = {base for name in named for base in definitions.targets[name].lineage}
    needed = [tree for tree in _shipped() if _targets_of(tree) <= bases]
    check_targets([*needed, file], definitions.operators, collector)


@cache
def _shipped() -> tuple[target_ast.TargetFile, ...]:
    """Syntax trees of the targets that come with the project."""
    paths = sorted(PROJECT.glob("targets/*/*.mtarget"))
    trees = [parse_file(Source(path.name, path.read_text())) for path in paths]
    return tuple(tree for tree in trees if isinstance(tree, target_ast.TargetFile))


def _targets_of(tree: target_ast.TargetFile) -> set[str]:
    """Targets that a file declares, or adds something to."""
    declared = {target.name for target in tree.targets}
    primitives = {item.target for item in tree.primitives}
    functions = {item.target for item in tree.functions}
    definitions = {item.target for item in tree.definitions}
    macros = {item.target for item in tree.macros}
    kernels = {item.target for item in tree.kernels}
    return declared | primitives | functions | definitions | macros | kernels
