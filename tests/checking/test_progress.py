"""The progress check: what it proves, what it refuses, and the ranks of operators."""

from __future__ import annotations

import pytest

from morello.checking.rules import check_rules
from morello.errors import MorelloError
from morello.ir.rule import Rule
from morello.language.diagnostics import Collector
from morello.rewriting.progress import check_progress, operator_ranks
from morello.rewriting.progress_help import EXCHANGE, WHY
from tests.checking.fail_cases import shipped_operators, shipped_rules
from tests.checking.texts import operators, rules

SHIPPED = check_rules(shipped_rules(), shipped_operators(), Collector())


def refusals(found: tuple[Rule, ...]) -> list[str]:
    """Messages of the progress check."""
    collector = Collector()
    check_progress(shipped_operators(), found, collector)
    return [d.message for d in collector.diagnostics]


@pytest.mark.parametrize("rule", SHIPPED, ids=lambda rule: rule.name)
def test_shipped_rule_makes_progress(rule: Rule) -> None:
    """Each shipped rule is proven, alone."""
    assert refusals((rule,)) == []


def test_shipped_rules_make_progress_together() -> None:
    """No two shipped rules undo each other."""
    assert refusals(SHIPPED) == []


def test_ranks() -> None:
    """An operator is above all that its rules may yield."""
    ranks = operator_ranks(shipped_operators(), SHIPPED)
    assert set(ranks) == set(shipped_operators())
    assert ranks["copy"] < ranks["fill"] < ranks["matmul"]


def test_ranks_without_rules() -> None:
    """Nothing yields anything."""
    assert set(operator_ranks(shipped_operators(), ()).values()) == {0}


PROVEN = {
    "a step of a choice that is nearer than a choice": """
        choose near in nearer(X.level), level in nearer(near), layout in layouts(X, level)
        yield  with Y = X at level layout layout { f[X := Y] }
    """,
    "a tile of two dimensions, one inside the other": """
        choose d in output_dims(f), e in output_dims(f), t in tile_sizes(d), u in tile_sizes(e)
        where  reads(f, X)
        yield  for d step t { for e step u { f } }
    """,
    "accumulation that starts, under a loop of no known step": """
        choose d in output_dims(f), e in output_dims(f), t in tile_sizes(e)
        where  volume(f) > 1 and reduces(f), reads(f, X)
        yield  for d step t { accumulating f }
    """,
    "nearer, although accumulation and sizes are unknown": """
        choose d in output_dims(f), e in output_dims(f), t in tile_sizes(e),
               level in nearer(X.level), layout in layouts(X, level)
        yield  with Y = X at level layout layout { for d step t { accumulating f[X := Y] } }
    """,
    "a nearer copy of another element type": """
        choose level in nearer(X.level), layout in layouts(X, level, f.out.dtype)
        where  X.dtype != f.out.dtype, distance(level) < nearest(f)
        yield  with Y = X at level dtype f.out.dtype layout layout { copy(X, Y); f[X := Y] }
    """,
    "a copy nearer than all, with the guard written the other way": """
        choose level in nearer(X.level), layout in layouts(X, level)
        where  not nearest(f) <= distance(level)
        yield  with Y = X at level layout layout { copy(X, Y); f[X := Y] }
    """,
}


@pytest.mark.parametrize("clauses", PROVEN.values(), ids=PROVEN)
def test_proven(clauses: str) -> None:
    """Decreases that are not the obvious ones."""
    assert refusals(rules(f'rule r "R." match f: op, X: operand of f {clauses}')) == []


REFUSED = {
    "distance": """
        choose level in nearer(X.level), layout in layouts(X, level)
        yield  with Y = X at level layout layout { f[X := Y, Z := Y] }
    """,
    "a copy of another element type at the same level": """
        choose layout in layouts(X, X.level, f.out.dtype)
        where  X.dtype != f.out.dtype, reads(f, Z)
        yield  with Y = X at X.level dtype f.out.dtype layout layout { f[X := Y] }
    """,
    "accumulation": """
        where  not reduces(f), reads(f, X), reads(f, Z)
        yield  accumulating f
    """,
    "sizes": """
        choose d in output_dims(f), e in output_dims(f), t in tile_sizes(d), u in tile_sizes(d)
        where  reads(f, X), reads(f, Z)
        yield  for d step t { for e step u { f } }
    """,
}


@pytest.mark.parametrize(("component", "clauses"), REFUSED.items(), ids=REFUSED)
def test_refused(component: str, clauses: str) -> None:
    """One part that decreases does not excuse another that may grow."""
    text = f'rule planted "R." match f: op, X: operand of f, Z: operand of f {clauses}'
    (message,) = refusals(rules(text))
    assert "rule 'planted' makes no progress" in message
    assert message.endswith(WHY[component if component in ("distance", "sizes") else "nothing"])


PAIRS = """
    op pair_sum(X: T[i], Z: T[i]) -> Y: T[i] { Y[i] = X[i] + Z[i] }
    op copy(X: T[i]) -> Y: T[i] { Y[i] = X[i] }
"""
NEARER = """
    rule r "R." match f: pair_sum, X: operand of f, Z: operand of f
    choose level in nearer(X.level), a in layouts(X, level), b in layouts(Z, level)
    where  distance(level) {} nearest(f)
    yield  with A = X at level layout a {{
             copy(X, A);
             with B = Z at level layout b {{ copy(Z, B); pair_sum(B, A, f.out) }} }}
"""


def test_the_advice_for_what_is_yielded_by_its_name_can_be_followed() -> None:
    """All operands but one in buffers that a guard says to be nearer."""
    known = operators(PAIRS)
    collector = Collector()
    check_progress(known, rules(NEARER.format("<="), known), collector)
    (diagnostic,) = collector.diagnostics
    assert "'where distance(level) < nearest(f)'" in diagnostic.help
    followed = Collector()
    check_progress(known, rules(NEARER.format("<"), known), followed)
    assert [] == followed.diagnostics


@pytest.mark.parametrize("operands", ["f.Z, f.X, f.out", "f.X, f.Z, f.Y", "f.Z[i], f.X[i], f.Y[i]"])
def test_an_exchange_is_said_to_be_one(operands: str) -> None:
    """Nothing of it grows, and no buffer would help."""
    known = operators(PAIRS)
    collector = Collector()
    found = rules(f'rule r "R." match f: pair_sum yield pair_sum({operands})', known)
    check_progress(known, found, collector)
    (diagnostic,) = collector.diagnostics
    assert diagnostic.message.endswith("again, and it has the same operands")
    assert diagnostic.help == EXCHANGE


TURNED = """
    op product(A: T[m, k], B: T[k, n]) -> C: T[m, n] { C[m, n] += A[m, k] * B[k, n] }
"""


@pytest.mark.parametrize(
    ("operand", "buffer", "proven"),
    [
        ("C: f.C", "Y = C at level", True),
        ("C: operand of f", "Y = C at level", False),  # it may be another one
        ("C: f.A", "Y = C at level", False),  # B and A twice, and no C
        ("C: f.C", "Y = C at C.level", False),  # as far away as before
    ],
)
def test_an_exchange_with_a_nearer_buffer(operand: str, buffer: str, proven: bool) -> None:
    """Of operands that are the same ones in another order, one is nearer."""
    known = operators(TURNED)
    collector = Collector()
    text = f"""
        rule r "R." match f: product, {operand} choose level in nearer(C.level)
        where  reduces(f), cache(level)
        yield  with {buffer} layout column_major(C) {{ product(f.B[n, k], f.A[k, m], Y) }}
    """
    check_progress(known, rules(text, known), collector)
    assert proven == (not collector.diagnostics)


def test_serial_only_helps_where_the_match_is_parallel() -> None:
    """What may be serial already does not get smaller by being serial."""
    assert refusals(rules('rule r "R." match f: parallel op yield serial f')) == []
    assert len(refusals(rules('rule r "R." match f: op yield serial f'))) == 1


CYCLE = """
    op one(X: T[i]) -> Y: T[i] { Y[i] = X[i] }
    op two(X: T[i]) -> Y: T[i] { Y[i] = X[i] }
    op three(X: T[i]) -> Y: T[i] { Y[i] = X[i] }
    rule a "A." match f: one, X: operand of f yield two(X, f.out)
    rule b "B." match f: two, X: operand of f yield three(X, f.out)
    rule c "C." match f: three, X: operand of f yield one(X, f.out)
    rule d "D." match f: three, X: operand of f yield two(X, f.out)
"""


def test_cycles_name_their_rules() -> None:
    """A cycle is one error, the same for every order of the rules, with its rules in the help."""
    known = operators(CYCLE)
    found = rules(CYCLE, known)
    for order in (found, found[::-1]):
        collector = Collector()
        check_progress(known, order, collector)
        (diagnostic,) = collector.diagnostics
        path = "'one' -> 'two' -> 'three' -> 'one'"
        assert diagnostic.message == f"operators yield each other without end: {path}"
        assert "'a' makes 'two' of 'one'" in diagnostic.help
        assert "'c' makes 'one' of 'three'" in diagnostic.help
    with pytest.raises(MorelloError, match="without end"):
        operator_ranks(known, found)


def test_ranks_of_a_chain() -> None:
    """Ranks are lengths of the longest way down."""
    known = operators(CYCLE)
    found = tuple(r for r in rules(CYCLE, known) if r.name in {"a", "b"})
    assert operator_ranks(known, found) == {"one": 2, "two": 1, "three": 0}


ADVICE = {
    "match f: op yield f": ("for d step t { f }", "f[X := Y]"),
    "match g: op yield g": ("for d step t { g }", "g[X := Y]"),
    "match f: op yield serial f": ("'match f: parallel op'",),
    "match f: op yield accumulating f": ("'where reduces(f)'",),
    "match f: op choose d in output_dims(f) yield for d step 4 { f }": (
        "'choose t in tile_sizes(d)' and 'for d step t'",
    ),
    "match f: op, A: operand of f choose l in layouts(A, A.level) "
    "yield with B = A at A.level layout l { f[A := B] }": (
        "'choose level in nearer(A.level)'",
        "'with B = A at level { f[A := B] }'",
    ),
    "match f: op, X: operand of f choose level in nearer(X.level), l in layouts(X, level) "
    "yield with Y = X at level layout l { copy(X, Y); f[X := Y] }": (
        "'f: op except copy'",
        "'where distance(level) < nearest(f)'",
    ),
}


@pytest.mark.parametrize(("text", "advice"), ADVICE.items(), ids=ADVICE)
def test_advice_is_in_the_names_of_the_rule(text: str, advice: tuple[str, ...]) -> None:
    """It says what to write, and no word of the measure."""
    collector = Collector()
    check_progress(shipped_operators(), rules(f'rule r "R." {text}'), collector)
    (diagnostic,) = collector.diagnostics
    for part in advice:
        assert part in diagnostic.help
