"""Programs that tests compile: a loop nest for each thing that an emitter can get wrong."""

from __future__ import annotations

from collections.abc import Sequence

from morello.ir.programs.tree import Affine, Block, Node, ParallelLoop, Program, Tensor, View
from morello.ir.target import Target

from .build import at, buffer, call, loop, parallel, program, tensor, view, whole
from .definitions import operation

LANES = {"x86.scalar": 1, "x86.avx2": 8, "x86.avx512": 16}


def element_loops(
    target: Target, name: str, operands: Sequence[Tensor], rank: int, **value: float
) -> Node:
    """An elementwise operator, element by element."""
    shape = operands[-1].shape
    index = [at(f"i{d}") for d in range(len(shape))]
    views = [near(view(t, index, [1] * len(shape))) for t in operands]
    body: Node = call(target, "element", operation(name, rank, accumulating=False, **value), *views)
    for d in reversed(range(len(shape))):
        body = loop(f"i{d}", shape[d], 1, body)
    return body


def near(part: View) -> View:
    """The same part, held by the nearest cache."""
    return View(part.tensor, part.offsets, part.sizes, "l1")


def scalar_matmul(target: Target, a: Tensor, b: Tensor, c: Tensor) -> Program:
    """A matrix product, plain or batched, of single elements; ``c`` is filled with 0 first."""
    *batch, m, n = c.shape
    rank = len(batch)
    outer = [f"b{d}" for d in range(rank)]
    lead = [at(v) for v in outer]
    ones = [1] * (rank + 2)
    views = (
        near(view(a, [*lead, at("m"), at("k")], ones)),
        near(view(b, [*lead, at("k"), at("n")], ones)),
        near(view(c, [*lead, at("m"), at("n")], ones)),
    )
    inner = call(target, "element", operation("matmul", rank, accumulating=True), *views)
    body: Node = loop("m", m, 1, loop("n", n, 1, loop("k", a.shape[-1], 1, inner)))
    for variable, size in zip(reversed(outer), reversed(batch), strict=True):
        body = loop(variable, size, 1, body)
    fill = element_loops(target, "fill", [c], rank + 2, value=0.0)
    return program(target, [a, b, c], Block((fill, body)), "product")


def tiled_matmul(
    target: Target, sizes: tuple[int, int, int], tile: int, dtype: str = "f32"
) -> Program:
    """A matrix product of sizes m, k, n, with packed slices of B and register tiles of C."""
    m, k, n = sizes
    vector = LANES[target.name] * 4
    a = tensor("a", (m, k), dtype=dtype, role="input")
    b = tensor("b", (k, n), dtype=dtype, role="input")
    c = tensor("c", (m, n), dtype=dtype, role="output")
    width = 2 * LANES[target.name]
    full = n // width

    def strip(view_b: View, view_c: View) -> Node:
        packed = tensor("b", view_b.sizes, dtype=dtype)
        row = tensor("row", (1, view_b.sizes[1]), dtype=dtype, level="reg", vector=vector)
        move = loop("p", k, 1, buffer(row, *copy_row(target, view_b, packed, row)))
        return buffer(packed, move, packed_column(target, a, whole(packed), view_c, tile))

    steps: list[Node] = []
    if full:
        views = (view(b, [0, at("n")], [k, width]), view(c, [0, at("n")], [m, width]))
        steps.append(loop("n", full, width, strip(*views)))
    if n % width:
        rest = n % width
        views = (view(b, [0, n - rest], [k, rest]), view(c, [0, n - rest], [m, rest]))
        steps.append(strip(*views))
    return program(target, [a, b, c], Block(tuple(steps)), "tiled")


def suffix(target: Target, dtype: str) -> str:
    """Ending of the names of the target's vector kernels."""
    return f"{dtype}_x{LANES[target.name]}"


def transfer(target: Target) -> str:
    """The kernel that loads or stores rows of vectors."""
    return f"vector_x{LANES[target.name]}"


def copy_row(target: Target, source: View, packed: Tensor, row: Tensor) -> list[Node]:
    """Row ``p`` of a view to the packed buffer, through registers."""
    copy = operation("copy", 2)
    n = source.sizes[1]
    part = View(source.tensor, (at("p"), source.offsets[1]), (1, n), "l1")
    line = near(view(packed, [at("p"), 0], [1, n]))
    return [
        call(target, transfer(target), copy, part, whole(row)),
        call(target, transfer(target), copy, whole(row), line),
    ]


def packed_column(target: Target, a: Tensor, packed: View, c: View, tile: int) -> Node:
    """All rows of a strip of C, ``tile`` at a time."""
    m = c.sizes[0]
    steps: list[Node] = []
    if m // tile:
        part = View(c.tensor, (at("m"), c.offsets[1]), (tile, c.sizes[1]), "l1")
        steps.append(loop("m", m // tile, tile, register_tile(target, a, packed, part)))
    if m % tile:
        start = m - m % tile
        part = View(c.tensor, (Affine(start), c.offsets[1]), (m % tile, c.sizes[1]), "l1")
        steps.append(register_tile(target, a, packed, part))
    return Block(tuple(steps))


def register_tile(target: Target, a: Tensor, packed: View, c: View) -> Node:
    """One tile of C in registers over the whole reduction, then stored."""
    rows, n = c.sizes
    dtype = a.dtype.name
    end, vector = suffix(target, dtype), LANES[target.name] * 4
    tile = tensor("c", (rows, n), dtype=dtype, level="reg", vector=vector)
    row = tensor("b", (1, n), dtype=dtype, level="reg", vector=vector)
    line = view(tile, [at("r"), 0], [1, n])
    start = c.offsets[0]
    element = near(view(a, [start.plus(at("r")), at("k")], [1, 1]))
    name = f"multiply_add_scalar_{end}"
    product = call(target, name, operation("matmul", accumulating=True), element, whole(row), line)
    source = near(view(packed.tensor, [at("k"), 0], [1, n]))
    load = call(target, transfer(target), operation("copy", 2), source, whole(row))
    fill = call(target, f"vector_x{LANES[target.name]}", operation("fill", 2, value=0.0), line)
    out = View(c.tensor, (start.plus(at("r")), c.offsets[1]), (1, n), "l1")
    store = call(target, transfer(target), operation("copy", 2), line, out)
    k = packed.sizes[0]
    return buffer(
        tile,
        loop("r", rows, 1, fill, unrolled=True),
        loop("k", k, 1, buffer(row, load, loop("r", rows, 1, product, unrolled=True))),
        loop("r", rows, 1, store, unrolled=True),
    )


def vector_rows(target: Target, name: str, lengths: Sequence[int], dtype: str) -> Program:
    """An elementwise operator on rows of many lengths, each an argument of exactly its size."""
    vector = LANES[target.name] * 4
    group = operation(name, 1)
    inputs = len(group.names) - 1
    arguments: list[Tensor] = []
    outputs: list[Tensor] = []
    steps: list[Node] = []
    for n in lengths:
        ins = [tensor(f"x{i}_{n}", (n,), dtype=dtype, role="input") for i in range(inputs)]
        out = tensor(f"y_{n}", (n,), dtype=dtype, role="output")
        held = [
            tensor(f"v{i}", (n,), dtype=dtype, level="reg", vector=vector)
            for i in range(inputs + 1)
        ]
        copy = operation("copy", 1)
        work: list[Node] = [
            call(target, transfer(target), copy, whole(x), whole(v))
            for x, v in zip(ins, held, strict=False)
        ]
        work.append(call(target, f"vector_x{LANES[target.name]}", group, *map(whole, held)))
        work.append(call(target, transfer(target), copy, whole(held[-1]), whole(out)))
        body: Node = Block(tuple(work))
        for part in reversed(held):
            body = buffer(part, body)
        arguments += ins
        outputs.append(out)
        steps.append(body)
    return program(target, [*arguments, *outputs], Block(tuple(steps)), "rows")


def relayed(target: Target, size: int, layout: tuple[int, ...]) -> Program:
    """A copy by way of two buffers in turn, each of ``size`` elements squared."""
    shape = (size, size)
    x = tensor("x", shape, role="input")
    y = tensor("y", shape, role="output", layout=layout)
    one, two = tensor("one", shape, layout=layout), tensor("two", shape)
    first = element_loops(target, "copy", [x, one], 2)
    second = element_loops(target, "copy", [one, y], 2)
    third = element_loops(target, "copy", [x, two], 2)
    fourth = element_loops(target, "add", [two, two, y], 2)
    return program(
        target, [x, y], Block((buffer(one, first, second), buffer(two, third, fourth))), "relayed"
    )


def parallel_tiles(target: Target, shape: tuple[int, int], tile: tuple[int, int]) -> Program:
    """Twice the positive part, by a grid of tiles in parallel, each with a buffer of its own."""
    x, y = tensor("x", shape, role="input"), tensor("y", shape, role="output")
    (rows, bottom), (columns, right) = map(divmod, shape, tile)

    def row(name: str, place: Affine | int, height: int) -> ParallelLoop:
        def part(start: Affine | int, width: int) -> Node:
            parts = (view(t, [place, start], [height, width]) for t in (x, y))
            return twice_positive(target, *parts)

        tail = part(shape[1] - right, right) if right else None
        return parallel(name, columns, tile[1], part(at(name), tile[1]), tail, threads=1)

    tail = row("r", shape[0] - bottom, bottom) if bottom else None
    body = parallel("t", rows, tile[0], row("s", at("t"), tile[0]), tail, threads=3)
    return program(target, [x, y], body, "tiles")


def twice_positive(target: Target, x: View, y: View) -> Node:
    """Twice the positive part of a view, by way of a buffer."""
    own, ones = tensor("own", x.sizes), [1, 1]
    places = [offset.plus(at(i)) for offset, i in zip(x.offsets, ("i0", "i1"), strict=True)]
    element_x, element_y = (near(view(v.tensor, places, ones)) for v in (x, y))
    mid = near(view(own, [at("i0"), at("i1")], ones))
    relu = call(target, "element", operation("relu", 2), element_x, mid)
    twice = call(target, "element", operation("add", 2), mid, mid, element_y)
    rows, columns = x.sizes
    return buffer(own, *(loop("i0", rows, 1, loop("i1", columns, 1, c)) for c in (relu, twice)))


def parallel_rows(target: Target, rows: int, step: int, columns: int) -> Program:
    """Twice the positive part, by rows in parallel, each thread with a buffer of its own."""
    x = tensor("x", (rows, columns), role="input")
    y = tensor("y", (rows, columns), role="output")

    def part(start: Affine | int, count: int) -> Node:
        return twice_positive(target, *(view(t, [start, 0], [count, columns]) for t in (x, y)))

    full, rest = divmod(rows, step)
    body, tail = part(at("t"), step), part(rows - rest, rest) if rest else None
    return program(target, [x, y], parallel("t", full, step, body, tail), "halves")
