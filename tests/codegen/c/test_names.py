"""Names of specs in C: no macro, keyword or function of any header that is included breaks them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from morello.codegen.c.emitter import CEmitter
from morello.codegen.c.names import identifier, unique
from morello.ir.programs.emitted import EmitOptions
from morello.ir.programs.tree import Program
from morello.records import replace

from .build import program, tensor
from .definitions import targets
from .programs import element_loops

HEADERS = """#include <immintrin.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
"""
LANGUAGES = [("gcc", "c11", "c"), ("gcc", "gnu17", "c"), ("g++", "gnu++17", "c++")]


def _macros(compiler: str, standard: str, language: str) -> list[str]:
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    command = [compiler, f"-std={standard}", "-x", language, "-fopenmp", "-dM", "-E", "-"]
    done = subprocess.run(command, input=HEADERS, capture_output=True, text=True, check=True)
    return sorted({*re.findall(r"^#define ([A-Za-z]\w*)", done.stdout, re.MULTILINE)})


def _program(name: str, x: str, y: str) -> Program:
    arrays = [tensor(x, (4, 6), role="input"), tensor(y, (4, 6), role="output")]
    target = targets()["x86.scalar"]
    return program(target, arrays, element_loops(target, "relu", arrays, 2), name)


@pytest.mark.parametrize(("compiler", "standard", "language"), LANGUAGES)
def test_no_macro_is_a_name(compiler: str, standard: str, language: str) -> None:
    """None of the macros that there are with the headers of a source, under any standard."""
    macros = _macros(compiler, standard, language)
    assert len(macros) > 50
    assert [name for name in macros if identifier(name) in macros] == []


@pytest.mark.parametrize("standard", ["c11", "gnu17"])
def test_operands_called_as_macros_compile(standard: str, tmp_path: Path) -> None:
    """Source and header, with warnings as errors: a function for each macro, and named so."""
    macros = _macros("gcc", standard, "c")
    texts = []
    for number, macro in enumerate(macros):
        code = CEmitter().emit(_program(f"f{number}", macro, "y"), EmitOptions())
        texts += [code.header, code.source]
        code = CEmitter().emit(_program(macro, "x", macro), EmitOptions())
        texts += [code.header, code.source]
    _compile(tmp_path, HEADERS + "\n".join(texts), f"-std={standard}", "-x", "c", compiler="gcc")


def test_headers_of_operands_called_as_macros_are_cpp(tmp_path: Path) -> None:
    """A program in C++ that includes the same system headers can use them."""
    macros = _macros("g++", "gnu++17", "c++")
    headers = [
        CEmitter().emit(_program(f"f{number}", macro, "y"), EmitOptions()).header
        for number, macro in enumerate(macros)
    ]
    text = HEADERS + "\n".join(headers)
    _compile(tmp_path, text, "-std=gnu++17", "-x", "c++", compiler="g++")


def _compile(directory: Path, text: str, *flags: str, compiler: str) -> None:
    (directory / "all.c").write_text(text)
    command = [compiler, "-Wall", "-Wextra", "-Werror", "-fno-math-errno", "-fsyntax-only"]
    done = subprocess.run(
        [*command, *flags, "all.c"], cwd=directory, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:2000]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a", "a"),
        ("A", "A"),
        ("Wq", "Wq"),
        ("M_PI", "v_M_PI"),
        ("WQ", "v_WQ"),
        ("W1", "v_W1"),
        ("I", "v_I"),
        ("L_tmpnam", "v_L_tmpnam"),
        ("float", "float_0"),
        ("linux", "linux_0"),
        ("sinf64x", "sinf64x_0"),
        ("select", "select_0"),
        ("pid_t", "pid_t_0"),
        ("3d", "v3d"),
        ("__AVX2__", "v_AVX2"),
    ],
)
def test_what_becomes_of_a_name(name: str, expected: str) -> None:
    """The same on every machine: names that are safe stay as they are."""
    assert identifier(name) == expected


def test_a_number_makes_no_macro() -> None:
    """Names that are told apart by numbers keep their form."""
    assert unique("A", {"A"}) == "A_2"
    assert unique("A_2", {"A_2"}) == "A_2_2"


def test_header_names_the_standard() -> None:
    """The flags that it shows are those that the file is checked with."""
    code = CEmitter().emit(_program("f", "x", "y"), EmitOptions())
    assert " * Flags for the C compiler: -std=c11 -fno-math-errno\n" in code.header
    bare = replace(targets()["x86.scalar"], flags=())
    made = replace(_program("f", "x", "y"), target=bare)
    header = CEmitter().emit(made, EmitOptions()).header
    assert " * Flags for the C compiler: -std=c11\n" in header
