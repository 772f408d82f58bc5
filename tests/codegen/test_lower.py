"""From goals to programs: what the search finds computes what the operator means."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import morello
from morello.codegen.goals import arithmetic
from morello.codegen.lower import Names, lower_plan, lower_step, whole
from morello.ir.layout import Layout, contiguity, order_of, paged, panel
from morello.ir.programs.tree import Node, Program, Tensor, View
from morello.ir.spec import Operand
from morello.ir.target import Target
from morello.records import replace
from morello.reference.compare import check_close, reference
from morello.reference.inputs import for_operation
from morello.reference.interpreter import run_program
from morello.rewriting.alternatives import RuleAlternative
from morello.rewriting.steps import Leaf
from morello.search.results.reconstruct import PlanNode, reconstruct
from morello.search.search import search
from tests.search.budget import examples
from tests.search.goals import Wanted, batched, copy, elementwise, matmul
from tests.search.machines import TINY, context
from tests.search.solved import plan_of, volume

MOST = 600
"""Iterations of a random goal: the interpreter calls numpy for every kernel."""


def arguments_of(wanted: Wanted, target: Target) -> tuple[Tensor, ...]:
    """A tensor for each operand, inputs first."""
    spec = wanted.spec(target)
    operation = spec.family.operation
    return tuple(
        Tensor(
            name.lower(),
            operand.dtype,
            spec.extents(position),
            Layout(operand.order, panel(spec.packing[position])),
            operand.level.name,
            0,
            "output" if operation.writes(position) else "input",
        )
        for position, (name, operand) in enumerate(
            zip(operation.names, spec.family.operands, strict=True)
        )
    )


def program_of(plan: PlanNode, wanted: Wanted, target: Target) -> Program:
    """The program of a plan."""
    arguments = arguments_of(wanted, target)
    names = Names({tensor.name: 1 for tensor in arguments})
    body = lower_plan(plan, tuple(map(whole, arguments)), names, target.page)
    return Program("f", arguments, body, wanted.threads, target, str(wanted))


def assert_right(plan: PlanNode, wanted: Wanted, target: Target) -> None:
    """Run the program and compare with the operator's meaning."""
    operation, dtypes = wanted.operation, wanted.operand_dtypes()
    inputs = for_operation("random", operation, wanted.sizes, dtypes)
    expected = reference(operation, wanted.sizes, inputs, dtypes[-1])
    (actual,) = run_program(program_of(plan, wanted, target), inputs)
    check_close(actual, expected)


SIZES = st.one_of(st.integers(1, 40), st.sampled_from((1, 2, 7, 13, 31)))
DTYPES = st.sampled_from(("f32", "s32"))


@st.composite
def goals(draw: st.DrawFn, *, plain: bool = False) -> Wanted:
    """Any operator with any sizes, layouts, dtypes and threads.

    ``plain``: one thread, and one operand at most is not row-major, for targets where every choice
    of layout takes the search a while.
    """
    operator = draw(st.sampled_from(("matmul", "matmul", "relu", "add", "copy")))
    rank = draw(st.integers(0, 1) if operator == "matmul" else st.integers(1, 3))
    dtypes: tuple[str, ...] = (draw(DTYPES),)
    if operator == "copy":
        dtypes = (*dtypes, draw(DTYPES))
    threads = 1 if plain else draw(st.integers(1, 3))
    operation = Wanted(operator, (), rank).operation
    sizes: list[int] = []
    for _ in operation.dims:
        sizes.append(min(draw(SIZES), MOST // prod(sizes)))
    ranks = {n: len(i) for n, i in zip(operation.names, operation.operands, strict=True)}
    named = [draw(st.sampled_from(operation.names))] if plain else operation.names
    layouts = tuple((name, draw(_layouts(ranks[name]))) for name in named)
    return Wanted(operator, tuple(sizes), rank, dtypes, layouts, threads)


def _layouts(rank: int) -> st.SearchStrategy[Layout]:
    widths = st.sampled_from((0, 0, 2, 4, 16) if rank else (0,))
    return st.builds(Layout, st.permutations(range(rank)).map(tuple), widths)


def _assert_searched_right(name: str, wanted: Wanted) -> None:
    used = context(name)
    spec = wanted.spec(used.target)
    assert_right(reconstruct(search(used, spec), spec), wanted, used.target)


@examples(6)
@given(name=st.sampled_from(TINY), wanted=goals())
def test_random_goals_on_tiny_machines(name: str, wanted: Wanted) -> None:
    """Where every limit bites and most sizes leave tails."""
    _assert_searched_right(name, wanted)


@examples(3)
@given(name=st.sampled_from(("x86.scalar", "x86.avx2", "x86.avx512")), wanted=goals(plain=True))
def test_random_goals_on_shipped_targets(name: str, wanted: Wanted) -> None:
    """No compiler is needed: kernels mean their operators."""
    _assert_searched_right(name, wanted)


CASES: tuple[tuple[str, Wanted], ...] = (
    ("tiny.cached", matmul(5, 4, 3, threads=3)),
    ("tiny.buffered", batched(2, 1, 7, 4)),
    ("tiny.buffered", elementwise("add", 5, 7, Z=(1, 0))),
    ("tiny.flat", matmul(5, 7, 9, A=(1, 0))),
    ("tiny.flat", copy(3, 4, 5, X=(2, 0, 1))),
    ("x86.avx512", matmul(17, 41, 12)),
)
IDS = [f"{name} {wanted}" for name, wanted in CASES]


@pytest.mark.parametrize(("name", "wanted"), CASES, ids=IDS)
def test_views_are_what_the_specs_say(name: str, wanted: Wanted) -> None:
    """At every step: shape, level, layout, register width, and no less contiguous than assumed."""
    target = context(name).target
    plan = plan_of(name, wanted)
    arguments = arguments_of(wanted, target)
    visited: list[PlanNode] = []
    _visit(plan, tuple(map(whole, arguments)), visited, target)
    assert sum(node.step is None for node in visited) > 1


def _visit(
    plan: PlanNode, views: tuple[View, ...], visited: list[PlanNode], target: Target
) -> Node:
    """Lower a plan by single steps, looking at the operands of each."""
    visited.append(plan)
    for position, (operand, view) in enumerate(zip(plan.spec.family.operands, views, strict=True)):
        assert plan.spec.extents(position) == view.sizes
        _assert_agree(operand, plan.spec.packing[position], view, target)
    alternative = plan.option.alternative
    if not isinstance(alternative, RuleAlternative):
        return lower_plan(plan, views, Names(), target.page)
    children = iter(plan.children)

    def leaf(_: Leaf, operands: tuple[View, ...]) -> Node:
        return _visit(next(children), operands, visited, target)

    assert plan.step is not None
    node = lower_step(plan.step, alternative, views, Names(), target.page, leaf)
    assert next(children, None) is None
    return node


def _assert_agree(operand: Operand, packing: int, view: View, target: Target) -> None:
    tensor = view.tensor
    axes = [view.axis(position) for position in range(len(view.sizes))]
    order = order_of(axes, tensor.layout.order)
    assert (operand.dtype, operand.order, operand.vector) == (tensor.dtype, order, tensor.vector)
    assert panel(packing) == _panel(view)
    assert operand.level.name == view.level
    if not target.moves_lines_from(operand.level) or not operand.level.addressable:
        return  # how it lies there is asked by nobody, and not kept
    assert contiguity(packing) <= _contiguity(view)
    if len(tensor.shape) == 2 and contiguity(packing) == 1:
        row = (tensor.layout.panel or tensor.shape[operand.order[-1]]) * operand.dtype.bytes
        assert paged(packing) == (row % target.page == 0)


def _contiguity(view: View) -> int:
    """How many of its innermost dimensions are packed: all but the last of these are whole."""
    layout = view.tensor.layout
    whole = replace(layout, gap=0).shape_in_memory(view.tensor.shape)  # it is part of its panel
    along = {view.axis(position).dimension: size for position, size in enumerate(view.sizes)}
    sizes = [along.get(d, 1) for d in layout.order]
    if layout.panel:
        sizes = [-(-sizes[-1] // layout.panel), *sizes[:-1], min(sizes[-1], layout.panel)]
    count = 0
    for size, extent in zip(reversed(sizes), reversed(whole), strict=True):
        count += 1
        if size < extent:
            break
    return min(count, len(view.sizes) + (_panel(view) > 0))


def _panel(view: View) -> int:
    """Width of its panels, 0 where it lies within one."""
    layout = view.tensor.layout
    return layout.panel if layout.panel and view.sizes[layout.order[-1]] > layout.panel else 0


@pytest.mark.parametrize(("name", "wanted"), CASES, ids=IDS)
def test_fixed_goals_are_right(name: str, wanted: Wanted) -> None:
    assert_right(plan_of(name, wanted), wanted, context(name).target)


def test_names_are_never_used_twice() -> None:
    names = Names({"c": 1})
    found = [names.fresh(base) for base in ("c", "m", "m", "c", "m")]
    assert ["c_2", "m", "m_2", "c_3", "m_3"] == found


def test_every_loop_and_buffer_says_which_rule_made_it() -> None:
    """With the place where the rule is written."""
    name, wanted = CASES[0]
    known = context(name)
    rules = {rule.name: rule.declaration.name_span for rule in known.rules}
    program = program_of(plan_of(name, wanted), wanted, known.target)
    origins = [node.origin for node in _nodes(program.body) if hasattr(node, "origin")]
    assert origins
    assert all(rules[origin.name] == origin.span for origin in origins)


def _nodes(node: Any) -> list[Any]:
    below = [*getattr(node, "steps", ())]
    below += [part for part in (getattr(node, "body", None), getattr(node, "tail", None)) if part]
    return [node, *(inner for part in below for inner in _nodes(part))]


def test_iterations_of_the_kernels_are_those_of_the_goal() -> None:
    """Nothing is computed twice or left out: counted over the kernels of the goal's operator."""
    name, wanted = CASES[-1]
    plan = plan_of(name, wanted)
    assert volume(plan.spec) == _iterations(plan, 1)


def _iterations(plan: PlanNode, times: int) -> int:
    if plan.step is None:
        return volume(plan.spec) * times if plan.spec.family.operation.accumulating else 0
    parts = zip(plan.children, plan.counts, strict=True)
    return sum(_iterations(child, times * count) for child, count in parts)


def test_arithmetic_is_that_of_all_statements() -> None:
    """Of a graph, too, each counts with its own dimensions."""
    text = """spec layer() {
      input a: f32[4, 3] input b: f32[3, 5] output y: f32[4, 5]
      y = relu(matmul(a, b))
    }"""
    assert arithmetic(morello.compile(text, target="c.scalar").goal) == 2 * 4 * 3 * 5 + 4 * 5
