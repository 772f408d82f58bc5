"""A whole program as a C source and a header: signatures, workspace, what the header says."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import chain

import jinja2

from morello.codegen.c.names import unique
from morello.codegen.c.packing import PackingFunction, packing_functions
from morello.codegen.c.scope import CScope
from morello.codegen.c.statements import (
    THREAD_INDEX,
    StatementWriter,
    comment,
    comment_text,
    is_parallel,
    layout_in_words,
    workspace_extent,
)
from morello.ir.functions import Function, needed
from morello.ir.programs.emitted import CSource, EmitOptions
from morello.ir.programs.tree import Program, Tensor
from morello.plugins.templates import compile_template

STANDARD = "-std=c11"
"""What is written is C11; compilers allow more without, and their headers then define more."""


class CEmitter:
    """Writes C11 with intrinsics for the targets whose ``.mtarget`` says ``emitter c11``."""

    def emit(self, program: Program, options: EmitOptions) -> CSource:
        """Source and header of one program; equal programs give equal text.

        Raises:
            MorelloError: if the program is partial or malformed, a kernel's template fails, or
                the target lacks a primitive.
        """
        writer = StatementWriter(program, options)
        name = unique(program.name, set(program.target.functions))
        taken_names = frozenset({name, *program.target.functions})
        packers = tuple(packing_functions(program, name, taken_names, options))
        packed = {packer.weight: packer.packed for packer in packers}
        taken = [packed.get(tensor, tensor) for tensor in program.arguments]
        scope = CScope(taken=taken_names)
        for tensor in taken:
            scope = scope.with_memory(tensor)
        body = writer.write(program.body, scope)
        extents = (workspace_extent(program.body, options, 0), *(p.workspace for p in packers))
        workspace = max(extents)
        parallel = is_parallel(program.body)
        restrict = f"MORELLO_{name}_RESTRICT"
        flags = (*program.target.flags, *(("-fopenmp",) if parallel else ()))
        context = {
            "name": name,
            "title": comment_text(program.title),
            "target": program.target,
            "headers": _headers(program, packers),
            "table": _table(taken, scope),
            "names": ", ".join(scope.name_of(t) for t in taken),
            "parameters": _parameters(taken, writer, scope, "restrict"),
            "declared": _parameters(taken, writer, scope, restrict),
            "restrict": restrict,
            "body": body,
            "needs": extents[0],
            "workspace": workspace,
            "packers": [_packer(p, writer) for p in packers],
            "threads": program.threads if parallel else 1,
            "flushes": program.flushes,
            "flags": " ".join((STANDARD, *flags)),
            "functions": _functions(program, body, packers, options),
            "thread_index": any(THREAD_INDEX in line for line in body),
        }
        source = _template("source.c.jinja").render(context)
        header = _template("header.h.jinja").render(context)
        packing = tuple(p.name for p in packers)
        return CSource(
            name, source, header, flags, workspace, packing, features=program.target.features
        )


@cache
def _template(name: str) -> jinja2.Template:
    text = files("morello.codegen.c").joinpath("templates", name).read_text("utf-8")
    return compile_template(text, keep_trailing_newline=True)


def _parameters(
    tensors: Sequence[Tensor], writer: StatementWriter, scope: CScope, restrict: str
) -> str:
    """Parameters of the function, one a line where they are many; ``restrict`` as it is written."""
    parts = []
    for tensor in tensors:
        const = "" if tensor.role == "output" else "const "
        parts.append(f"{const}{writer.c_type(tensor.dtype)} *{restrict} {scope.name_of(tensor)}")
    return ",\n    ".join(parts) if len(parts) > 3 else ", ".join(parts)


def _table(tensors: Sequence[Tensor], scope: CScope) -> list[str]:
    """One line an argument: name, role, dtype and shape, layout."""
    rows = [
        (scope.name_of(t), t.role, f"{t.dtype}[{', '.join(map(str, t.shape))}]") for t in tensors
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        + f"  {layout_in_words(tensor.layout)}"
        for row, tensor in zip(rows, tensors, strict=True)
    ]


def _packer(packer: PackingFunction, writer: StatementWriter) -> dict[str, object]:
    """What the templates say of a packing function."""
    return {
        "name": packer.name,
        "source": packer.source,
        "target": packer.target,
        "from": f"const {writer.c_type(packer.weight.dtype)} *",
        "to": f"{writer.c_type(packer.packed.dtype)} *",
        "body": packer.body,
        "bytes": packer.bytes,
        "workspace": packer.workspace,
        "copies": packer.packed == packer.weight,
        "before": layout_in_words(packer.weight.layout),
        "after": layout_in_words(packer.packed.layout),
    }


def _functions(
    program: Program,
    body: Sequence[str],
    packers: Sequence[PackingFunction],
    options: EmitOptions,
) -> list[dict[str, str]]:
    """What the template says of the target's functions that the program calls."""
    lines = chain(body, *(p.body for p in packers))
    return [_function(f, options) for f in needed(program.target.functions, lines)]


def _function(function: Function, options: EmitOptions) -> dict[str, str]:
    span = function.declaration.span
    place = f" ({span.source.name}:{span.line})" if options.annotate else ""
    return {
        "name": function.name,
        "comment": comment(function.doc + place),
        "text": function.text,
    }


def _headers(program: Program, packers: Sequence[PackingFunction]) -> list[str]:
    """Headers of the source: those that its own functions need, then the target's."""
    own = ["stddef.h", "stdint.h", "stdlib.h", *(["string.h"] if packers else [])]
    return list(dict.fromkeys((*own, *program.target.headers)))
