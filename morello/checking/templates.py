"""Checks of the C templates of kernels: that they parse, and use only names that they are given."""

from __future__ import annotations

from collections.abc import Collection

from jinja2 import Environment, TemplateSyntaxError, meta, nodes

from morello.language import target_ast
from morello.language.diagnostics import Collector
from morello.language.places import within
from morello.language.source import Span


def check_template(
    node: target_ast.KernelDecl,
    template: str,
    given: Collection[str],
    functions: Collection[str] | None,
    collector: Collector,
) -> None:
    """Check one template.

    Args:
        node: The kernel, whose span holds the text of the template between fences.
        template: The text as it was parsed; its lines are those between the fences.
        given: Names of values that the emitter gives to the template.
        functions: Names that may be called; none accepts any, since emitters bring their own.
        collector: Takes the errors, T060 (it does not parse) and T061 (an unknown name).
    """
    environment = Environment(autoescape=False)
    try:
        tree = environment.parse(template)
        unknown = meta.find_undeclared_variables(tree) - set(given)
    except (TemplateSyntaxError, ValueError, RecursionError) as error:
        # jinja2 lets the last two through: of numbers with too many digits, and of deep nesting.
        reason = error.message if isinstance(error, TemplateSyntaxError) else error
        message = f"the template of kernel '{node.name}' does not parse: {reason}"
        place = _line(node, template, getattr(error, "lineno", 1))
        help = "it is C with jinja2 in it: {{ value }}, {% for j in range(0, n, 16) %}"
        collector.error("T060", message, place, help=help)
        return
    called = {id(c.node) for c in tree.find_all(nodes.Call) if isinstance(c.node, nodes.Name)}
    for name in sorted(unknown):
        uses = [n for n in tree.find_all(nodes.Name) if n.name == name]
        if functions is None or name in functions:
            uses = [n for n in uses if id(n) not in called]
        if not uses:
            continue
        place = within(_line(node, template, min(n.lineno for n in uses)), name)
        help = collector.suggestion(name, [*given, *(functions or ())])
        message = f"the template of kernel '{node.name}' uses '{name}', which is not given to it"
        collector.error("T061", message, place, "unknown", help)


def _line(node: target_ast.KernelDecl, template: str, number: int) -> Span:
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
