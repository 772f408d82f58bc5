"""Kernel calls in C: from the kernel's template, or from the operator's declaration.

A template is jinja2 with C. It sees each operand by the name in the kernel's pattern (`COperand`),
the pattern's variables as integers, the kernel's parameters, vectors of its type and lanes, the
macros of the target, and the functions of `kernel_templates`. Names of its local variables end with
``_``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from morello.codegen.c.kernel_templates import rendered
from morello.codegen.c.operands import COperand
from morello.codegen.c.scope import CScope
from morello.codegen.c.semantics import MeaningWriter
from morello.codegen.c.streamed import row_writer
from morello.codegen.c.template_vectors import template_vectors
from morello.codegen.c.vector_rows import RowWriter
from morello.ir.programs.tree import KernelCall, View
from morello.ir.target import Target
from morello.ir.vector_axis import ROW_KINDS
from morello.language.target_ast import SPEC, VECTOR
from morello.records import replace

_LOCAL = re.compile(r"[\w*)]\s+\**\w+_\s*(?:\[\w*\]\s*)?=")
"""A declaration; the type may end in attributes."""


def kernel_lines(target: Target, call: KernelCall, scope: CScope) -> list[str]:
    """The statements of a kernel call, in braces where they declare variables.

    Raises:
        MorelloError: if the template is wrong or asks for what an operand cannot give, or the
            target lacks a primitive.
    """
    if call.kept is None:
        return _lines(target, call, scope)
    later = _lines(target, replace(call, kept=None), scope)
    variables = [scope.variables[name] for name in call.kept.first]
    if any(isinstance(value, int) and value for value in variables):
        return later
    first = _lines(target, call, scope)
    conditions = [f"{name} == 0" for name in variables if isinstance(name, str)]
    if not conditions:
        return first
    begins = f"if ({' && '.join(conditions)}) {{"
    return [begins, *_indented(first), "} else {", *_indented(later), "}"]


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def _lines(target: Target, call: KernelCall, scope: CScope) -> list[str]:
    """The statements of a call that keeps what it can, or of one that keeps nothing."""
    if call.kernel.match.kind in ROW_KINDS:
        lines = writer_of_rows(target, call, scope).lines()
    elif call.kernel.template is None:
        lines = MeaningWriter(target, call, _operands(target, call, scope)).lines()
    else:
        operands = _operands(target, call, scope)
        given = dict[str, object]([*call.bindings, *call.kernel.declaration.given])
        given[SPEC] = {
            name: int(value) if float(value).is_integer() else value
            for name, value in call.operation.scalars
        }
        if vectors := call.kernel.declaration.vectors:
            given[VECTOR] = template_vectors(target.primitives[vectors])
        lines = rendered(target, call.kernel, {**{o.name: o for o in operands}, **given})
    if not any(_LOCAL.search(line) for line in lines):
        return lines
    return ["{", *_indented(lines), "}"]


def writer_of_rows(target: Target, call: KernelCall, scope: CScope) -> RowWriter:
    """What writes a call of a kernel for rows."""
    return row_writer(target, call, _operands(target, call, scope))


def _operands(target: Target, call: KernelCall, scope: CScope) -> tuple[COperand, ...]:
    patterns = call.kernel.match.operands
    named = len(patterns) == len(call.operands) and all(p.name for p in patterns)
    names = tuple(p.name for p in patterns) if named else call.operation.names

    def cache(level: str) -> int:
        return target.cache_number(target.level_by_name[level])

    def operand(name: str, view: View, *, reads: bool, kept: View | None = None) -> COperand:
        here, home = cache(view.level), cache(view.tensor.level)
        return COperand(name, view, scope, reads=reads, cache=here, home=home, kept=kept)

    operands = [
        operand(n, v, reads=call.operation.reads(p))
        for p, (n, v) in enumerate(zip(names, call.operands, strict=True))
    ]
    if call.kept is not None:
        own, place = operands[call.kept.position], call.kept.source
        kept = operand(own.name, place, reads=True, kept=own.view)
        operands[call.kept.position] = kept
    return tuple(operands)
