"""Files with planted errors: what each line expects, and what the checks say of it.

A line with errors ends in ``#! CODE COLUMN MESSAGE``, once for each of its errors, in order. The
errors of a file are exactly these, in code, line, column and text.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from morello.checking.operators import check_operators
from morello.checking.rules import check_rules
from morello.checking.specs import check_spec
from morello.checking.targets import check_targets
from morello.definitions import check_target_of, load_definitions
from morello.definitions.check import check_files
from morello.definitions.project_files import project_sources
from morello.ir.operators import Operator
from morello.language import ast
from morello.language.diagnostics import Collector, Diagnostic, DiagnosticsError
from morello.language.load import load_source
from morello.language.parse import parse_rules, parse_spec, parse_target
from morello.rewriting.progress import check_progress

MARK = "#!"
DIRECTORY = Path(__file__).parent / "fail"
RULES = Path(__file__).parents[2] / "rules"

Expected = dict[int, list[str]]

CHOSEN: dict[str, tuple[tuple[str | None, dict[str, int]], ...]] = {
    "defined.mspec": (("mean", {}), ("sum", {"K": 3})),
}
"""Files of which a command asks for these specs, with these values of parameters."""


@cache
def shipped_rules() -> tuple[ast.RulesFile, ...]:
    """The rules that come with the project."""
    return tuple(parse_rules(load_source(path)) for path in sorted(RULES.glob("*.mrules")))


@cache
def shipped_operators() -> dict[str, Operator]:
    """The operators that come with the project."""
    collector = Collector()
    operators = check_operators(shipped_rules(), collector)
    collector.raise_if_any()
    return operators


def expected_in(path: Path) -> Expected:
    """What the marks of a file say, by line."""
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    marks = {n: line.split(f" {MARK} ")[1:] for n, line in enumerate(lines, start=1)}
    return {number: found for number, found in marks.items() if found}


def found_in(path: Path) -> Expected:
    """What the checks say of a file, by line, written like the marks."""
    return _by_line(diagnostics_in(path))


def diagnostics_in(path: Path) -> list[Diagnostic]:
    """What the checks say of a file."""
    collector = Collector()
    try:
        CHECKS[path.suffix](path, collector)
        collector.raise_if_any()
    except DiagnosticsError as error:
        return error.diagnostics
    return []


def _by_line(diagnostics: list[Diagnostic]) -> Expected:
    found: Expected = {}
    for diagnostic in diagnostics:
        text = f"{diagnostic.code} {diagnostic.span.column} {diagnostic.message}"
        found.setdefault(diagnostic.span.line, []).append(text)
    return found


def _rules(path: Path, collector: Collector) -> None:
    trees = [*shipped_rules(), parse_rules(load_source(path))]
    operators = check_operators(trees, collector)
    rules = check_rules(trees, operators, collector, coefficients=("loop_step", "fork_join"))
    if path.stem == "progress":
        collector.raise_if_any()
        check_progress(operators, rules, collector)


def _targets(path: Path, collector: Collector) -> None:
    tree = parse_target(load_source(path))
    if path.stem == "emitter":
        check_files([load_source(path)], ["c11"])
    check_targets([tree], shipped_operators(), collector)


def _specs(path: Path, collector: Collector) -> None:
    tree = parse_spec(load_source(path))
    check_target_of(tree, load_definitions(), collector)
    for name, defines in CHOSEN.get(path.name) or [(n, {}) for n in {s.name for s in tree.specs}]:
        own = Collector()
        try:
            check_spec(tree, name, defines, shipped_operators(), own)
        except DiagnosticsError:
            collector.diagnostics += own.diagnostics


def _projects(path: Path, collector: Collector) -> None:
    with TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "empty").mkdir()
        (directory / "notes.txt").touch()
        (directory / "fast.mtarget").touch()
        (directory / "pyproject.toml").write_bytes(path.read_bytes())
        try:
            project_sources(directory)
        except DiagnosticsError as error:
            collector.diagnostics += error.diagnostics


CHECKS: dict[str, Callable[[Path, Collector], None]] = {
    ".mrules": _rules,
    ".mtarget": _targets,
    ".mspec": _specs,
    ".toml": _projects,
}
