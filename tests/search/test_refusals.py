"""Why nothing implements a goal: the guard or limit, with its numbers."""

from __future__ import annotations

import pytest

import morello
from morello.definitions import load_definitions
from morello.errors import MorelloError
from morello.language import ast
from morello.language.source import Source
from morello.memo.memo import Memo
from morello.records import replace
from morello.rewriting.alternatives import Refusal
from morello.rewriting.context import Context
from morello.search.planning.budget import Budget
from morello.search.planning.unimplemented import SHOWN, NoImplementationError
from morello.search.results.refusals import refusals_at
from morello.search.search import Progress, search
from tests.search.goals import Wanted, elementwise, matmul
from tests.search.machines import FLAT, context, load_target, with_capacities

pytestmark = pytest.mark.usefixtures("kept_to_the_letter")


def _refused(used: Context, goal: Wanted) -> NoImplementationError:
    """The error, whose shape is the same for all: a headline, reasons, advice."""
    spec = goal.spec(used.target)
    with pytest.raises(NoImplementationError) as caught:
        search(used, spec)
    error = caught.value
    first, *reasons = str(error).splitlines()
    assert f"nothing implements {spec}; what was refused, the nearest first:" == first
    assert [f"  {r}" for r in error.refusals[:SHOWN]] == reasons[:SHOWN]
    assert error.refusals
    assert error.help
    assert spec == error.spec
    return error


def _limited(name: str, **capacities: int) -> Context:
    known = context(name)
    return replace(known, target=with_capacities(known.target, capacities))


def _flat(old: str, new: str) -> Context:
    """`tiny.flat` with a part of its text exchanged."""
    assert old in FLAT
    return replace(context("tiny.flat"), target=load_target(FLAT.replace(old, new)))


@pytest.mark.parametrize(
    "wanted",
    [
        elementwise("neg", 9, dtype="bf16"),
        elementwise("exp", 9, dtype="s32"),
        matmul(2, 3, 4, "bf16"),
    ],
    ids=lambda wanted: wanted.operator,
)
def test_a_type_that_a_target_computes_in_is_named(wanted: Wanted) -> None:
    """Where there is no arithmetic in the type of the output, but in another."""
    error = _refused(context("x86.avx2"), wanted)
    lacks = f"x86.avx2 computes '{wanted.operator}' in f32, not in {wanted.dtypes[-1]}"
    assert error.help == f"{lacks}: declare what it computes as f32, and convert that"


def test_a_type_is_named_for_a_part_of_a_graph() -> None:
    """The first that the target lacks something for."""
    text = "spec s(N = 9) { input x: bf16[N] output y: bf16[N] y = relu(neg(copy(x))) }"
    with pytest.raises(NoImplementationError) as caught:
        morello.compile(text, target="x86.avx2", memo=Memo())
    assert caught.value.help.startswith("x86.avx2 computes 'neg' in f32, not in bf16: ")


NAMED = """
op twice(X: T[before + i + after]; before, after) -> Y: T[i]
  "A part of a row, times 2."
{
  Y[i] = X[before + i + after] * 2
}

rule of_long_rows
  "What is named here is not for short rows."
  match  f: twice
  where  size(f.i) > 1000
  yield  copy(f.X[i], f.Y)
"""


def test_what_moves_and_computes_is_named_where_it_is_left_whole() -> None:
    """A rule that names the operator is what computes it, or nothing."""
    definitions = load_definitions([Source("named.mrules", NAMED)])
    text = """spec s() { input x: f32[9] output y: f32[4]
                         y = relu(twice(x, before = 2, after = 3)) }"""
    with pytest.raises(NoImplementationError) as caught:
        morello.compile(text, target="x86.scalar", definitions=definitions, memo=Memo())
    assert caught.value.help.startswith("'twice' reads between margins and computes, and is as it")


def test_a_limit_is_named_with_what_is_taken_and_what_is_free() -> None:
    """One grain of L1 holds one operand; every program needs two at once."""
    error = _refused(_limited("x86.scalar", l1=1), matmul(2, 2, 2))
    assert ": X takes 2048 bytes of l1, and 0 of 2048 are free" in str(error)
    assert any(refusal.name.startswith("cache for copy(") for refusal in error.refusals)


def test_a_level_of_registers_is_counted_in_registers() -> None:
    """Without the kernel for elements, input and output have to be in registers together."""
    limited = _limited("tiny.flat", reg=1)
    kernels = tuple(k for k in limited.target.kernels if k.name != "element")
    used = replace(limited, target=replace(limited.target, kernels=kernels))
    error = _refused(used, elementwise("relu", 1))
    assert ": Y takes 1 registers of reg, and 0 of 1 are free" in str(error)


def test_a_guard_that_never_holds_is_named_with_what_is_free() -> None:
    """Also one that holds for no Spec of the whole box, so that the kernel is not in the tables."""
    cost = "  cost   arithmetic(f) + scalar_load"
    used = _flat(cost, f"  where  free(reg) >= 9\n{cost}")
    error = _refused(used, matmul(2, 2, 2, "s32"))
    assert "'free(reg) >= 9' does not hold (3 of 3 are free at reg)" in str(error)
    assert error.refusals[0].name.startswith("element for accumulating matmul(")
    assert "[m=1, n=1, k=1]" in error.refusals[0].name


def test_a_pattern_that_never_matches_is_named_with_its_extent() -> None:
    used = _flat("any op (any[...] at mem", "any op (any[..., 5] at mem")
    error = _refused(used, elementwise("relu", 3, dtype="s32"))
    assert "it wants that dimension 0 of X is 5" in str(error)


def test_tiles_of_registers_that_are_not_filled_are_named() -> None:
    """Vectors of two lanes cannot be cut in the middle."""
    used = _flat("sizes 1, 2", "sizes 1")
    kernel = next(k for k in used.target.kernels if k.name == "vector_x2")
    others = tuple(k for k in used.target.kernels if k.name not in ("element", "vector_x2"))
    narrow = replace(kernel, guards=(_expression("n == 2"),))
    target = replace(used.target, kernels=(*others, narrow))
    error = _refused(replace(used, target=target), elementwise("relu", 4))
    assert "tiles of 1 along 'i0' do not fill whole registers" in str(error)
    assert "'n == 2' does not hold" in str(error)


def _expression(text: str) -> ast.Expr:
    """A guard, as the parser reads it."""
    target = load_target(FLAT.replace("where  n <= 2", f"where  {text}"))
    return next(k for k in target.kernels if k.name == "outer_x2").guards[0]


def test_an_operator_that_the_target_lacks_a_primitive_for() -> None:
    error = _refused(context("x86.scalar"), elementwise("div", 3, dtype="s32"))
    assert "the target has no primitive 'div' for s32" in str(error)
    assert "element for div(" in str(error)


def test_a_target_without_kernels_says_so() -> None:
    known = context("tiny.flat")
    used = replace(known, target=replace(known.target, kernels=()))
    error = _refused(used, matmul(2, 2, 2))
    assert ["matmul: tiny.flat has no kernel for 'matmul'"] == list(map(str, error.refusals))


def test_without_the_rule_that_starts_reductions() -> None:
    known = context("tiny.flat")
    used = replace(known, rules=tuple(r for r in known.rules if r.name != "accumulate"))
    error = _refused(used, matmul(2, 2, 2))
    assert "the reduction is not yet initialised" in str(error)


def test_more_reasons_than_can_be_shown_are_counted() -> None:
    spec = matmul(2, 2, 2).spec(context("tiny.flat").target)
    refusals = [Refusal("element", (), f"reason {i}") for i in range(SHOWN + 3)]
    error = NoImplementationError(spec, refusals)
    assert refusals == error.refusals
    assert str(error).endswith(f": reason {SHOWN - 1}\n  and 3 more")


def test_no_reason_is_given_twice() -> None:
    error = _refused(_limited("x86.scalar", l1=1), matmul(2, 2, 2))
    assert len(error.refusals) == len(set(map(str, error.refusals)))


def test_a_search_that_would_be_too_large_is_refused_before_it_begins() -> None:
    used = context("tiny.cached")
    seen: list[Progress] = []
    message = r"the budget of 1,000 Specs allows 1,000 .* even the coarsest search has [\d,]{5,}$"
    with pytest.raises(MorelloError, match=message) as caught:
        search(
            used,
            matmul(16, 16, 16).spec(used.target),
            budget=Budget(specs=1000),
            progress=seen.append,
        )
    assert "make the sizes smaller" in caught.value.help
    assert all(progress.done_cells == 0 for progress in seen)


def test_progress_ends_with_all_cells_done() -> None:
    used = context("tiny.flat")
    seen: list[Progress] = []
    solution = search(used, elementwise("relu", 7).spec(used.target), progress=seen.append)
    assert (solution.cells, solution.cells) == (seen[-1].done_cells, seen[-1].total_cells)
    done = [progress.done_cells for progress in seen]
    assert sorted(done) == done


def test_guards_that_no_size_decides_are_not_asked_again() -> None:
    """Such as ``direct(f)``, of what may be converted, and ``turns(f)``."""
    used = context("x86.avx2")
    spec = Wanted("copy", (3, 40_000), 2, dtypes=("u8", "f32"), layouts=(("X", (1, 0)),)).spec(
        used.target
    )
    wanted = {"turn_first", "convert_first", "stage_conversion"}
    assert wanted <= {str(r).partition(" ")[0] for r in refusals_at(used, spec)}
    mixed = Wanted("matmul", (300, 400, 500), dtypes=("u8", "f32", "f32")).spec(used.target)
    assert "convert" in {str(r).partition(" ")[0] for r in refusals_at(used, mixed)}


def test_what_has_one_panel_is_not_put_into_panels() -> None:
    """Also where the level has no limit that could be exceeded."""
    used = context("x86.avx512_bf16")
    dtypes = ("bf16", "bf16", "f32")
    spec = Wanted("matmul", (3, 4, 2), dtypes=dtypes, weights=("B",)).spec(used.target)
    reasons = {str(r).partition(" ")[0]: r.reason for r in refusals_at(used, spec)}
    assert reasons["pack_ahead"] == "B has no more than one panel of 2"
