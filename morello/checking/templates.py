"""Checks of the C templates of kernels: that they parse, and use only names that they are given."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from jinja2 import Environment, TemplateSyntaxError, meta, nodes

from morello.language import target_ast
from morello.language.diagnostics import Collector
from morello.language.places import within
from morello.language.template_lines import template_line


def check_template(
    node: target_ast.KernelDecl,
    template: str,
    given: Collection[str],
    scalars: Collection[str],
    functions: Collection[str] | None,
    collector: Collector,
) -> None:
    """Check one template.

    Args:
        node: The kernel, whose span holds the text of the template between fences.
        template: The text as it was parsed; its lines are those between the fences.
        given: Names of values that the emitter gives to the template.
        scalars: Those of the operator, which the template knows as ``f.stride``.
        functions: Names that may be called; none accepts any, since emitters bring their own.
        collector: Takes the errors, T060 (it does not parse) and T061 (an unknown name).
    """
    try:
        names = _names(template)
    except (TemplateSyntaxError, ValueError, RecursionError) as error:
        # jinja2 lets the last two through: of numbers with too many digits, and of deep nesting.
        reason = error.message if isinstance(error, TemplateSyntaxError) else error
        message = f"the template of kernel '{node.name}' does not parse: {reason}"
        place = template_line(node, template, getattr(error, "lineno", 1))
        help = "it is C with jinja2 in it: {{ value }}, {% for j in range(0, n, 16) %}"
        collector.error("T060", message, place, help=help)
        return
    for name in sorted(names.keys() - set(given)):
        callable_ = functions is None or name in functions
        lines = [use.line for use in names[name] if not (callable_ and use.called)]
        if not lines:
            continue
        place = within(template_line(node, template, min(lines)), name)
        help = collector.suggestion(name, [*given, *(functions or ())])
        message = f"the template of kernel '{node.name}' uses '{name}', which is not given to it"
        collector.error("T061", message, place, "unknown", help)
    for scalar in sorted(attributes_used(template, target_ast.SPEC) - set(scalars)):
        name = f"{target_ast.SPEC}.{scalar}"
        number = next((i for i, line in enumerate(template.split("\n"), 1) if name in line), 1)
        place = within(template_line(node, template, number), name)
        message = f"the template of kernel '{node.name}' uses '{name}', which is not given to it"
        help = collector.suggestion(scalar, scalars) if scalars else "the operator has no scalars"
        collector.error("T061", message, place, "unknown", help)


@lru_cache(maxsize=256)
def _parsed(template: str) -> nodes.Template:
    return Environment(autoescape=False).parse(template)


@lru_cache(maxsize=4096)
def attributes_used(template: str, name: str) -> frozenset[str]:
    """What a template uses of a value, as ``load`` in ``{{ vector.load(p) }}``; if it parses."""
    try:
        uses = _parsed(template).find_all(nodes.Getattr)
    except (TemplateSyntaxError, ValueError, RecursionError):
        return frozenset()
    return frozenset(
        use.attr for use in uses if isinstance(use.node, nodes.Name) and use.node.name == name
    )


class _Use(NamedTuple):
    """Where a template says a name, and whether it calls it."""

    line: int
    called: bool


@lru_cache(maxsize=4096)  # an editor checks all files at every change of one
def _names(template: str) -> Mapping[str, Sequence[_Use]]:
    """Names that a template uses and does not set itself."""
    tree = _parsed(template)
    names = meta.find_undeclared_variables(tree)
    called = {id(c.node) for c in tree.find_all(nodes.Call) if isinstance(c.node, nodes.Name)}
    found: dict[str, list[_Use]] = {name: [] for name in names}
    for use in tree.find_all(nodes.Name):
        if use.name in names:
            found[use.name].append(_Use(use.lineno, id(use) in called))
    return found
