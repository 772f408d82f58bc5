"""Kernels for rows in C: what is a loop, what is written out, and where vectors begin."""

from __future__ import annotations

import re

import pytest

from morello.codegen.c.emitter import CEmitter
from morello.ir.programs.emitted import EmitOptions
from morello.ir.programs.tree import Block
from morello.records import replace

from .build import at, call, loop, program, tensor, view, whole
from .definitions import operation, targets

TARGET = "x86.avx512"


def _code(
    name: str, kernel: str, *shapes: tuple[int, ...], rank: int = 1, streams: int | None = None
) -> list[str]:
    """The lines of one call between the arguments, the last shape being the output's.

    ``streams``: how many memory has, where that is not the target's.
    """
    target = targets()[TARGET]
    if streams is not None:
        memory = replace(target.farthest, streams=streams)
        target = replace(target, levels=(*target.levels[:-1], memory))
    roles = ["input"] * (len(shapes) - 1) + ["output"]
    arguments = [
        tensor(f"t{i}", shape, role=role)
        for i, (shape, role) in enumerate(zip(shapes, roles, strict=True))
    ]
    step = call(target, kernel, operation(name, rank), *map(whole, arguments))
    source = CEmitter().emit(program(target, arguments, Block((step,))), EmitOptions()).source
    return source.splitlines()


def _loops(lines: list[str]) -> list[tuple[int, int, int]]:
    """Where loops end, their steps, and how many vectors are stored or added in one iteration.

    A loop over one block of a long sum ends where that of the blocks does.
    """
    ends = dict(re.findall(r"const ptrdiff_t (end\w+) = .* : (\d+);", "\n".join(lines)))
    found = []
    for number, line in enumerate(lines):
        if head := re.search(r"j_ < (\w+); j_ \+= (\d+)\) \{", line):
            body = lines[number + 1 : lines.index(line[: len(line) - len(line.lstrip())] + "}")]
            end = str(head[1])
            found.append((int(ends.get(end, end)), int(head[2]), len(body)))
            lines = [*lines[:number], "", *lines[number + len(body) + 2 :]]
    return found


def test_a_short_row_is_written_out() -> None:
    """Up to two iterations of what would be a loop."""
    code = _code("relu", "vector_x16", (1, 130), (1, 130), rank=2)
    assert _loops(code) == []
    assert sum("_mm512_storeu_ps" in line for line in code) == 8
    assert sum("_mm512_mask_storeu_ps" in line and "1u << 2" in line for line in code) == 1


def test_a_row_is_a_loop_with_its_end_after_it() -> None:
    code = _code("relu", "vector_x16", (1, 1000), (1, 1000), rank=2)
    assert _loops(code) == [(960, 64, 4)]
    stored = [line for line in code if "store" in line and "j_" not in line]
    assert ["960", "976", "992"] == [re.findall(r"t1\[(\d+)\]", line)[0] for line in stored]


@pytest.mark.parametrize(
    ("name", "kernel", "shapes", "parts"),
    [
        ("row_sum", "reduce_x16", ((1, 32768), (1,)), 4),
        ("relu", "vector_x16", ((1, 32768), (1, 32768)), 4),
        ("add", "vector_x16", ((1, 32768), (1, 32768), (1, 32768)), 2),
    ],
)
def test_a_long_row_is_done_in_parts(
    name: str, kernel: str, shapes: tuple[tuple[int, ...], ...], parts: int
) -> None:
    """So many that operands together are as many streams as memory has; not whole pages apart."""
    rank = 1 if name == "row_sum" else 2
    (part, step, _), (rest, _, _) = _loops(_code(name, kernel, *shapes, rank=rank))
    assert step == 16 * 4 // parts
    assert 512 <= part * 4 % 4096 <= 4096 - 512
    assert 32768 - 64 <= part * parts + rest <= 32768


@pytest.mark.parametrize(("streams", "parts"), [(2, 2), (3, 2), (4, 4), (7, 4), (0, 4)])
def test_parts_have_equally_many_vectors(streams: int, parts: int) -> None:
    """Three parts of four vectors would leave one out; 0 streams are any number."""
    code = _code("row_sum", "reduce_x16", (1, 32768), (1,), streams=streams)
    (part, step, vectors), (rest, _, _) = _loops(code)
    assert (step, vectors) == (16 * 4 // parts, 4)
    assert 32768 - 64 <= part * parts + rest <= 32768


@pytest.mark.parametrize(
    ("target", "name", "size", "level", "moves", "asked"),
    [
        ("x86.avx512", "exp_sum_of_rows", 1024, "l1", True, [0, 16, 32, 48]),
        ("x86.avx512", "exp_sum_of_rows", 4096, "l1", True, [0, 16, 32, 48]),
        ("x86.avx2", "exp_sum_of_rows", 1024, "l1", True, [0, 16, 32, 48]),  # two vectors a line
        ("x86.avx512", "exp_sum_of_rows", 64, "l1", True, []),  # written out
        ("x86.avx512", "exp_sum_of_rows", 1024, "mem", True, []),  # nothing holds it
        ("x86.avx512", "exp_sum_of_rows", 1024, "l1", False, []),  # nothing comes after it
        ("x86.avx512", "row_max", 1024, "l1", True, []),  # would only wait
    ],
)
def test_the_next_part_of_a_row_is_fetched_beside_functions(
    target: str, name: str, size: int, level: str, moves: bool, asked: list[int]
) -> None:
    """Each line of it once, as many parts ahead as are 12 KiB or more."""
    machine = targets()[target]
    x, y = tensor("x", (8192,)), tensor("y", (), role="output")
    part = replace(view(x, [at("j") if moves else 0], [size]), level=level)
    others = [tensor("m", ())] if name == "exp_sum_of_rows" else []
    kernel = "reduce_x16" if target == "x86.avx512" else "reduce_x8"
    adding = operation(name, 0, accumulating=True)
    step = loop(
        "j", 8192 // size, size, call(machine, kernel, adding, part, *map(whole, others), whole(y))
    )
    source = CEmitter().emit(program(machine, [x, *others, y], step), EmitOptions()).source
    found = re.findall(r"&x\[.*?\] \+ j_(?: \+ (\d+))?\) \+ (\d+)\), _MM_HINT_T0", source)
    ahead = max(size * 4, 12 * 1024)
    assert [(start, ahead) for start in asked] == [(int(s or 0), int(f)) for s, f in found]


@pytest.mark.parametrize(("level", "asked"), [("mem", 4), ("l3", 0)])
def test_functions_of_a_part_in_memory_fetch_the_next_one(level: str, asked: int) -> None:
    """From L3 it comes soon enough by itself."""
    machine = targets()["x86.avx512"]
    x, y = tensor("x", (8192,), level=level, role="input"), tensor("y", (8192,), role="output")
    parts = [replace(view(t, [at("j")], [1024]), level="l1") for t in (x, y)]
    step = loop("j", 8, 1024, call(machine, "vector_x16", operation("exp", 1), *parts))
    source = CEmitter().emit(program(machine, [x, y], step), EmitOptions()).source
    assert len(re.findall(r"_mm_prefetch\(.*&x\[.*12288\), _MM_HINT_T0", source)) == asked


def test_a_reduction_loads_aligned_vectors_of_an_argument() -> None:
    """What comes before and after them are parts of vectors; buffers are aligned."""
    code = "\n".join(_code("row_max", "reduce_x16", (1, 1000), (1,), rank=1))
    assert "head_ = (int)((0 - (uintptr_t)&t0[0]) % 64 / 4);" in code
    assert "_mm512_loadu_ps(&t0[0] + head_ + j_)" in code
    assert code.count("_mm512_maskz_loadu_ps") == 3


def test_streamed_vectors_are_aligned() -> None:
    """From where the first one can be; elements before it, and after the last, are not streamed."""
    code = "\n".join(_code("relu", "stream_x16", (1, 1000), (1, 1000), rank=2))
    assert "head_ = (int)((0 - (uintptr_t)&t1[0]) % 64 / 4);" in code
    assert re.findall(r"_mm512_stream_ps\(&t1\[0\] \+ head_", code)
    assert not re.search(r"_mm512_stream_ps\(&t1\[\d+\],", code)
    assert "rest_ = 24 - head_;" in code
    assert "_mm512_stream_ps(&t1[0] + head_ + 976," in code  # the last vector, if it is whole
    assert code.index("_mm_prefetch((const char *)((uintptr_t)(&t1[999]))") < code.index("for (")
    assert code.index("_mm_sfence();") > code.rindex("_mm512_mask_storeu_ps")


def test_a_loop_waits_once_for_what_it_stores_past_the_caches() -> None:
    """A thread does, when all is stored."""
    machine = targets()["x86.avx512"]
    x, y = tensor("x", (8, 1024)), tensor("y", (8, 1024), role="output")
    rows = [view(t, [at("i"), 0], [1, 1024]) for t in (x, y)]
    step = loop("i", 8, 1, call(machine, "stream_x16", operation("relu", 2), *rows))
    source = CEmitter().emit(program(machine, [x, y], step), EmitOptions()).source
    assert source.count("_mm_sfence();") == 1
    assert re.search(r"\n  }\n  _mm_sfence\(\);\n}", source)


def test_products_are_added_by_one_instruction_where_there_is_one() -> None:
    """The end of a row is not: what is past it does not count. A target may lack the primitive."""
    code = _code("row_square_sum", "reduce_x16", (1, 1000), (1,))
    assert len([line for line in code if "_mm512_fmadd_ps" in line]) == 6
    target = targets()["x86.avx512"]
    assert target.primitives["f32", 16].fuses
    assert not target.primitives["s32", 16].fuses
    assert not target.primitives["f32", 1].fuses
