"""Copies that kernels make as they first use what they copy: when, where, and what they read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from morello.codegen.c.emitter import CEmitter
from morello.codegen.first_use import copy_on_first_use
from morello.ir.layout import Axis, Layout
from morello.ir.programs.emitted import EmitOptions
from morello.ir.programs.tree import Affine, Block, KernelCall, Node, Program, View, walk
from morello.records import replace
from morello.reference.interpreter import run_program

from .build import at, buffer, call, loop, parallel, program, tensor, view, whole
from .definitions import operation, runnable, targets
from .harness import run_everywhere
from .programs import element_loops, near

M, K, N = 14, 7, 40
ROWS, COLUMNS = 4, 32


class Made:
    """A product of M x K x N in tiles of C, with B copied to panels first.

    Rows are divided into blocks of two tiles, those and columns into tiles; what is left
    comes after. B is a part of a tensor.
    """

    def __init__(self, panels: int = 16, width: int = N + 3) -> None:
        self.target = targets()["x86.avx512"]
        self.a = tensor("a", (M, K), role="input")
        self.b = tensor("b", (K + 2, width), role="input")
        self.c = tensor("c", (M, N), role="output")
        self.packed = tensor("b_l2", (K, N), layout=Layout((0, 1), panels), level="l2")
        self.source = view(self.b, [1, 2], [K, N])

    def product(self, row: Affine, rows: int, column: Affine, columns: int) -> Node:
        """One tile of C, in registers and then stored."""
        tile = tensor("c_reg", (rows, columns), level="reg", vector=64)
        line = view(tile, [at("r"), 0], [1, columns])
        fill = call(self.target, "vector_x16", operation("fill", 2, value=0.0), line)
        out = view(self.c, [row.plus(at("r")), column], [1, columns])
        store = call(self.target, "vector_x16", operation("copy", 2), line, near(out))
        operands = (
            near(view(self.a, [row, 0], [rows, K])),
            view(self.packed, [0, column], [K, columns]),
            whole(tile),
        )
        matmul = operation("matmul", accumulating=True)
        return buffer(
            tile,
            loop("r", rows, 1, fill, unrolled=True),
            call(self.target, "multiply_add_f32_x16", matmul, *operands),
            loop("r", rows, 1, store, unrolled=True),
        )

    def row(self, row: Affine, rows: int) -> Node:
        """All columns of some rows."""
        full = loop("n", N // COLUMNS, COLUMNS, self.product(row, rows, at("n"), COLUMNS))
        rest = self.product(row, rows, Affine(N - N % COLUMNS), N % COLUMNS)
        return Block((full, rest))

    def rows(self) -> Node:
        """All of C."""
        block, start = 2 * ROWS, at("m").plus(at("i"))
        tiles = loop("i", 2, ROWS, self.row(start, ROWS))
        done = M // block * block
        rest = loop("j", (M - done) // ROWS, ROWS, self.row(at("j", done), ROWS))
        last = self.row(Affine(M - (M - done) % ROWS), (M - done) % ROWS)
        return Block((loop("m", M // block, block, tiles), rest, last))

    def fill(self) -> Node:
        """The copy of B, element by element."""
        place = [at("p"), at("q")]
        source = [at("p", 1), at("q", 2)]
        parts = (near(view(self.b, source, [1, 1])), near(view(self.packed, place, [1, 1])))
        one = call(self.target, "element", operation("copy", 2), *parts)
        return loop("p", K, 1, loop("q", N, 1, one))

    def around(self, *steps: Node, copied: View | None = None) -> Node:
        """The buffer, filled and used."""
        copied = copied or self.source
        return replace(buffer(self.packed, self.fill(), *steps), copied=copied)

    def program(self, body: Node) -> Program:
        """The function."""
        return program(self.target, [self.a, self.b, self.c], body)


def _calls(node: Node) -> Iterator[KernelCall]:
    return (each for each in walk(node) if isinstance(each, KernelCall))


def _kept(node: Node) -> list[tuple[tuple[str, ...], View]]:
    return [(c.kept.first, c.kept.source) for c in _calls(node) if c.kept is not None]


def _inputs(made: Made) -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    rng = np.random.default_rng(3)
    return [rng.standard_normal(t.shape, np.float32) for t in (made.a, made.b)]


@pytest.mark.skipif("x86.avx512" not in runnable(), reason="this machine lacks AVX-512")
@pytest.mark.parametrize("panels", [0, 16])
def test_keeping_changes_no_result(panels: int) -> None:
    """By the interpreter, and as C."""
    made = Made(panels)
    node = copy_on_first_use(made.around(made.rows()))
    assert len(_kept(node)) == 2
    inputs = _inputs(made)
    expected = inputs[0].astype(np.float64) @ inputs[1][1 : K + 1, 2 : N + 2]
    (executed,) = run_program(made.program(node), inputs)
    np.testing.assert_allclose(executed, expected, rtol=1e-4, atol=1e-4)
    code = CEmitter().emit(made.program(node), EmitOptions())
    assert "if (m == 0 && i == 0) {" in code.source
    for (found,) in run_everywhere(made.program(node), code, inputs):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_the_first_rows_keep_all() -> None:
    """Those of the first tile of the first block, its tail of columns too; no other rows do."""
    made = Made()
    node = copy_on_first_use(made.around(made.rows()))
    first, rest = _kept(node)
    assert first == (("m", "i"), view(made.b, [1, at("n", 2)], [K, COLUMNS]))
    assert rest == (("m", "i"), view(made.b, [1, 2 + COLUMNS], [K, N - COLUMNS]))
    assert not [c for c in _calls(node) if c.operands[0].tensor == made.b]
    assert copy_on_first_use(node) == node


def test_what_is_kept_is_in_the_workspace() -> None:
    """However small: gcc said of such an array that it may be uninitialized."""
    made = Made()
    for body, on_stack in (
        (made.around(made.rows()), True),
        (copy_on_first_use(made.around(made.rows())), False),
    ):
        source = CEmitter().emit(made.program(body), EmitOptions()).source
        assert ("float b_l2[" in source) == on_stack
        assert ("b_l2 = (float *)" in source) != on_stack


def test_unrolled_rows_keep_in_the_first() -> None:
    """No condition is left to be asked at run time."""
    made = Made()
    body = loop("m", 2, ROWS, made.row(at("m"), ROWS), unrolled=True)
    source = (
        CEmitter().emit(made.program(copy_on_first_use(made.around(body))), EmitOptions()).source
    )
    assert source.count("kept_ =") == 2
    assert "if (m" not in source


@pytest.mark.parametrize(("width", "ahead", "level"), [(500, 16, 0), (512, 32, 1)])
def test_rows_that_share_sets_of_l1_are_fetched_to_l2(width: int, ahead: int, level: int) -> None:
    """There would be no room for them in L1, as there is for panels that were kept."""
    made = Made(width=width)
    source = (
        CEmitter()
        .emit(made.program(copy_on_first_use(made.around(made.rows()))), EmitOptions())
        .source
    )
    found = set(re.findall(r"row_\) \+ (\d+)\), _MM_HINT_T(\d)\)", source))
    assert {("512", "0"), (str(ahead * 4 * width), str(level))} == found


def test_one_use_reads_and_keeps() -> None:
    """Without loops in which the copy stays there is nothing to begin with."""
    made = Made()
    assert [
        first for first, _ in _kept(copy_on_first_use(made.around(made.row(Affine(), ROWS))))
    ] == [(), ()]


def test_columns_before_rows() -> None:
    """Each strip of columns is kept as its own rows begin."""
    made = Made()
    strip = loop("m", 3, ROWS, made.product(at("m"), ROWS, at("n"), 8))
    assert [
        first for first, _ in _kept(copy_on_first_use(made.around(loop("n", 5, 8, strip))))
    ] == [("m",)]


def test_a_source_in_another_order() -> None:
    """Of a transposed tensor, rows are read where its columns lie, if those are neighbours."""
    made = Made()
    turned = tensor("b", (N, K), layout=(1, 0), role="input")
    source = View(turned, (Affine(), Affine()), (K, N), "mem", (Axis(1), Axis(0)))
    node = copy_on_first_use(made.around(made.row(Affine(), ROWS), copied=source))
    assert [kept.place((2, 3)) for _, kept in _kept(node)][1] == (Affine(35), Affine(2))
    source = replace(source, tensor=replace(turned, layout=Layout((0, 1))))
    assert not _kept(copy_on_first_use(made.around(made.row(Affine(), ROWS), copied=source)))


def _out(made: Made) -> Node:
    """Something that cannot keep what it reads."""
    out = tensor("d", made.packed.shape)
    return buffer(out, element_loops(made.target, "copy", [made.packed, out], 2))


COPIED_AHEAD: dict[str, Callable[[Made], Node]] = {
    "read before it can be kept": lambda made: made.around(Block((_out(made), made.rows()))),
    "read when the loops are done": lambda made: made.around(made.rows(), _out(made)),
    "read by threads that begin at once": lambda made: made.around(
        parallel("m", 3, ROWS, made.row(at("m"), ROWS), None)
    ),
    "of what is written meanwhile": lambda made: made.around(made.rows(), copied=whole(made.c)),
    "of panels": lambda made: made.around(
        made.rows(), copied=whole(replace(made.packed, name="x", level="mem"))
    ),
    "of what the kernel does not reach": lambda made: made.around(
        made.rows(), copied=replace(made.source, level="reg")
    ),
    "changed on the way": lambda made: buffer(made.packed, made.fill(), made.rows()),
}


@pytest.mark.parametrize("case", COPIED_AHEAD)
def test_what_is_copied_ahead(case: str) -> None:
    node = COPIED_AHEAD[case](Made())
    assert copy_on_first_use(node) == node
    assert _kept(copy_on_first_use(Made().around(Made().rows())))
