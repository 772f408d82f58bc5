"""Small C functions written by hand, in the form that emitters write theirs."""

from __future__ import annotations

from pathlib import Path

from morello.ir.dtypes import F32
from morello.ir.layout import Layout, row_major
from morello.ir.programs.emitted import CSource
from morello.runtime.driver import repeat_driver
from morello.runtime.library import CompiledFunction, load
from morello.runtime.signature import ArgumentInfo, Signature
from morello.toolchain.build import build
from morello.toolchain.compilers import Compiler

ADD_HEADER = """#ifndef ADD_H
#define ADD_H
void add(const float *restrict x, const float *restrict z, float *restrict y, void *workspace);
#endif
"""

ADD_SOURCE = """#include "add.h"
void add(const float *restrict x, const float *restrict z, float *restrict y, void *workspace) {
  (void)workspace;
  for (int i = 0; i < 10; ++i) y[i] = x[i] + z[i];
}
"""


def argument(
    name: str, role: str, shape: tuple[int, ...] = (10,), layout: tuple[int, ...] | None = None
) -> ArgumentInfo:
    whole = row_major(len(shape)) if layout is None else Layout(layout)
    return ArgumentInfo(name, role, F32, shape, whole)


ADD = Signature("add", (argument("x", "input"), argument("z", "weight"), argument("y", "output")))


def add_source(body: str = "") -> CSource:
    """The vector sum, with more statements after it."""
    source = ADD_SOURCE.replace("z[i];\n", f"z[i];\n  {body}\n")
    return CSource("add", source, ADD_HEADER, (), 0)


def build_and_load(
    text: str, signature: Signature, compiler: Compiler, directory: Path
) -> CompiledFunction:
    """A function from its whole text."""
    output = build({"f.c": text}, compiler, (), directory / "f.so")
    return load(output, signature)


def build_add(compiler: Compiler, directory: Path, *, driver: bool = True) -> CompiledFunction:
    files = {"add.c": ADD_SOURCE, "add.h": ADD_HEADER}
    if driver:
        files["add_repeat.c"] = repeat_driver(ADD, "add.h")
    return load(build(files, compiler, (), directory / "add.so"), ADD)
