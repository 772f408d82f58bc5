"""What emitted C looks like: names, headers, comments, stable text; and what is refused."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from morello.codegen.c.emitter import CEmitter
from morello.codegen.c.semantics import literal
from morello.errors import MorelloError
from morello.ir.dtypes import F32
from morello.ir.layout import Layout
from morello.ir.programs.emitted import EmitOptions
from morello.ir.programs.tree import (
    Allocate,
    Apply,
    Block,
    KernelCall,
    Loop,
    Node,
    Ordered,
    ParallelLoop,
    Program,
    Resident,
    View,
)
from morello.language.kernel_clauses import KernelClauses
from morello.records import replace

from . import golden
from .build import at, buffer, call, loop, origin, program, tensor, view, whole
from .definitions import kernel, operation, targets
from .harness import compile_only
from .programs import element_loops, near, parallel_rows, relayed, scalar_matmul, tiled_matmul

CXX = [c for c in ("g++", "clang++-19", "clang++") if shutil.which(c)] or ["g++"]
UPDATE = "if the change is wanted, run: python -m tests.codegen.c.golden"


def _relu(name: str = "f", arguments: tuple[str, str] = ("x", "y")) -> Program:
    x = tensor(arguments[0], (4, 6), role="input")
    y = tensor(arguments[1], (4, 6), role="output")
    target = targets()["x86.scalar"]
    return program(target, [x, y], element_loops(target, "relu", [x, y], 2), name)


def _refused(made: Program) -> MorelloError:
    with pytest.raises(MorelloError) as caught:
        CEmitter().emit(made, EmitOptions())
    return caught.value


def test_golden_text() -> None:
    """The text of a program does not change unnoticed."""
    made = golden.code()
    assert made.source == (golden.DIRECTORY / "tiled.c").read_text(), UPDATE
    assert made.header == (golden.DIRECTORY / "tiled.h").read_text(), UPDATE


def test_equal_programs_give_equal_text() -> None:
    """Nothing in the text depends on what was emitted before."""
    emitter = CEmitter()
    first = emitter.emit(_relu(), EmitOptions())
    emitter.emit(parallel_rows(targets()["x86.scalar"], 7, 2, 3), EmitOptions())
    assert emitter.emit(_relu(), EmitOptions()) == first


def test_header_says_how_to_call() -> None:
    """Role, shape, dtype and layout of every argument, the workspace and the threads."""
    code = CEmitter().emit(relayed(targets()["x86.scalar"], 40, (1, 0)), EmitOptions())
    for line in (
        " * Arguments, sizes in elements, each as its layout says:",
        " *   x  input   f32[40, 40]  row-major",
        " *   y  output  f32[40, 40]  column-major",
        " * Workspace: 6400 bytes, aligned to 64 bytes, for one call at a time; its contents mean",
        " * Threads: one.",
        " * Flags for the C compiler: -std=c11 -fno-math-errno",
    ):
        assert line in code.header.splitlines()
    threads = CEmitter().emit(parallel_rows(targets()["x86.scalar"], 7, 2, 3), EmitOptions())
    assert "up to 2 where it is compiled with OpenMP" in threads.header
    assert "Flags for the C compiler: -std=c11 -fno-math-errno -fopenmp\n" in threads.header


def test_a_thread_does_what_is_next_to_each_other() -> None:
    """Unless what is done in order is in it: then threads take turns."""
    rows = parallel_rows(targets()["x86.scalar"], 6, 2, 3)
    loop = rows.body
    assert isinstance(loop, ParallelLoop)
    turns = replace(rows, body=replace(loop, body=Ordered(loop.body)))
    for nest, schedule in ((rows, "static"), (turns, "static, 1")):
        assert f" schedule({schedule})\n" in CEmitter().emit(nest, EmitOptions()).source


@pytest.mark.parametrize("compiler", CXX)
def test_header_is_c_plus_plus_too(compiler: str, tmp_path: Path) -> None:
    """It declares functions with C linkage that a C++ program can call."""
    code = CEmitter().emit(_relu("class", ("new", "this")), EmitOptions())
    (tmp_path / "f.h").write_text(code.header)
    text = f"int main() {{ return {code.name}_run(nullptr, nullptr); }}\n"
    (tmp_path / "f.cpp").write_text('#include "f.h"\n#include "f.h"\n' + text)
    command = [compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c", "f.cpp"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_source_agrees_with_its_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One translation unit may see both. What is included is not first, and not precompiled."""
    monkeypatch.delenv("CPATH", raising=False)
    code = CEmitter().emit(tiled_matmul(targets()["x86.avx2"], (3, 4, 20), 2), EmitOptions())
    compile_only(replace(code, source=code.header + code.source), tmp_path)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("double", ("float", "for")),
        ("exp", ("x_", "x")),
        ("main", ("workspace", "free")),
        ("f_", ("i0", "i1")),
        ("f", ("__m512", "NAN")),
        ("f", ("f", "f_run")),
    ],
)
def test_names_that_c_reserves(name: str, arguments: tuple[str, str], tmp_path: Path) -> None:
    """Such names are changed, and two that become alike are told apart."""
    compile_only(CEmitter().emit(_relu(name, arguments), EmitOptions()), tmp_path)


def test_registers_hide_no_argument(tmp_path: Path) -> None:
    """A tile 'c' in registers, beside an argument that is called as its first register."""
    target = targets()["x86.avx512"]
    x, y = tensor("c_0", (5,), role="input"), tensor("y", (5,), role="output")
    c = tensor("c", (5,), level="reg", vector=64)
    copy = operation("copy", 1)
    steps = (
        call(target, "vector_x16", copy, whole(x), whole(c)),
        call(target, "vector_x16", copy, whole(c), whole(y)),
    )
    code = CEmitter().emit(program(target, [x, y], buffer(c, *steps)), EmitOptions())
    assert "__m512 c_2_0;" in code.source
    compile_only(code, tmp_path)


def test_tensors_beyond_two_gigabytes(tmp_path: Path) -> None:
    """Offsets are of type ptrdiff_t, and no constant overflows an int."""
    size = 80_000
    a, b, c = (
        tensor(n, (size, size), role="output" if n == "c" else "input") for n in ("a", "b", "c")
    )
    target = targets()["x86.scalar"]
    code = CEmitter().emit(scalar_matmul(target, a, b, c), EmitOptions())
    assert "ptrdiff_t m = 0" in code.source
    compile_only(code, tmp_path)
    corner = near(view(c, [size - 1, size - 1], [1, 1]))
    last = call(target, "element", operation("fill", 2, value=1.0), corner)
    code = CEmitter().emit(program(target, [c], last), EmitOptions())
    assert f"c[{size * size - 1}] = 1.0f;" in code.source
    compile_only(code, tmp_path)


def test_comments_name_the_rules() -> None:
    """With annotations also file and line, the kernel, and what a cache holds."""
    made = _relu()
    part = View(made.arguments[0], (at("i0"), at("i1")), (4, 6), "l1")
    noted = replace(made, body=Resident(whole(made.arguments[0]), made.body, origin("pack")))
    plain = CEmitter().emit(noted, EmitOptions()).source
    assert "{  /* tile */" in plain
    assert "pack" not in plain
    annotated = CEmitter().emit(noted, EmitOptions(annotate=True)).source
    assert part.sizes == (4, 6)
    assert "/* pack (rules/by_hand.mrules:2): 4 x 6 of x held by mem */" in annotated
    assert "{  /* tile (rules/by_hand.mrules:1) */" in annotated
    assert "/* element (scalar.mtarget:" in annotated


def test_a_title_cannot_end_the_comment(tmp_path: Path) -> None:
    """The title is the user's text."""
    for title in ("x */ int y; /*", "x */ int y; /*\n z */ int y;"):
        made = replace(_relu(), title=title)
        compile_only(CEmitter().emit(made, EmitOptions()), tmp_path)


def test_a_missing_primitive_is_named() -> None:
    """s32 has no division."""
    x, z = (tensor(n, (4,), dtype="s32", role="input") for n in "xz")
    y = tensor("y", (4,), dtype="s32", role="output")
    target = targets()["x86.scalar"]
    error = _refused(program(target, [x, z, y], element_loops(target, "quotient", [x, z, y], 1)))
    assert str(error) == "target 'x86.scalar' has no primitive 'sqrt' for s32 x 1"
    assert error.help == (
        'declare it in a .mtarget file: primitives s32 x 1 on x86.scalar { sqrt "..." }'
    )


def test_a_partial_program_is_refused() -> None:
    """An operation without a kernel has no C."""
    made = _relu()
    hole = Apply(operation("relu", 2), (4, 6), tuple(map(whole, made.arguments)))
    assert (
        str(_refused(replace(made, body=hole))) == "the program still has 'relu' without a kernel"
    )


def test_a_tensor_outside_its_life_is_refused() -> None:
    """So is a loop variable outside its loop."""
    made = _relu()
    x, y = made.arguments
    copy = operation("copy", 2)
    lost = call(
        made.target,
        "element",
        copy,
        view(x, [0, 0], [1, 1]),
        view(tensor("lost", (4, 6)), [0, 0], [1, 1]),
    )
    assert "uses 'lost' where no such tensor is live" in str(_refused(replace(made, body=lost)))
    moved = call(
        made.target, "element", copy, view(x, [at("q"), 0], [1, 1]), view(y, [0, 0], [1, 1])
    )
    assert "loop variable 'q' outside its loop" in str(_refused(replace(made, body=moved)))


def test_registers_cannot_move_with_a_loop() -> None:
    """Only unrolled loops index registers, and only at the start of a register."""
    target = targets()["x86.avx512"]
    y = tensor("y", (32,), role="output")
    c = tensor("c", (32,), level="reg", vector=64)
    fill = operation("fill", 1, value=0.0)

    def made(offset: str | int) -> Program:
        place = at(offset) if isinstance(offset, str) else offset
        one = call(target, "vector_x16", fill, view(c, [place], [16]))
        return program(target, [y], buffer(c, loop("i", 2, 16, one)))

    assert "is in registers but moves with 'i'" in str(_refused(made("i")))
    assert "element [8] is not the first lane of a register" in str(_refused(made(8)))


@pytest.mark.parametrize(
    ("rows", "columns", "panels", "level", "ahead", "cache"),
    [
        (2, 32, 16, "mem", 1024, 2),
        (2, 16, 16, "mem", 1024, 2),
        (2, 32, 16, "l3", 12 * 64, 1),
        (2, 16, 16, "l3", 64 * 64, 1),
        (6, 32, 16, "mem", 32 * 64, 1),
        (2, 32, 16, "l2", 8 * 64, 1),
        (2, 32, 16, "l1", 0, 1),
        (2, 32, 0, "mem", 1024, 2),
        (2, 32, 0, "l2", 1024, 2),
        (6, 32, 0, "mem", 1024, 2),
        (2, 32, 0, "l1", 1024, 2),
    ],
)
def test_what_is_read_from_beyond_l1_is_prefetched(
    rows: int, columns: int, panels: int, level: str, ahead: int, cache: int
) -> None:
    """Panels, the farther the earlier; of rows, what lies further along, for L2.

    So it is with few rows of A for panels in memory, too. In L3, they share what L1 waits for.
    """
    target = targets()["x86.avx512"]
    a, b = tensor("a", (rows, 9)), tensor("b", (9, columns), layout=Layout((0, 1), panels))
    c = tensor("c", (rows, columns), level="reg", vector=64)
    product = replace(operation("matmul", 0), accumulating=True)
    views = (whole(a), replace(whole(b), level=level), whole(c))
    body = buffer(c, call(target, "multiply_add_f32_x16", product, *views))
    source = CEmitter().emit(program(target, [a, b], body), EmitOptions()).source
    lines = 5 * columns // 16 if ahead else 0
    found = re.findall(r"\+ (\d+)\), _MM_HINT_T(\d)", source)
    assert found == [(str(ahead), str(cache - 1))] * lines
    assert f"row_ = {panels or columns};" in source


def _between(made: Program, *around: tuple[str, str] | None) -> list[str]:
    """Lines of the program whose first kernels stand between these calls, and no comments."""
    new = iter(around)

    def changed(node: Node) -> Node:
        match node:
            case KernelCall():
                own = KernelClauses(between=next(new, None))
                return replace(node, kernel=replace(node.kernel, clauses=own))
            case Block(steps=steps):
                return replace(node, steps=tuple(map(changed, steps)))
            case ParallelLoop(body=body, tail=tail):
                return replace(node, body=changed(body), tail=tail and changed(tail))
            case Loop(body=body) | Allocate(body=body):
                return replace(node, body=changed(body))
        return node

    source = CEmitter().emit(replace(made, body=changed(made.body)), EmitOptions()).source
    body = source[source.rindex("void f(") : source.rindex("int f_run(")]
    lines = (re.sub(r"/\*.*?\*/", "", line).strip() for line in body.splitlines())
    return [line for line in lines if line]


def test_what_kernels_stand_between_is_called_once() -> None:
    """Around the whole function, however often the kernel is called in it."""
    lines = _between(_relu(), ("begin", "end"))
    assert lines[1:3] == ["(void)workspace;", "begin();"]
    assert lines[-2:] == ["end();", "}"]
    assert [line for line in lines if "end()" in line or "begin()" in line] == [
        "begin();",
        "end();",
    ]


def test_each_thread_calls_what_its_kernels_stand_between() -> None:
    """Around its part; the last in is the first out; and nothing where no kernel wants it."""
    made = replace(parallel_rows(targets()["x86.scalar"], 7, 2, 3), name="f")
    lines = _between(made, ("begin", "end"), ("open", "close"), None, ("open", "close"))
    calls = [line for line in lines if re.fullmatch(r"(if|} else|\w+\(\);|for \(.* t = ).*", line)]
    assert calls == [
        "for (ptrdiff_t t = 0; t < 8; t += 2) {",
        "if (t < 6) {",
        "begin();",
        "open();",
        "close();",
        "end();",
        "} else {",
        "open();",
        "close();",
    ]


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ Q[0] }};", "'Q' is undefined"),
        ("{{ Y[9] }};", "operand 'Y': index [9] is outside its sizes [2, 4]"),
        ("{{ Y[0 }};", "unexpected '}'"),
        ("{{ Y['a'] }};", "fails"),
        ("{{ Y.pointr(0) }};", "fails: there is no '.pointr' here: did you mean 'pointer'?"),
        ("{{ Y.stride() }};", "fails: stride() missing 1 required positional argument"),
        ("{{ X.stride(0) }};", "operand 'X': it is in registers, which have no address"),
    ],
)
def test_a_wrong_template_names_the_kernel(template: str, message: str) -> None:
    """With the place of its declaration."""
    target = targets()["x86.avx2"]
    y = tensor("y", (2, 4), role="output")
    v = tensor("v", (2, 4), level="reg", vector=32)
    store = call(target, "store_rows_f32_x8", operation("copy", 2), whole(v), whole(y))
    wrong = replace(store, kernel=replace(store.kernel, template=template))
    error = _refused(program(target, [y], buffer(v, wrong)))
    assert message in str(error)
    assert "kernel 'store_rows_f32_x8' (avx2.mtarget:" in str(error)


def test_mixed_lanes_are_refused() -> None:
    """A kernel that is written from a declaration has all operands in memory or all in vectors."""
    target = targets()["x86.avx512"]
    y = tensor("y", (4,), role="output")
    v = tensor("v", (4,), level="reg", vector=64)
    store = call(target, "vector_x16", operation("copy", 1), whole(v), whole(y))
    wrong = replace(store, kernel=kernel(target, "element"))
    assert "its operands have 1, 16 lanes" in str(_refused(program(target, [y], buffer(v, wrong))))


def test_large_totals_leave_the_stack() -> None:
    """Buffers that are small one by one still do not fill the stack."""
    target = targets()["x86.scalar"]
    y = tensor("y", (1000,), role="output")
    body = element_loops(target, "fill", [y], 1, value=0.0)
    for i in range(10):
        body = buffer(tensor(f"b{i}", (1000,)), body)
    code = CEmitter().emit(program(target, [y], Block((body,))), EmitOptions())
    assert code.workspace_bytes == 2 * 4032
    assert code.source.count("_Alignas(64)") == 8


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e38 * 1e38, "INFINITY"),
        (-1e39, "(-INFINITY)"),
        (-3.4028235e38, "(-3.4028235e+38f)"),
        (1e-50, "0.0f"),
    ],
)
def test_numbers_are_those_of_their_type(value: float, text: str) -> None:
    """What a product of constants makes too large for f32 is infinite in it."""
    assert text == literal(value, F32)
