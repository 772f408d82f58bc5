"""The verifier of programs: what it accepts, and that it catches each sort of fault."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import morello
from morello.definitions import Definitions
from morello.errors import InternalError
from morello.ir.dtypes import DTYPES
from morello.ir.layout import Layout
from morello.ir.operators import Operation
from morello.ir.programs.tree import (
    Affine,
    Allocate,
    Apply,
    Block,
    Loop,
    Node,
    Ordered,
    Origin,
    ParallelLoop,
    Tensor,
    Version,
    View,
    walk,
)
from morello.ir.programs.verifier import verify_tree
from morello.language.source import Source, Span
from morello.records import replace
from tests.random_specs.trial import machines

N, TILE = 12, 4
ORIGIN = Origin("a_rule", Span(Source("here", "rule"), 0, 4))

pytestmark = pytest.mark.process  # compiles what it proves


def _tensor(name: str, role: str, *shape: int) -> Tensor:
    order = tuple(range(len(shape)))
    return Tensor(name, DTYPES["f32"], shape, Layout(order), "mem", 0, role)


X, Y, T = _tensor("x", "input", N), _tensor("y", "output", N), _tensor("t", "buffer", N)


def _view(tensor: Tensor, start: Affine | int = 0, size: int = N, version: str = "") -> View:
    start = Affine(start) if isinstance(start, int) else start
    return View(tensor, (start,), (size,), "mem", version=Version(version))


def _at(variable: str, constant: int = 0) -> Affine:
    return Affine(constant, ((variable, 1),))


@pytest.fixture
def call(definitions: Definitions) -> Callable[..., Apply]:
    """One operator on views; ``fill`` takes one, ``copy`` two, ``add`` three."""

    def made(name: str, *views: View) -> Apply:
        operator = definitions.operators[name]
        scalars = tuple((n, 0.0) for n in operator.scalars)
        operation = Operation(operator, 1, False, scalars)
        return Apply(operation, views[-1].sizes, views)

    return made


def _loop(body: Node, count: int = N // TILE, variable: str = "i") -> Loop:
    return Loop(variable, "i", count, TILE, body, False, ORIGIN)


def _parallel(body: Node, tail: Node | None = None) -> ParallelLoop:
    return ParallelLoop("i", "i", N // TILE, TILE, 2, body, tail, ORIGIN)


Call = Callable[..., Apply]


def _tiled(call: Call) -> Node:
    return _loop(call("copy", _view(X, _at("i"), TILE), _view(Y, _at("i"), TILE)))


def _through_a_buffer(call: Call) -> Node:
    steps = (call("copy", _view(X), _view(T)), call("copy", _view(T), _view(Y)))
    return Allocate(T, Block(steps), ORIGIN)


def _in_place(call: Call) -> Node:
    first = call("copy", _view(X), _view(Y, version="m"))
    return Block((first, call("add", _view(X), _view(Y, version="m"), _view(Y))))


def _with_a_tail(call: Call) -> Node:
    body = call("copy", _view(X, _at("i"), TILE), _view(Y, _at("i"), TILE))
    return Block((_loop(body, 2), call("copy", _view(X, 8, 4), _view(Y, 8, 4))))


def _written_again(call: Call) -> Node:
    """Tiles of 4 rows in parts of 3 and 1: each part is filled, and once more inside."""
    matrix, rows = (
        _tensor("m", "buffer", N, TILE),
        replace(Y, shape=(N, TILE), layout=Layout((0, 1))),
    )

    def part(start: Affine, column: int, *sizes: int) -> View:
        return View(matrix, (start, Affine(column)), sizes, "mem")

    steps = [
        call("fill", part(_at("i"), 0, 3, TILE)),
        call("fill", part(_at("i", 1), 1, 1, 2)),
        call("fill", part(_at("i", 3), 0, 1, TILE)),
    ]
    read = call("copy", part(Affine(), 0, N, TILE), View(rows, (Affine(),) * 2, (N, TILE), "mem"))
    return Allocate(matrix, Block((_loop(Block(tuple(steps))), read)), ORIGIN)


def _in_threads(call: Call) -> Node:
    return _parallel(call("copy", _view(X, _at("i"), TILE), _view(Y, _at("i"), TILE)))


RIGHT = [_tiled, _through_a_buffer, _in_place, _with_a_tail, _in_threads, _written_again]


@pytest.mark.parametrize("program", RIGHT)
def test_right_programs_are_accepted(program: Callable[[Call], Node], call: Call) -> None:
    """Loops, tails, buffers, threads, and an operand in the output's memory."""
    body = program(call)
    [output] = {
        view.tensor for own in walk(body) for view in _written(own) if view.tensor.name == "y"
    }
    verify_tree(body, (X, output))


def _written(node: Node) -> tuple[View, ...]:
    return node.operands[-1:] if isinstance(node, Apply) else ()


def _overwrites_a_live_value(call: Call) -> Node:
    first = call("copy", _view(X), _view(Y, version="m"))
    second = call("neg", _view(X), _view(Y, version="v"))
    third = call("neg", _view(Y, version="v"), _view(Y, version="s"))
    return Block((first, second, third, call("add", _view(X), _view(Y, version="m"), _view(Y))))


def _overwrites_in_an_earlier_iteration(call: Call) -> Node:
    first = call("copy", _view(X), _view(Y, version="m"))
    read = call("neg", _view(Y, _at("i"), TILE, "m"), _view(Y, _at("i"), TILE))
    wide = call("copy", _view(X), _view(Y))
    return Block((first, _loop(Block((read, wide)))))


def _leaves_elements_out(call: Call) -> Node:
    return _loop(call("copy", _view(X, _at("i"), 3), _view(Y, _at("i"), 3)))


def _leaves_the_tail_out(call: Call) -> Node:
    return _loop(call("copy", _view(X, _at("i"), TILE), _view(Y, _at("i"), TILE)), 2)


def _reads_too_early(call: Call) -> Node:
    steps = (call("copy", _view(T), _view(Y)), call("copy", _view(X), _view(T)))
    return Allocate(T, Block(steps), ORIGIN)


def _reads_what_is_partly_there(call: Call) -> Node:
    filled = call("copy", _view(X, 0, 8), _view(T, 0, 8))
    return Allocate(T, Block((filled, call("copy", _view(T), _view(Y)))), ORIGIN)


def _reads_outside(call: Call) -> Node:
    return _loop(call("copy", _view(X, _at("i", 1), TILE), _view(Y, _at("i"), TILE)))


def _writes_outside(call: Call) -> Node:
    return _loop(call("copy", _view(X, _at("i"), TILE), _view(Y, _at("i", -1), TILE)))


def _writes_to_an_input(call: Call) -> Node:
    return Block((call("fill", _view(X)), _tiled(call)))


def _threads_write_the_same(call: Call) -> Node:
    return _parallel(call("copy", _view(X), _view(Y)))


def _threads_overlap(call: Call) -> Node:
    body = call("copy", _view(X, _at("i"), TILE), _view(Y, _at("i"), TILE))
    wide = call("copy", _view(X, 6, 6), _view(Y, 6, 6))
    return ParallelLoop("i", "i", 2, TILE, 2, body, wide, ORIGIN)


def _threads_read_what_others_write(call: Call) -> Node:
    write = call("copy", _view(X, _at("i"), TILE), _view(T, _at("i"), TILE))
    read = call("copy", _view(T), _view(Y))
    return Allocate(
        T, Block((call("fill", _view(T)), _parallel(Block((write, Ordered(read)))))), ORIGIN
    )


def _reads_shifted_as_it_writes(call: Call) -> Node:
    filled = call("copy", _view(X), _view(Y))
    return Block((filled, call("neg", _view(Y, 0, 8), _view(Y, 4, 8))))


FAULTS: dict[Callable[[Call], Node], str] = {
    _overwrites_a_live_value: "has left 'y' for s there",
    _overwrites_in_an_earlier_iteration: "has left 'y' for its own value there",
    _leaves_elements_out: "not all of 'y' is written",
    _leaves_the_tail_out: "not all of 'y' is written",
    _reads_too_early: "reads 't' for its own value before it is written",
    _reads_what_is_partly_there: "reads 't' for its own value before it is written",
    _reads_outside: "reaches outside of 'x'",
    _writes_outside: "reaches outside of 'y'",
    _writes_to_an_input: "writes to 'x', an input",
    _threads_write_the_same: "iterations of a parallel loop share 'y'",
    _threads_overlap: "iterations of a parallel loop share 'y'",
    _threads_read_what_others_write: "iterations of a parallel loop share 't'",
    _reads_shifted_as_it_writes: "overwrites 'y' as it reads it",
}


@pytest.mark.parametrize("program", FAULTS)
def test_faults_are_caught(program: Callable[[Call], Node], call: Call) -> None:
    """Each ends as an internal error, which says what is wrong and what does it."""
    with pytest.raises(InternalError) as error:
        verify_tree(program(call), (X, Y))
    assert FAULTS[program] in str(error.value)


def test_an_error_names_the_rule_and_both_statements(call: Call) -> None:
    """So that the rule can be found."""
    program = Allocate(T, _overwrites_a_live_value(call), ORIGIN)
    with pytest.raises(InternalError) as error:
        verify_tree(program, (X, Y))
    assert str(error.value) == (
        "internal error: an operation(x, y, y), which computes add in 'a_rule' reads 'y' for m, "
        "but an operation(y, y), which computes neg in 'a_rule' has left 'y' for s there"
    )


@pytest.mark.parametrize("between", [False, True])
def test_writes_that_are_joined_pass_no_other(call: Call, between: bool) -> None:
    """Two halves of a value, and another one over a part of the first: before or after the second.

    What was written over the first half is what is there, in either order.
    """
    first = call("copy", _view(X, 0, 4), _view(Y, 0, 4, "m"))
    over = call("neg", _view(X, 2, 2), _view(Y, 2, 2, "v"))
    second = call("copy", _view(X, 4, 8), _view(Y, 4, 8, "m"))
    writes = (first, over, second) if between else (first, second, over)
    all_of_it = call("add", _view(X), _view(Y, version="m"), _view(Y))
    with pytest.raises(InternalError, match="has left 'y' for v there"):
        verify_tree(Block((*writes, all_of_it)), (X, Y))
    part = call("add", _view(X, 2, 2), _view(Y, 2, 2, "v"), _view(Y, 2, 2))
    rest = (call("copy", _view(X, i, n), _view(Y, i, n)) for i, n in ((0, 2), (4, 8)))
    verify_tree(Block((*writes, part, *rest)), (X, Y))


def test_iterations_that_overlap_are_told_apart(call: Call) -> None:
    """The next iteration fills a buffer while this one reads it: part by part, or too early."""

    def program(ahead: int) -> Node:
        row = _tensor("r", "buffer", N)

        def part(tensor: Tensor, start: Affine, iteration: Affine) -> View:
            return replace(_view(tensor, start, TILE), version=Version("", iteration))

        now, next_one = Affine(0, (("k", 1),)), Affine(1, (("k", 1),))
        read = call("copy", part(row, _at("j"), now), _view(Y, _at("j"), TILE))
        fill = call("copy", _view(X, _at("j"), TILE), part(row, _at("j", ahead), next_one))
        inner = Loop("j", "j", N // TILE - (ahead > 0), TILE, Block((read, fill)), False, ORIGIN)
        first = call("copy", _view(X), replace(_view(row), version=Version("", Affine())))
        last = call("copy", replace(_view(row), version=Version("", Affine(2))), _view(Y))
        outer = Loop("k", "k", 2, 1, inner, False, ORIGIN)
        return Allocate(row, Block((first, outer, last)), ORIGIN)

    verify_tree(program(0), (X, Y))
    with pytest.raises(InternalError, match="of iteration"):
        verify_tree(program(TILE), (X, Y))


COMPILED = {
    "merged rows in parts": """spec s() { input x: s32[3, 5] output y: s32[15]
      y = merge_rows(x, width = 5) }""",
    "merged rows in place": """spec s() {
      input x: f32[4, 5, 4] input w: f32[4, 5] output y: f32[4, 20]
      y = tanh(merge_rows(divide_rows(x, w), width = 4)) }""",
    "a version that is hidden": """spec s() threads 3 {
      input x: f32[61, 17] input w: f32[17, 3] input v: f32[61]
      output c: f32[3] output y: f32[61, 3]
      s = sigmoid(matmul(x, w))
      c = column_sum(s)
      y = scale_rows(s, v) }""",
}


@pytest.mark.parametrize("name", COMPILED)
def test_right_programs_with_odd_tiles_are_proved(name: str) -> None:
    """Tiles that leave a rest write parts with gaps between them, or one version over another."""
    kernel = morello.compile(
        COMPILED[name], target="x86.scalar", definitions=machines(), memo=morello.Memo()
    )
    assert kernel.verify().elements
