"""Rules: what a checked rule gives, and what is no error."""

from __future__ import annotations

import pytest

from morello.checking.operators import check_operators
from morello.checking.rules import check_rules
from morello.language.diagnostics import Collector
from morello.language.parse import parse_rules
from tests.checking.fail_cases import shipped_operators, shipped_rules
from tests.checking.texts import rules, shown, source


def test_shipped_rules_are_right() -> None:
    """Nothing is wrong with what the project ships, and nothing is lost."""
    collector = Collector()
    files = shipped_rules()
    found = check_rules(files, shipped_operators(), collector)
    assert collector.diagnostics == []
    assert [r.name for f in files for r in f.rules] == [r.name for r in found]


def test_helpers() -> None:
    """Variables, domains and conditions of a rule."""
    text = """
        rule move
          "Copy."
          match  f: op except copy, X: operand of f
          choose level in nearer(X.level), layout in layouts(X, level)
          where  reads(f, X) and not cache(level), nearest(f) > distance(level)
          yield  with Y = X at level layout layout { copy(X, Y); f[X := Y] }
    """
    (rule,) = rules(text)
    assert rule.operand_variables == ("X",)
    assert rule.choice_variables == ("level", "layout")
    assert rule.domain("X") is None
    assert rule.domain("level") is not None
    assert len(rule.conditions) == 3
    assert [leaf.step.span.line for leaf in rule.leaves()] == [7, 7]


@pytest.mark.parametrize(
    ("match", "matched"),
    [
        ("f: op", {"fill", "copy", "relu", "add", "matmul"}),
        ("f: op except copy, fill", {"relu", "add", "matmul"}),
        ("f: elementwise op", {"copy", "relu", "add"}),
        ("f: accumulating op", {"matmul"}),
        ("f: copy", {"copy"}),
    ],
)
def test_may_match(match: str, matched: set[str]) -> None:
    """Which operators a match leaves."""
    (rule,) = rules(f'rule r "Serial." match {match} yield serial f')
    known = {"fill", "copy", "relu", "add", "matmul"}
    operators = [o for o in shipped_operators().values() if o.name in known]
    assert {o.name for o in operators if rule.may_match(o)} - {"fill"} == matched - {"fill"}


def test_guard_restricts_to_reductions() -> None:
    """``reduces(f)`` leaves the operators with a reduction."""
    (rule,) = rules('rule r "Serial." match f: op where reduces(f) yield serial f')
    operators = shipped_operators()
    assert rule.may_match(operators["matmul"])
    assert not rule.may_match(operators["copy"])


def test_any_coefficient_without_a_list() -> None:
    """A rule alone may name any coefficient; with a target's list it may not."""
    text = """
        rule r
          "Serial."
          match f: parallel op
          cost  anything
          yield serial f
    """
    collector = Collector()
    tree = parse_rules(source(text, "mrules"))
    check_rules([tree], shipped_operators(), collector)
    assert collector.diagnostics == []
    check_rules([tree], shipped_operators(), collector, coefficients={"everything"})
    (diagnostic,) = collector.diagnostics
    assert shown(diagnostic) == ("K001", 5, 9, "unknown name 'anything'")
    assert diagnostic.help == "did you mean 'everything'?"


def test_broken_operator_is_one_error() -> None:
    """A rule that names an operator with errors is no error as well."""
    text = """
        op broken(X: T[i]) -> Y: T[i] { Y[i] += X[i] * X[j] }
        rule r "Break." match f: parallel copy, X: operand of f yield broken(X, f.out)
    """
    tree = parse_rules(source(text, "mrules"))
    collector = Collector()
    operators = check_operators([tree, *shipped_rules()], collector)
    check_rules([tree], operators, collector)
    assert [d.code for d in collector.diagnostics] == ["O010"]


def test_views_of_an_operator_with_an_unknown_factor_are_no_errors() -> None:
    """Whether the rule matches it or applies it: how far its index steps is not known."""
    text = """
        op broken(X: T[step * i + after]; stride, after) -> Y: T[i] { Y[i] = X[step * i + after] }
        rule r "See." match f: broken yield for f.i step 1 { copy(f.X[i], f.Y) }
        rule s "Apply." match f: copy yield for f.i step 1 { broken(f.X[i], f.Y[i], 1, 1) }
    """
    tree = parse_rules(source(text, "mrules"))
    collector = Collector()
    operators = check_operators([tree, *shipped_rules()], collector)
    check_rules([tree], operators, collector)
    assert {d.code for d in collector.diagnostics} >= {"O014", "O013"}


def test_contradiction_shows_both_guards() -> None:
    """The help of a contradiction is the other guard."""
    text = """
        rule r
          "Serial."
          match f: parallel op
          where volume(f) > 2, nearest(f) < 1, not volume(f) > 2
          yield serial f
    """
    collector = Collector()
    check_rules([parse_rules(source(text, "mrules"))], shipped_operators(), collector)
    (diagnostic,) = collector.diagnostics
    assert diagnostic.help == "'volume(f) > 2' excludes it"


def test_siblings_may_share_a_buffer_name() -> None:
    """Two buffers that are not inside each other may have one name."""
    text = """
        rule r
          "Twice."
          match  f: op except copy, X: operand of f
          choose level in nearer(X.level), layout in layouts(X, level)
          yield  with Y = X at level layout layout { f[X := Y] };
                 with Y = X at level layout layout { f[X := Y] }
    """
    assert len(rules(text)) == 1


@pytest.mark.parametrize(
    ("clauses", "help"),
    [
        (
            "match f: matmul, C: f.C yield with D = C at reg { f[C := D] }",
            "a rule names no level of a target; it chooses one: 'choose level in nearer(X.level)'",
        ),
        (
            "match f: matmul choose t in tile_sizes(m) yield for f.m step t { f }",
            "dimensions are chosen, such as 'choose d in output_dims(f)', or an operator's: f.m",
        ),
        (
            "match f: matmul, C: f.C choose level in nearer(C.level), order in layouts(C, level) "
            "yield with D = C at levl layout order { f[C := D] }",
            "did you mean 'level'?",
        ),
        (
            "match f: matmul choose level in levels(f.C) yield with D = C at level { f }",
            "give it a variable in the match: 'C: operand of f', or 'Y: f.NAME'",
        ),
    ],
)
def test_advice_for_names_of_targets_and_operators(clauses: str, help: str) -> None:
    """A level, a dimension or an operand has to come from somewhere: the advice says from where."""
    collector = Collector()
    tree = parse_rules(source(f'rule r "R." {clauses}', ".mrules"))
    check_rules([tree], shipped_operators(), collector)
    assert help in [diagnostic.help for diagnostic in collector.diagnostics]
