"""Files of definitions, all together: parsed, and checked by every check that there is.

The stages are parsing, names and kinds, and progress. All errors of the first stage that has any
are reported, those of all files at once. Which files there are is not known here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from itertools import chain

from msgspec import Struct

from morello.checking.operators import check_operators
from morello.checking.rules import check_rules
from morello.checking.targets import check_targets
from morello.checking.unmixed import named_in, unmixed
from morello.definitions.store import Checked
from morello.language import ast, target_ast
from morello.language.diagnostics import Collector, DiagnosticsError
from morello.language.grammars import SUFFIXES
from morello.language.parse import parse_rules, parse_target
from morello.language.source import Source
from morello.rewriting.progress import check_progress


class _Trees(Struct, frozen=True):
    """Parsed files, by kind."""

    rules: Sequence[ast.RulesFile]
    targets: Sequence[target_ast.TargetFile]


def check_files(sources: Iterable[Source], emitters: Collection[str]) -> Checked:
    """Parse and check definitions.

    Args:
        sources: Texts of ``.mrules`` and ``.mtarget`` files, told apart by their names.
        emitters: Names of the emitters that a target may ask for.

    Raises:
        DiagnosticsError: All errors of the first stage that has any.
    """
    trees = _parse(sources)
    collector = Collector()
    operators = check_operators(trees.rules, collector)
    targets = check_targets(trees.targets, operators, collector)
    coefficients = {name for t in targets.values() for name in t.coefficients}
    rules = check_rules(trees.rules, operators, collector, coefficients or None)
    _check_emitters(trees.targets, emitters, collector)
    collector.raise_if_any()
    check_progress(operators, rules, collector)
    collector.raise_if_any()
    operators = unmixed(operators, named_in(trees.rules, trees.targets))
    warnings = [w for rules_file in trees.rules for w in rules_file.warnings]
    warnings += [w for target_file in trees.targets for w in target_file.warnings]
    return Checked(operators, rules, targets, tuple(warnings))


@lru_cache(maxsize=256)
def parse_file(source: Source) -> ast.RulesFile | target_ast.TargetFile:
    """Parse one file of definitions; the trees are kept for who edits one file of many.

    Raises:
        DiagnosticsError: every syntax error of the file.
    """
    return (parse_rules if source.name.endswith(SUFFIXES["rules"]) else parse_target)(source)


def _parse(sources: Iterable[Source]) -> _Trees:
    rules: list[ast.RulesFile] = []
    targets: list[target_ast.TargetFile] = []
    collector = Collector()
    for source in sources:
        try:
            match parse_file(source):
                case ast.RulesFile() as file:
                    rules.append(file)
                case target_ast.TargetFile() as file:
                    targets.append(file)
        except DiagnosticsError as error:
            collector.diagnostics += error.diagnostics
    collector.raise_if_any()
    return _Trees(rules, targets)


def _check_emitters(
    files: Iterable[target_ast.TargetFile], emitters: Collection[str], collector: Collector
) -> None:
    for target in chain.from_iterable(file.targets for file in files):
        if target.emitter is None or target.emitter in emitters:
            continue
        collector.error(
            "P001",
            f"target '{target.name}' names the emitter '{target.emitter}', which no plugin gives",
            target.name_span,
            help=collector.suggestion(target.emitter, emitters) or "install the plugin that has it",
        )
