"""Kernels for rows in C: what is a loop, what is written out, and where vectors begin."""

from __future__ import annotations

import re

import pytest
from morello_x86.emitter import CEmitter

from morello.program.source import EmitOptions
from morello.program.tree import Block

from .build import call, program, tensor, whole
from .definitions import operation, targets

TARGET = "x86.avx512"


def _code(name: str, kernel: str, *shapes: tuple[int, ...], rank: int = 1) -> list[str]:
    """The lines of one call between the arguments, the last shape being the output's."""
    target = targets()[TARGET]
    roles = ["input"] * (len(shapes) - 1) + ["output"]
    arguments = [
        tensor(f"t{i}", shape, role=role)
        for i, (shape, role) in enumerate(zip(shapes, roles, strict=True))
    ]
    step = call(target, kernel, operation(name, rank), *map(whole, arguments))
    source = CEmitter().emit(program(target, arguments, Block((step,))), EmitOptions()).source
    return source.splitlines()


def _loops(lines: list[str]) -> list[tuple[int, int, int]]:
    """Where loops end, their steps, and how many vectors are stored or added in one iteration."""
    found = []
    for number, line in enumerate(lines):
        if head := re.search(r"j_ < (\d+); j_ \+= (\d+)\) \{", line):
            body = lines[number + 1 : lines.index(line[: len(line) - len(line.lstrip())] + "}")]
            found.append((int(head[1]), int(head[2]), len(body)))
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
    assert part * parts + rest == 32768


def test_streamed_vectors_are_aligned() -> None:
    """From where the first one can be; elements before it, and after the last, are not streamed."""
    code = "\n".join(_code("relu", "stream_x16", (1, 1000), (1, 1000), rank=2))
    assert "head_ = (int)((0 - (uintptr_t)&t1[0]) % 64 / 4);" in code
    assert re.findall(r"_mm512_stream_ps\(&t1\[0\] \+ head_", code)
    assert not re.search(r"_mm512_stream_ps\(&t1\[\d+\],", code)
    assert "rest_ = 24 - head_;" in code
    assert code.index("_mm_sfence();") > code.rindex("_mm512_mask_storeu_ps")
