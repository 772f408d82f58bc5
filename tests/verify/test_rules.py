"""Every rule that is installed, executed on both sides; and wrong ones, which are caught."""

from __future__ import annotations

from pathlib import Path

import pytest

from morello.definitions import Definitions, load_definitions
from morello.ir.dtypes import DTYPES
from morello.ir.layout import contiguity, paged, panel
from morello.ir.operators import Operator
from morello.ir.rule import Rule
from morello.language import ast
from morello.language.source import Source
from morello.rewriting import enumeration
from morello.verify import rule_instances as rule_instances_module
from morello.verify.rule_instances import rule_instances
from morello.verify.rules import BUDGET, WrongRuleError, verify_rule
from tests.verify import planted

RULES = [rule.name for rule in load_definitions().rules]
PLANTED = planted.expected("planted.mrules")

INSTANCES = 16
EACH = 2
"""How many of a rule are tried here, or for each operator: `morello check --execute` tries more."""


def _rule(definitions: Definitions, name: str) -> Rule:
    return next(rule for rule in definitions.rules if rule.name == name)


def _keeps_sums(operator: Operator) -> bool:
    """Whether it says which dimensions loops divide, and none of these is summed over."""
    kept = {d for index in operator.output.indices for d, _ in index.terms}
    return operator.partly_tileable and set(operator.tileable) <= kept


@pytest.mark.parametrize("more", [1, pytest.param(6, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", RULES)
def test_both_sides_mean_the_same(name: str, more: int, definitions: Definitions) -> None:
    """On every operator that it may match, remainders included; a new rule needs no edit here."""
    rule = _rule(definitions, name)
    matched = sum(rule.may_match(operator) for operator in definitions.operators.values())
    report = verify_rule(definitions, rule, budget=more * max(INSTANCES, EACH * matched))
    assert report.rule == name
    assert report.instances >= INSTANCES
    placed = "farthest" in str(rule.declaration.guards)  # operands are in one place
    assert report.families > INSTANCES // (16 if placed else 4)
    assert report.shapes > INSTANCES // 6
    plain = [o for o in definitions.operators.values() if not o.parts]
    domains = [choice.domain for choice in rule.declaration.choices]
    sums = any(isinstance(d, ast.Call) and d.function == "reduced_dims" for d in domains)
    expected = {o.name for o in plain if rule.may_match(o) and not (sums and _keeps_sums(o))}
    if rule.asks_others:  # what other rules see of an operator's operands decides
        assert set(report.operators) <= expected
    else:
        assert set(report.operators) == expected
    match = rule.declaration.match
    single = (
        rule.requires_slice
        or rule.requires_frame
        or rule.requires_partly_tileable
        or "composite" in str(rule.declaration.guards)
    )
    assert report.graphs or match.kind != "op" or single


def test_memory_that_is_reused_too_early_is_caught(
    definitions: Definitions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the check of lifetimes, an intermediate is written over what is still to be read."""
    monkeypatch.setattr(enumeration, "read_too_late", lambda f, step: None)
    with pytest.raises(WrongRuleError, match="aliased"):
        verify_rule(definitions, _rule(definitions, "compute_at_output"))


@pytest.mark.parametrize(
    "guard", ["size(f.n) > 2000", "bytes(f.X) > 100000", "size(f.n) % 96 == 0"]
)
def test_sizes_that_guards_ask_for_are_tried(project: Path, guard: str) -> None:
    """A wrong rule for large sizes alone is wrong, not unexecuted."""
    text = f"""
rule sum_is_largest
  "The largest element of a row in the place of its sum."
  match  f: row_sum
  where  {guard}
  yield  row_max(f.X, f.Y)
"""
    definitions = load_definitions([Source("large.mrules", text, project / "large.mrules")])
    with pytest.raises(WrongRuleError, match="sum_is_largest"):
        verify_rule(definitions, _rule(definitions, "sum_is_largest"))


@pytest.mark.parametrize("name", PLANTED)
def test_wrong_rules_are_caught(name: str) -> None:
    """Each passes every check of the loader; only its execution shows that it is wrong."""
    definitions = planted.definitions()
    rule = _rule(definitions, name)
    with pytest.raises(WrongRuleError, match=rf"(?s)rule '{name}'.*({PLANTED[name]})") as caught:
        verify_rule(definitions, rule)
    error = caught.value
    assert f"(planted.mrules:{rule.declaration.name_span.line}:" in str(error)
    assert str(error.instance) in str(error)
    assert error.help


def test_a_wrong_start_shows_where_leading_elements_are_masked(project: Path) -> None:
    """Of a sum so far: nothing is left of it once a block has a larger score than the masked ones.

    Specs and inputs are drawn by the rule's name: three of them, a few instances each.
    """
    rules = (project / "rules" / "normalisation.mrules").read_text()
    right = rules[rules.index("rule softmax_online\n") : rules.index("rule softmax_pipelined\n")]
    wrong = right.replace("fill(C, 0)", "fill(C, 1)")
    assert wrong != right
    names = [f"softmax_{name}" for name in ("first", "second", "third")]
    texts = (wrong.replace("softmax_online", name, 1) for name in names)
    definitions = load_definitions([Source(f"{n}.mrules", t) for n, t in enumerate(texts)])
    for name in names:
        with pytest.raises(WrongRuleError, match="masked inputs"):
            verify_rule(definitions, _rule(definitions, name), budget=16)


def test_every_planted_rule_is_tried() -> None:
    """None is left out for want of a comment."""
    rules = planted.definitions().rules
    names = {r.name for r in rules if r.declaration.span.source.name == "planted.mrules"}
    assert names == set(PLANTED)


@pytest.mark.parametrize("name", ["tile_output", "move"])
def test_instances_reach_the_corners(name: str, definitions: Definitions) -> None:
    """Remainders, threads, accumulation, parts of tensors, paged rows, batches, every target."""
    instances = list(rule_instances(definitions, _rule(definitions, name), 2 * BUDGET))
    families = [i.spec.family for i in instances]
    operands = [o for f in families for o in f.operands]
    levels = {v.name for t in definitions.targets.values() for v in t.levels}
    untried = set(definitions.targets) - {i.context.target.name for i in instances}
    assert untried == {"x86.scalar", "x86.zen5"}  # differ from another target in costs only
    alone = name == "move"  # its guard: what is moved is of one thread
    assert {f.threads for f in families} == ({1} if alone else {1, 4})
    assert {f.operation.accumulating for f in families} == {False, True}
    assert {f.operation.group_rank for f in families} == {0, 1, 2, 3}
    assert {o.level.name for o in operands} == levels
    packings = [p for i in instances for p in i.spec.packing]
    assert {paged(p) for p in packings} == {0, 1}
    whole = [contiguity(p) == len(o.order) for p, o in zip(packings, operands, strict=True)]
    assert {bool(panel(p)) for p in packings} == {False, True}
    assert set(whole) == {False, True}
    assert {o.dtype.name for o in operands} == set(DTYPES)
    assert {bool(sum(i.spec.used)) for i in instances} == {False, True}
    if name == "tile_output":
        assert any(n % i.tile for i in instances if i.tile for n in i.spec.sizes)


def test_instances_are_different_and_always_the_same(definitions: Definitions) -> None:
    """A sample: by the rule's name alone, so that a failure can be repeated."""
    rule = _rule(definitions, RULES[0])
    first, second = (list(map(str, rule_instances(definitions, rule, 50))) for _ in range(2))
    assert first == second
    assert len(set(first)) == 50


def test_a_rule_that_nothing_reaches_is_reported_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """No instance is no verification: the report says so."""
    monkeypatch.setattr(rule_instances_module, "MISSES", 100)
    text = (
        'rule tile_huge\n  "Tile what is huge."\n  match f: op\n'
        "  choose d in output_dims(f), t in tile_sizes(d)\n"
        "  where size(d) > 100000000\n  yield for d step t { f }\n"
    )
    definitions = load_definitions([Source("huge.mrules", text)])
    report = verify_rule(definitions, _rule(definitions, "tile_huge"))
    assert (report.instances, report.families, report.operators) == (0, 0, ())
