"""Templates of kernels, and the macros that they share, rendered to lines of C."""

from __future__ import annotations

import re
import traceback
from collections.abc import Mapping
from functools import lru_cache, partial
from textwrap import dedent

import jinja2

from morello.errors import MorelloError
from morello.ir.target import Microkernel, Target
from morello.language.source import Span
from morello.language.target_ast import MacroDecl
from morello.language.template_lines import template_line
from morello.plugins.templates import compile_template

_TEMPLATE = "<template>"
"""What jinja2 calls the file of a kernel's template, which is none."""

_MACRO = "<macro>"
"""The same of a macro, before its name."""

_HEADING = 1
"""Lines of what is compiled of a macro that stand before its template."""

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


def rendered(target: Target, kernel: Microkernel, values: Mapping[str, object]) -> list[str]:
    """The lines of a kernel's template, filled in.

    Args:
        target: Whose macros the template may use.
        kernel: A kernel with a template.
        values: What the template knows, beside macros and `FUNCTIONS`.

    Raises:
        MorelloError: The template is wrong, or asks for what an operand cannot give.
    """

    def capacity(level: str) -> int | None:
        return target.level_by_name[level].capacity

    functions: dict[str, object] = {"capacity": capacity}
    macros = {n: partial(_written, macro, functions) for n, macro in target.macros.items()}
    try:
        template = _compiled(dedent(kernel.template or ""))
        text = template.render({**functions, **macros, **values})
    except MorelloError as error:
        place = _failing_line(target, kernel, error)
        raise MorelloError(f"kernel '{kernel.name}' ({place}): {error}", help=error.help) from error
    except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError) as error:
        place = _failing_line(target, kernel, error)
        raise MorelloError(
            f"the template of kernel '{kernel.name}' ({place}) fails: {_CLASS.sub('', str(error))}",
            help="a template sees the operands and variables of the kernel's pattern, and "
            + ", ".join(sorted(FUNCTIONS)),
        ) from error
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def _written(
    macro: MacroDecl, functions: dict[str, object], *values: object, **named: object
) -> str:
    """What a macro writes, without the end of its last line: it may be a part of a line.

    It is a template by itself, so that it sees nothing of the one that uses it.
    """
    module = vars(_compiled_macro(macro).make_module(functions))
    text: str = module["written"](*values, **named)
    return text.rstrip()


@lru_cache(maxsize=256)
def _compiled(text: str) -> jinja2.Template:
    return compile_template(text, FUNCTIONS)


@lru_cache(maxsize=256)
def _compiled_macro(macro: MacroDecl) -> jinja2.Template:
    heading = f"{{% macro {macro.name}({', '.join(macro.parameters)}) %}}\n"
    # jinja2 lets nobody else see a name that begins with an underscore.
    ending = f"{{% endmacro %}}{{% set written = {macro.name} %}}"
    text = heading + macro.template + ending
    return compile_template(text, FUNCTIONS, name=_MACRO + macro.name)


def _failing_line(target: Target, kernel: Microkernel, error: Exception) -> Span:
    """The line that was rendered last, of the template or a macro; jinja2's traceback has it."""
    for frame, number in reversed([*traceback.walk_tb(error.__traceback__)]):
        file = frame.f_code.co_filename
        if file == _TEMPLATE:
            return template_line(kernel.declaration, kernel.template or "", number)
        if file.startswith(_MACRO):
            macro = target.macros[file.removeprefix(_MACRO)]
            return template_line(macro, macro.template, number - _HEADING)
    return kernel.declaration.span
