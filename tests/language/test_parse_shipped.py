"""The grammars themselves, and the definitions that ship with the project."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import pytest

from morello.language import grammars
from morello.language.grammars import KINDS, Kind
from morello.language.load import load_source
from morello.language.parse import parse_rules, parse_spec, parse_target

EXAMPLES = Path(__file__).parents[2] / "examples"


def _shipped(package: str | Path, suffix: str) -> list[Path]:
    root: Traversable = package if isinstance(package, Path) else files(package)
    return sorted(Path(str(item)) for item in root.iterdir() if item.name.endswith(suffix))


FAMILIES = ("morello_aarch64", "morello_c", "morello_x86")
TARGETS = [path for family in FAMILIES for path in _shipped(family, ".mtarget")]


@pytest.mark.parametrize("kind", KINDS)
def test_terminals_do_not_collide(kind: Kind) -> None:
    """No two terminals of equal rank match the same text in any state of the parser."""
    assert grammars.build(kind, strict=True).rules


def test_a_grammar_is_built_once() -> None:
    assert grammars.parser("mspec") is grammars.parser("mspec")


@pytest.mark.parametrize("path", _shipped("morello_rules", ".mrules"), ids=lambda p: p.name)
def test_rules(path: Path) -> None:
    """Every declaration of the file is in the tree."""
    source = load_source(path)
    file = parse_rules(source)
    assert _declared(source.text, "op") == len(file.operators)
    assert _declared(source.text, "rule") == len(file.rules)


@pytest.mark.parametrize("path", TARGETS, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_targets(path: Path) -> None:
    """Every declaration of the file is in the tree, and every number has a source."""
    source = load_source(path)
    file = parse_target(source)
    assert _declared(source.text, "target") == len(file.targets)
    assert _declared(source.text, "primitives") == len(file.primitives)
    assert _declared(source.text, "kernel") == len({k.name_span for k in file.kernels})
    assert _declared(source.text, "function") == len(file.functions) + len(file.definitions)
    coefficients = [c for t in file.targets for c in t.coefficients]
    coefficients += [c for t in file.targets for level in t.levels for c in level.coefficients]
    assert [c.name for c in coefficients if not c.source] == []


@pytest.mark.parametrize("path", _shipped(EXAMPLES, ".mspec"), ids=lambda p: p.name)
def test_specs(path: Path) -> None:
    source = load_source(path)
    assert _declared(source.text, "spec") == len(parse_spec(source).specs)


def _declared(text: str, keyword: str) -> int:
    return sum(line.startswith(f"{keyword} ") for line in text.splitlines())
