"""Places in the C templates of kernels and macros: which line of the file a line of one is."""

from __future__ import annotations

import re
from collections.abc import Iterable

from morello.language import target_ast
from morello.language.source import Span

_FILLED_IN = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}")
"""What a rendering replaces."""

LEAST_WRITTEN = 4
"""Characters of C that a line of a template has to have for its rendering to be recognized."""


Templated = target_ast.KernelDecl | target_ast.MacroDecl
"""What has a template."""


def template_line(node: Templated, template: str, number: int) -> Span:
    """Span of a 1-based line of the template in the file, without its indentation."""
    source = node.span.source
    text = source.text[: node.span.end]
    fence = text.find("```", node.span.start)
    if fence < 0:
        return node.name_span
    raw = text[fence + 3 :].split("\n")
    first = template.partition("\n")[0].strip()
    # The parser may drop the end of the line that the fence stands on.
    skipped = next((i for i, line in enumerate(raw) if line.strip() == first), 0)
    index = min(skipped + number, len(raw)) - 1
    start = fence + 3 + sum(len(line) + 1 for line in raw[:index])
    line = raw[index]
    indent = len(line) - len(line.lstrip())
    return Span(source, start + indent, start + len(line.rstrip()))


def line_that_gave(
    kernel: target_ast.KernelDecl, macros: Iterable[target_ast.MacroDecl], rendered: str
) -> Span:
    """The line that a line of C comes from, of a kernel's template or of a macro.

    The kernel's name where none does.
    """
    found, most = kernel.name_span, LEAST_WRITTEN - 1
    nodes: Iterable[Templated] = (kernel, *macros)
    for node in nodes:
        template = node.template or ""
        for number, line in enumerate(template.split("\n"), 1):
            pieces = _FILLED_IN.split(line.strip())
            written = len("".join(pieces).replace(" ", ""))
            pattern = ".*".join(map(re.escape, pieces))
            if written > most and re.fullmatch(pattern, rendered.strip()):
                found, most = template_line(node, template, number), written
    return found
