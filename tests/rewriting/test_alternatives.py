"""What can be done with a family: rules with their choices, kernels, and the refusals of both."""

from __future__ import annotations

import pytest

from morello.definitions import Definitions
from morello.ir.dtypes import DTYPES
from morello.ir.graphs.composition import operation_of
from morello.ir.graphs.graph import Node, graph_of
from morello.ir.layout import row_major
from morello.ir.operators import Operation
from morello.ir.spec import Family, Operand
from morello.records import replace
from morello.rewriting.alternatives import KernelAlternative, Refusal, RuleAlternative, choice_text
from morello.rewriting.context import Context
from morello.rewriting.enumeration import alternatives
from tests.search.goals import Wanted, elementwise, matmul
from tests.search.machines import context
from tests.search.solved import solved

NAME = "tiny.cached"


def _families() -> list[Family]:
    goals = (matmul(3, 2, 2, threads=2), elementwise("add", 3, 2, Z=(1, 0)))
    return [variant.family for goal in goals for variant in solved(NAME, goal).tables]


def test_they_come_in_one_order_whatever_the_order_of_definitions() -> None:
    """Kernels first, then rules by name and parameters; no two have the same place."""
    known = context(NAME)
    target = replace(known.target, kernels=known.target.kernels[::-1])
    other = replace(known, target=target, rules=known.rules[::-1])
    for family in _families():
        keys = [a.key for a in alternatives(known, family)]
        assert keys == [a.key for a in alternatives(other, family)]
        assert sorted(set(keys)) == keys


def test_a_kernel_leads_nowhere_and_a_rule_somewhere() -> None:
    for family in _families():
        for alternative in alternatives(context(NAME), family):
            if isinstance(alternative, KernelAlternative):
                assert () == alternative.children
            else:
                assert alternative.children


def test_levels_in_which_something_is_placed_are_consumed() -> None:
    """Only levels with a capacity, and every one that the rule's choice names."""
    bounded = {level.name for level in context(NAME).target.bounded}
    for family in _families():
        for alternative in alternatives(context(NAME), family):
            assert alternative.consumes <= bounded
            if isinstance(alternative, RuleAlternative):
                level = dict(alternative.choices).get("level")
                assert level is None or level.name in alternative.consumes


def test_parallel_rules_are_for_parallel_work() -> None:
    """And kernels are not."""
    for family in _families():
        found = alternatives(context(NAME), family)
        names = {a.rule.name for a in found if isinstance(a, RuleAlternative)}
        assert (family.threads > 1) == ("sequential" in names)
        assert family.threads == 1 or not any(isinstance(a, KernelAlternative) for a in found)


def test_nothing_is_near_before_the_work_was_divided() -> None:
    """Others would have to fetch it from the caches of the one thread that has it."""
    mixed = ("bf16", "f32", "f32")
    names = {n: _rules_of(Wanted("matmul", (64,) * 3, 0, mixed, threads=n)) for n in (1, 2)}
    near = {"move", "cache", "convert"}
    assert near <= names[1]
    assert not near & names[2]


def test_what_threads_compute_first_is_where_all_find_it() -> None:
    """What one of them computes may be nearer, or in the output that a cache holds."""
    assert {"mem", "l3", "l2", "l1", "reg"} == _levels_of_intermediates(threads=1)
    assert {"mem", "l3"} == _levels_of_intermediates(threads=2)


def _levels_of_intermediates(threads: int) -> set[str]:
    known = context("x86.avx512")
    product = Node(Operation(known.operators["matmul"], 0), ("a", "b", "t"))
    negated = Node(Operation(known.operators["neg"], 2), ("t", "y"))
    types = dict.fromkeys("abty", DTYPES["f32"])
    operation = operation_of(graph_of([product, negated], "y", types)).operation
    far = Operand(DTYPES["f32"], known.target.home(1), row_major(2).order)
    found = alternatives(known, Family(operation, (far, far, far), threads))
    rules = [a for a in found if isinstance(a, RuleAlternative)]
    first = [a for a in rules if a.rule.name in {"compute_first", "compute_at_output"}]
    return {str(dict(a.choices)["level"]) for a in first}


def _rules_of(wanted: Wanted) -> set[str]:
    known = context("x86.avx512")
    found = alternatives(known, wanted.spec(known.target).family)
    return {a.rule.name for a in found if isinstance(a, RuleAlternative)}


def test_refusals_name_the_clause_and_the_choices() -> None:
    """Of rules with the guard's text, of kernels with the pattern."""
    known = context(NAME)
    refusals: list[Refusal] = []
    alternatives(known, matmul(3, 2, 2).spec(known.target).family, refusals)
    texts = [str(refusal) for refusal in refusals]
    assert "store_x2: it implements 'copy'" in texts
    assert "element: the reduction is not yet initialised" in texts
    copies: list[Refusal] = []
    alternatives(known, elementwise("copy", 3).spec(known.target).family, copies)
    assert any(r.name == "stage_copy" and "X = Y" in str(r) for r in copies)
    assert all(r.reason for r in (*refusals, *copies))


def test_only_inputs_of_another_type_are_converted() -> None:
    """To that of the output, each by itself; a goal of one type has nothing to convert."""
    known = context("x86.avx512")
    same = {a.key[1] for a in alternatives(known, matmul(3, 2, 2).spec(known.target).family)}
    assert "move" in same
    assert "convert" not in same
    mixed = Wanted("matmul", (3, 2, 2), 0, ("bf16", "f32", "f32")).spec(known.target).family
    found = [a for a in alternatives(known, mixed) if a.key[1] == "convert"]
    assert found
    for alternative in found:
        assert isinstance(alternative, RuleAlternative)
        assert "A" == choice_text(dict(alternative.choices)["X"])
        products = [c for c in alternative.children if c.operation == mixed.operation]
        assert [["f32"] * 3] == [[o.dtype.name for o in c.operands] for c in products]


def test_what_needs_a_conversion_is_known_from_the_declaration() -> None:
    """An operator whose operands all have one type is never converted."""
    known = context("x86.avx512")
    rules = {rule.name: rule for rule in known.rules}
    for name, operator in known.operators.items():
        several = len({p.dtype for p in operator.parameters}) > 1
        assert rules["convert"].may_match(operator) == (several and name != "copy")
    assert rules["stage_conversion"].may_match(known.operators["copy"])


@pytest.mark.parametrize(("middle", "converted"), [("s8", True), ("f32", False)])
def test_a_copy_of_another_type_is_read_where_it_would_be_converted_anyway(
    definitions: Definitions, middle: str, converted: bool
) -> None:
    """A graph that computes with an operand in a third type does not take one in the output's."""
    types = {"x": DTYPES["s32"], "t": DTYPES[middle], "u": DTYPES[middle], "y": DTYPES["s8"]}
    uses = (("copy", ("x", "t")), ("neg", ("t", "u")), ("copy", ("u", "y")))
    nodes = [Node(Operation(definitions.operators[name], 1), on) for name, on in uses]
    operation = operation_of(graph_of(nodes, "y", types)).operation
    target = definitions.targets["x86.avx2"]
    near = [Operand(types[t], target.level_by_name["l1"], row_major(1).order) for t in "xy"]
    known = Context(target, definitions.operators, definitions.rules)
    found = alternatives(known, Family(operation, tuple(near)))
    names = {a.rule.name for a in found if isinstance(a, RuleAlternative)}
    assert ("convert" in names) == converted


def test_nothing_comes_before_a_batch_but_packing_ahead() -> None:
    """One element is the product of matrices, and a batch in the fastest dimension is none."""
    known = context(NAME)
    product = Wanted("matmul", (2, 3, 4, 5), rank=1)
    (each,) = alternatives(known, product.spec(known.target).family)
    assert [f.operation for f in each.children] == [Wanted("matmul", (3, 4, 5)).operation]
    weighted = replace(product, weights=("B",)).spec(known.target).family
    found = [a for a in alternatives(known, weighted) if isinstance(a, RuleAlternative)]
    assert {a.rule.name for a in found} == {"each_of_batch", "pack_ahead"}
    turned = replace(product, layouts=(("B", (1, 2, 0)),)).spec(known.target).family
    names = {a.rule.name for a in alternatives(known, turned) if isinstance(a, RuleAlternative)}
    assert "tile_output" in names
    assert "each_of_batch" not in names
