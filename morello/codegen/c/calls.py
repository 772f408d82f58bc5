"""Kernel calls in C: from the kernel's template, or from the operator's declaration.

A template is jinja2 with C. It sees each operand by the name in the kernel's pattern (`COperand`),
the pattern's variables as integers, the kernel's parameters, vectors of its type and lanes, and the
functions of `FUNCTIONS`. Names of its local variables end with ``_``.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from textwrap import dedent

import jinja2

from morello.codegen.c.operands import COperand
from morello.codegen.c.scope import CScope
from morello.codegen.c.semantics import MeaningWriter
from morello.codegen.c.streamed import row_writer
from morello.codegen.c.template_vectors import template_vectors
from morello.codegen.c.vector_rows import RowWriter
from morello.errors import MorelloError
from morello.ir.programs.tree import KernelCall, View
from morello.ir.target import Microkernel, Target
from morello.ir.vector_axis import ROW_KINDS
from morello.language.source import Span
from morello.language.target_ast import SPEC, VECTOR
from morello.language.template_lines import template_line
from morello.plugins.templates import compile_template
from morello.records import replace

_LOCAL = re.compile(r"[\w*)]\s+\**\w+_\s*(?:\[\w*\]\s*)?=")
"""A declaration; the type may end in attributes."""


_TEMPLATE = "<template>"
"""What jinja2 calls the file of a template that is none."""

_CLASS = re.compile(r"\b[A-Z]\w*\.(?=\w+\(\))")
"""The class of a method in what Python says of a call."""


def low_bits(count: int) -> str:
    """A mask of so many lanes: ``low_bits(5)`` is ``0x1f``."""
    return f"{(1 << count) - 1:#x}"


def lane_mask(count: int, lanes: int) -> str:
    """Initialisers of a vector mask, first lane first: ``lane_mask(1, 4)`` is ``-1, 0, 0, 0``."""
    return ", ".join("-1" if lane < count else "0" for lane in range(lanes))


FUNCTIONS = {
    "lane_mask": lane_mask,
    "low_bits": low_bits,
    "max": max,
    "min": min,
    "range": range,
}


@lru_cache(maxsize=256)
def _compiled(text: str) -> jinja2.Template:
    return compile_template(text, FUNCTIONS)


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
        given["capacity"] = lambda level: target.level_by_name[level].capacity
        if vectors := call.kernel.declaration.vectors:
            given[VECTOR] = template_vectors(target.primitives[vectors])
        lines = _render(call.kernel, call.kernel.template, operands, given)
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


def _render(
    kernel: Microkernel,
    template: str,
    operands: tuple[COperand, ...],
    given: Mapping[str, object],
) -> list[str]:
    context: dict[str, object] = {operand.name: operand for operand in operands}
    try:
        text = _compiled(dedent(template)).render({**context, **given})
    except MorelloError as error:
        place = _failing_line(kernel, template, error)
        raise MorelloError(f"kernel '{kernel.name}' ({place}): {error}", help=error.help) from error
    except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError) as error:
        place = _failing_line(kernel, template, error)
        raise MorelloError(
            f"the template of kernel '{kernel.name}' ({place}) fails: {_CLASS.sub('', str(error))}",
            help="a template sees the operands and variables of the kernel's pattern, and "
            + ", ".join(sorted(FUNCTIONS)),
        ) from error
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def _failing_line(kernel: Microkernel, template: str, error: Exception) -> Span:
    """The line of the template that was rendered last; jinja2 puts it into the traceback."""
    lines = [
        number
        for frame, number in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename == _TEMPLATE
    ]
    if not lines:
        return kernel.declaration.span
    return template_line(kernel.declaration, template, lines[-1])
