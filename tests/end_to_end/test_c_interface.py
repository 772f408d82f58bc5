"""The C that comes out: other compilers, C++, and its three functions.

That nothing in it is undefined is tested in `tests.codegen.test_sanitized`.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import morello
from morello.reference.goals import goal_reference
from morello.runtime.library import load
from morello.runtime.signature import ArgumentInfo, aligned_bytes
from morello.toolchain.build import STANDARD_FLAGS, build
from morello.toolchain.compilers import Compiler, find_compiler, supports_openmp

from .kernels import Array, compiled, compiler, runnable, small_inputs, to_run

STRICT = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic")

KERNELS = [
    ("matmul", (13, 29, 37), "x86.avx512"),
    ("matmul", (13, 17, 19), "x86.avx2"),
    ("matmul", (13, 17, 19), "x86.scalar"),
    ("s32", (13, 17, 19), "x86.avx512"),
    ("columns_b", (5, 7, 9), "x86.avx512"),
    ("panels_b", (13, 17, 35), "x86.avx512"),
    ("panels_b", (3, 5, 48), "x86.scalar"),
    ("bytes", (5, 9, 35), "x86.avx512_vnni"),
    ("bytes", (3, 6, 17), "x86.avx2"),
    ("bf16", (5, 6, 11), "x86.avx2"),
    ("weight", (16, 512, 35), "x86.avx2"),
    ("weight columns", (3, 7, 33), "x86.avx512"),
    ("weight bytes", (13, 34, 37), "x86.avx512_vnni"),
    ("weight", (5, 6, 11), "x86.scalar"),
    ("bf16", (5, 13, 35), "x86.avx512_bf16"),
    ("narrow", (53,), "x86.avx2"),
    ("wrap", (5, 7), "x86.scalar"),
    ("relu", (1003,), "x86.avx512"),
]
IDS = [f"{spec}-{target}" for spec, _, target in KERNELS]


@pytest.fixture(scope="module", params=KERNELS, ids=IDS)
def kernel(request: pytest.FixtureRequest) -> morello.Kernel:
    """A compiled spec."""
    return compiled(*request.param)


@pytest.fixture(scope="module", params=["gcc", "clang"])
def chosen(request: pytest.FixtureRequest) -> Compiler:
    """A compiler."""
    return compiler(request.param)


@pytest.fixture(scope="module")
def library(
    kernel: morello.Kernel, chosen: Compiler, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """What it makes of a kernel, strictly: with the target's flags and no others."""
    files = {f"{kernel.name}.c": kernel.source, f"{kernel.name}.h": kernel.header}
    flags = (*kernel.c_source.flags, "-pedantic")
    return build(files, chosen, flags, tmp_path_factory.mktemp("library") / "k.so")


def _write(kernel: morello.Kernel, directory: Path) -> tuple[Path, Path]:
    source, header = directory / f"{kernel.name}.c", directory / f"{kernel.name}.h"
    source.write_text(kernel.source)
    header.write_text(kernel.header)
    return source, header


def _run(*command: str | Path) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.mark.sample(3)
def test_no_compiler_warns(library: Path) -> None:
    """Of anything in C11: warnings are errors."""
    assert {"-std=c11", "-Wall", "-Wextra", "-Werror"} <= {*STANDARD_FLAGS}
    assert library.is_file()


@pytest.mark.sample(3)
def test_every_compiler_gives_the_same(
    kernel: morello.Kernel, library: Path, chosen: Compiler
) -> None:
    """What is computed does not depend on who compiled it."""
    runnable(kernel)
    function = load(library, kernel.signature, flags=kernel.c_source.flags)
    inputs = small_inputs(kernel)
    np.testing.assert_array_equal(function(*inputs), _expected(kernel, inputs))


def _expected(kernel: morello.Kernel, inputs: list[Array]) -> Array:
    """What the reference says of small integers, where every order of summation is exact."""
    pairs = zip(kernel.signature.inputs, inputs, strict=True)
    given = {argument.name: argument.unpack(array) for argument, array in pairs}
    (output,), (right,) = kernel.signature.outputs, goal_reference(kernel.goal, given)
    return output.pack(right.values.astype(output.dtype.numpy))


def test_a_cpp_program_can_use_the_header(tmp_path: Path) -> None:
    """The header is C++ too, and the names are those of C."""
    cpp = shutil.which("g++") or shutil.which("clang++")
    if cpp is None:
        pytest.skip("there is no C++ compiler")
    kernel = to_run(compiled, "matmul", (13, 17, 19), "x86.scalar")
    source, header = _write(kernel, tmp_path)
    caller = tmp_path / "caller.cpp"
    caller.write_text(
        f'#include "{header.name}"\n'
        "#include <vector>\n"
        "int main() {\n"
        "  std::vector<float> a(13 * 17, 1), b(17 * 19, 2), c(13 * 19);\n"
        f"  if ({kernel.name}_run(a.data(), b.data(), c.data()) != 0) return 2;\n"
        "  for (float x : c) if (x != 34) return 1;\n"
        "  return 0;\n"
        "}\n"
    )
    object_file = tmp_path / "k.o"
    flags = ("-Wall", "-Wextra", "-Werror")
    _run(*find_compiler().command, *STRICT, "-c", source, "-o", object_file)
    _run(cpp, *flags, caller, object_file, "-o", tmp_path / "caller", "-lm")
    _run(tmp_path / "caller")


@pytest.mark.sample(3)
def test_run_owns_its_workspace(kernel: morello.Kernel, library: Path) -> None:
    """``NAME_run`` computes the same as ``NAME`` and says that it did."""
    runnable(kernel)
    loaded = ctypes.CDLL(str(library))
    size = loaded[f"{kernel.name}_workspace_size"]
    size.restype = ctypes.c_size_t
    assert kernel.signature.workspace_bytes == size()
    inputs = small_inputs(kernel)
    expected = _expected(kernel, inputs)
    result = np.empty_like(expected)
    named = zip(kernel.signature.inputs, inputs, strict=True)
    passed = [_packed(kernel, loaded, argument, array) for argument, array in named]
    assert loaded[f"{kernel.name}_run"](*map(_pointer, [*passed, result])) == 0
    np.testing.assert_array_equal(result, expected)


def _packed(
    kernel: morello.Kernel, library: ctypes.CDLL, argument: ArgumentInfo, array: Array
) -> Array:
    """What the function takes of an argument; that of a weight is made in C."""
    if argument.packing is None:
        return array
    size = library[f"{argument.packing.function}_size"]
    size.restype = ctypes.c_size_t
    packed, workspace = map(aligned_bytes, (size(), kernel.signature.workspace_bytes))
    library[argument.packing.function](*map(_pointer, (array, packed, workspace)))
    return packed


def _pointer(array: Array) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


class TestThreads:
    """A spec with ``threads 2``, on sizes that two threads cannot share evenly."""

    SIZES = (131, 16, 16)

    def test_with_openmp(self) -> None:
        """It is parallel, and right."""
        if not supports_openmp(find_compiler()):
            pytest.skip("the C compiler has no OpenMP")
        kernel = to_run(compiled, "threads", self.SIZES, "x86.scalar")
        assert "-fopenmp" in kernel.c_source.flags
        assert "num_threads(2)" in kernel.source
        kernel.verify()

    def test_without_openmp(self, tmp_path: Path) -> None:
        """The same file, compiled without it, is a program with one thread and no warning."""
        kernel = to_run(compiled, "threads", self.SIZES, "x86.scalar")
        flags = [flag for flag in kernel.c_source.flags if flag != "-fopenmp"]
        library = build({"k.c": kernel.source}, find_compiler(), flags, tmp_path / "k.so")
        inputs = small_inputs(kernel)
        result = load(library, kernel.signature, flags=flags)(*inputs)
        np.testing.assert_array_equal(result, np.matmul(*inputs))

    def test_a_sum_is_the_same_in_every_run(self) -> None:
        """Threads share a long sum, and add their parts in order, to the last bit."""
        kernel = to_run(compiled, "threads", (1, 65537, 1), "x86.avx2")
        assert "#pragma omp ordered depend(source)" in kernel.source
        random = np.random.default_rng(1)
        inputs = [random.standard_normal(t.shape, np.float32) for t in kernel.signature.inputs]
        first = kernel(*inputs)
        assert all(np.array_equal(first, kernel(*inputs)) for _ in range(20))

    def test_many_threads_get_tiles(self) -> None:
        """More threads than rows that are worth one; nothing divides anything evenly."""
        kernel = to_run(compiled, "many threads", (37, 67, 41), "x86.scalar")
        assert "#pragma omp parallel for collapse(2)" in kernel.source
        kernel.verify()

    def test_it_is_predicted_to_pay(self) -> None:
        """Work enough to divide costs less with two threads than with one."""
        alone = compiled("matmul", self.SIZES, "x86.scalar")
        assert compiled("threads", self.SIZES, "x86.scalar").cost < alone.cost


def test_two_programs_of_one_spec_are_linked_together(tmp_path: Path) -> None:
    """Each under a name of its own: all functions of both are there, and compute their own."""
    text = "spec relu(N) { input x: f32[N] output y: f32[N] y = relu(x) }"
    for n in (3, 5):
        kernel = morello.compile(text, defines={"N": n}, target="x86.scalar", name=f"relu_{n}")
        assert kernel.name == f"relu_{n}"
        _write(kernel, tmp_path)
    (tmp_path / "caller.c").write_text(
        '#include "relu_3.h"\n#include "relu_5.h"\n'
        "int main(void) {\n"
        "  const float x[5] = {-1, 2, -3, 4, 5};\n"
        "  float y[5] = {9, 9, 9, 9, 9}, z[5] = {9, 9, 9, 9, 9};\n"
        "  if (relu_3_run(x, y) != 0 || relu_5_run(x, z) != 0) return 2;\n"
        "  return !(y[1] == 2 && y[3] == 9 && y[4] == 9 && z[2] == 0 && z[3] == 4 && z[4] == 5);\n"
        "}\n"
    )
    sources = [tmp_path / name for name in ("caller.c", "relu_3.c", "relu_5.c")]
    _run(*find_compiler().command, *STRICT, *sources, "-o", tmp_path / "caller", "-lm")
    _run(tmp_path / "caller")
