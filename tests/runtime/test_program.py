"""Functions as programs: right results pass, planted errors are caught."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from morello.errors import MorelloError, UsageError
from morello.ir.programs.emitted import CSource
from morello.runtime.program import built_program
from morello.runtime.signature import Signature
from morello.toolchain.compilers import Compiler
from morello.toolchain.machine import Machine
from tests.runtime.functions import ADD, add_source, argument

Array = np.ndarray[Any, np.dtype[Any]]

X = np.arange(10, dtype=np.float32)


def run(
    source: CSource, signature: Signature, inputs: list[Array], compiler: Compiler, **options: Any
) -> tuple[Array, ...]:
    """The outputs, under the sanitizers unless said otherwise."""
    options = {"sanitize": True, **options}
    with built_program(source, signature, machine=Machine(compiler), **options) as program:
        return program.results(*inputs)


def test_a_right_function_passes(compiler: Compiler) -> None:
    (y,) = run(add_source(), ADD, [X, 2 * X], compiler)
    assert np.array_equal(3 * X, y)


@pytest.mark.parametrize(
    ("body", "report"),
    [
        ("y[10] = 1;", "heap-buffer-overflow"),
        ("y[-1] = 1;", "AddressSanitizer"),
        ("((float *)x)[10] = 1;", "heap-buffer-overflow"),
        ("*(volatile float *)(z + 10);", "heap-buffer-overflow"),
        ("*(float *)workspace = 1;", "AddressSanitizer"),
        ("volatile int n = 2147483647; n = n + 1;", "signed integer overflow"),
        ("volatile float f = 1e20f; volatile int n = (int)f; (void)n;", "outside the range"),
        ("((float *)x)[3] = 99;", "wrote to its input 'x'"),
    ],
)
def test_planted_errors_are_caught(compiler: Compiler, body: str, report: str) -> None:
    with pytest.raises(MorelloError, match=report) as error:
        run(add_source(body), ADD, [X, X], compiler)
    assert "'add'" in str(error.value)
    assert error.value.help


def test_what_is_not_written_is_nan(compiler: Compiler) -> None:
    source = add_source()
    half = CSource("add", source.source.replace("i < 10", "i < 5"), source.header, (), 0)
    (y,) = run(half, ADD, [X, X], compiler)
    assert np.isnan(y).tolist() == [False] * 5 + [True] * 5


HEADER = "void f(const float *x, float *y, float *n, void *workspace);\n"

SOURCE = """#include "f.h"
#include <stdint.h>
void f(const float *x, float *y, float *n, void *workspace) {
  float *w = workspace;
  for (int i = 0; i < 6; ++i) w[i] = x[i];
  for (int i = 0; i < 6; ++i) y[i] = w[i] * 2;
  n[0] = (float)((uintptr_t)x % 64) + (float)((uintptr_t)workspace % 64);
}
"""


def test_layouts_workspace_and_alignment(compiler: Compiler) -> None:
    arguments = (
        argument("x", "input", (2, 3), (1, 0)),
        argument("y", "output", (2, 3), (1, 0)),
        argument("n", "output", (1,)),
    )
    x = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    source = CSource("f", SOURCE, HEADER, (), 24)
    y, n = run(source, Signature("f", arguments, 24), [x], compiler)
    assert np.array_equal(2 * x, y)
    assert n.tolist() == [8.0]
    with pytest.raises(MorelloError, match="heap-buffer-overflow"):
        run(source, Signature("f", arguments, 23), [x], compiler)


@pytest.mark.parametrize("name", ["harness", "sizes", "h_sizes", "arguments", "h_i", "workspace"])
def test_names_of_the_harness_hide_no_function(compiler: Compiler, name: str) -> None:
    text = f"void {name}(const float *x, float *y, void *workspace)"
    body = " { (void)workspace; y[0] = x[0]; }\n"
    source = CSource(name, f'#include "{name}.h"\n{text}{body}', f"{text};\n", (), 0)
    signature = Signature(name, (argument("x", "input", (1,)), argument("y", "output", (1,))))
    (y,) = run(source, signature, [X[3:4]], compiler)
    assert y.tolist() == [3.0]


def test_functions_that_never_end_are_stopped(compiler: Compiler) -> None:
    source = add_source("for (volatile int i = 0; i >= 0;) { }")
    with pytest.raises(MorelloError, match="did not end within"):
        run(source, ADD, [X, X], compiler, timeout=0.5)


def test_a_compiler_without_sanitizers_is_named(
    compiler: Compiler, fake: Callable[[str, str], Path]
) -> None:
    refuse = 'case "$*" in *-fsanitize*) exit 1;; esac'
    script = f'{refuse}\nexec {shlex.join(compiler.command)} "$@"'
    poor = Compiler((str(fake("poor", script)),), "other", "poor 1")
    with pytest.raises(MorelloError, match=r"poor 1\) has no address and undefined-behaviour"):
        run(add_source(), ADD, [X, X], poor)
    with pytest.raises(MorelloError, match="the C compiler failed"):
        run(add_source("?"), ADD, [X, X], compiler)


def test_inputs_are_checked_before_it_runs(compiler: Compiler) -> None:
    with built_program(add_source(), ADD, machine=Machine(compiler)) as program:
        with pytest.raises(UsageError, match="was given 1 arrays; expected 2"):
            program.results(X)
        with pytest.raises(UsageError, match="'z' has dtype float64"):
            program.results(X, X.astype(np.float64))
        assert not (program.directory / "arguments").exists()


@pytest.mark.parametrize("sanitize", [False, True])
def test_outputs_hold_what_they_did_before(compiler: Compiler, sanitize: bool) -> None:
    """A program runs as often as one likes, each time on other arrays."""
    source = add_source()
    half = CSource("add", source.source.replace("i < 10", "i < 5"), source.header, (), 0)
    with built_program(half, ADD, machine=Machine(compiler), sanitize=sanitize) as program:
        for number in (1, 2):
            out = np.full(10, number, np.float32)
            (y,) = program.results(number * X, X, out=[out])
            assert y is out
            assert y.tolist() == [*((number + 1) * X[:5]), *[number] * 5]


ENTRIES = """
#include <stddef.h>
size_t add_workspace_size(void) { return 0; }
int add_run(const float *x, const float *z, float *y) {
  add(x, z, y, NULL);
  return 0;
}
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("", "", None),
        ("return 0; }", "return 64; }", "another size of workspace"),
        ("  return 0;", "  return -1;", "cannot allocate its workspace"),
        ("  return 0;", "  y[9] = 0;\n  return 0;", "other results from '_run'"),
        ("add(x, z, y, NULL);", "(void)x, (void)z, (void)y;", "other results from '_run'"),
    ],
)
def test_both_entries_must_agree(
    compiler: Compiler, old: str, new: str, message: str | None
) -> None:
    """What one of them leaves in the outputs does not pass for a result of the other."""
    made = add_source()
    text = made.source + (ENTRIES.replace(old, new, 1) if old else ENTRIES)
    header = made.header.replace(
        "#endif",
        "#include <stddef.h>\nsize_t add_workspace_size(void);\n"
        "int add_run(const float *x, const float *z, float *y);\n#endif",
    )
    source = CSource("add", text, header, (), 0)
    with built_program(source, ADD, machine=Machine(compiler), both_entries=True) as program:
        if message is None:
            (y,) = program.results(X, X)
            assert np.array_equal(2 * X, y)
        else:
            with pytest.raises(MorelloError, match=message):
                program.results(X, X)
