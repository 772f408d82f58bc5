"""All definitions that are in force: those of every plugin, and of files that the user adds.

Reads, parses and checks them, all files together, so that all errors of a stage are reported at
once. What a definition means is elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

from morello.checking.operators import check_operators
from morello.checking.rules import check_rules
from morello.checking.targets import check_targets
from morello.errors import MorelloError
from morello.language import ast
from morello.language.diagnostics import Collector, DiagnosticsError, suggestion
from morello.language.parse import parse_rules, parse_target
from morello.language.source import Source
from morello.plugins import BrokenPlugin, Emitter, PluginSet, load_plugins
from morello.plugins.resources import DEFINITION_SUFFIXES, RULES_SUFFIX, load_resource
from morello.rewriting.progress import check_progress
from morello.rewriting.rule import Rule
from morello.spec.machine import Target
from morello.spec.operators import Operator


@dataclass(frozen=True, slots=True)
class Definitions:
    """Everything that a compile may use. ``broken`` plugins have given nothing to it."""

    operators: Mapping[str, Operator]
    rules: tuple[Rule, ...]
    targets: Mapping[str, Target]
    emitters: Mapping[str, Emitter]
    broken: tuple[BrokenPlugin, ...]


@dataclass(frozen=True, slots=True)
class _Trees:
    """Parsed files, by kind."""

    rules: Sequence[ast.RulesFile]
    targets: Sequence[ast.TargetFile]


def load_definitions(
    extra_files: Iterable[Source] = (), plugins: PluginSet | None = None
) -> Definitions:
    """Read and check all definitions.

    Args:
        extra_files: Texts of ``.mrules`` and ``.mtarget`` files, told apart by their names, beside
            those of the plugins. One that is a plugin's own file, or a copy of it, counts once.
        plugins: What plugins give; by default everything that is installed.

    Raises:
        DiagnosticsError: All errors of the first stage, parsing or checking, that has any.
        MorelloError: A file cannot be read, or two plugins contradict each other.
    """
    extra = tuple(extra_files)
    if plugins is None and not extra:
        return _installed()
    return _load(extra, _installed_plugins() if plugins is None else plugins)


@cache
def _installed_plugins() -> PluginSet:
    return load_plugins()


@cache
def _installed() -> Definitions:
    return _load((), _installed_plugins())


def _load(extra: Sequence[Source], plugins: PluginSet) -> Definitions:
    trees = _parse(_sources(extra, plugins))
    collector = Collector()
    operators = check_operators(trees.rules, collector)
    targets = check_targets(trees.targets, operators, collector)
    coefficients = {name for t in targets.values() for name in t.coefficients}
    rules = check_rules(trees.rules, operators, collector, coefficients or None)
    _check_emitters(trees.targets, plugins, collector)
    collector.raise_if_any()
    check_progress(operators, rules, collector)
    collector.raise_if_any()
    return Definitions(operators, rules, targets, plugins.emitters, plugins.broken)


def _sources(extra: Sequence[Source], plugins: PluginSet) -> list[Source]:
    """Texts to load. What the user names replaces the same file of a plugin."""
    for source in extra:
        if not source.name.endswith(DEFINITION_SUFFIXES):
            raise MorelloError(
                f"'{source.name}' is no file of definitions",
                help=f"their names end in {' or '.join(DEFINITION_SUFFIXES)}",
            )
    unique = list(dict.fromkeys(extra))
    named = {source.path.resolve() for source in unique if source.path}
    texts = {(Path(source.name).name, source.text) for source in unique}
    installed = [
        load_resource(file.resource, file.name)
        for file in plugins.files
        if not (isinstance(file.resource, Path) and file.resource.resolve() in named)
    ]
    return [s for s in installed if (Path(s.name).name, s.text) not in texts] + unique


def check_target_of(file: ast.SpecFile, definitions: Definitions, collector: Collector) -> None:
    """Report a target that a file of specs names and that no plugin gives."""
    if file.target is None or file.target.id in definitions.targets:
        return
    name, span = file.target.id, file.target.span
    advice = suggestion(name, definitions.targets) or "install the plugin that has it"
    collector.error("P002", f"unknown target '{name}'", span, "not a target", advice)


def _parse(sources: Iterable[Source]) -> _Trees:
    rules: list[ast.RulesFile] = []
    targets: list[ast.TargetFile] = []
    collector = Collector()
    for source in sources:
        try:
            if source.name.endswith(RULES_SUFFIX):
                rules.append(parse_rules(source))
            else:
                targets.append(parse_target(source))
        except DiagnosticsError as error:
            collector.diagnostics += error.diagnostics
    collector.raise_if_any()
    return _Trees(rules, targets)


def _check_emitters(
    files: Iterable[ast.TargetFile], plugins: PluginSet, collector: Collector
) -> None:
    for target in chain.from_iterable(file.targets for file in files):
        if target.emitter is None or target.emitter in plugins.emitters:
            continue
        collector.error(
            "P001",
            f"target '{target.name}' names the emitter '{target.emitter}', which no plugin gives",
            target.name_span,
            help=suggestion(target.emitter, plugins.emitters) or "install the plugin that has it",
        )
