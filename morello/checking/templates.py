"""Checks of C templates: that they parse, and use only names that they are given.

They are those of kernels, and of the macros that these share.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from jinja2 import Environment, TemplateSyntaxError, meta, nodes

from morello.language import target_ast
from morello.language.diagnostics import Collector
from morello.language.places import within
from morello.language.template_lines import Templated, template_line

Macros = Mapping[str, target_ast.MacroDecl]

# jinja2 lets the last two through: of numbers with too many digits, and of deep nesting.
_UNPARSED = (TemplateSyntaxError, ValueError, RecursionError)


def check_template(
    node: Templated,
    given: Collection[str],
    functions: Collection[str] | None,
    collector: Collector,
    *,
    macros: Macros,
    foreign: Collection[str],
) -> None:
    """Check one template.

    Args:
        node: The kernel or macro, whose span holds the text of the template between fences.
        given: Names of values that the template knows. A macro of the same name is hidden by one.
        functions: Names that may be called; none accepts any, since emitters bring their own.
        collector: Takes the errors, T060 (it does not parse), T061 (an unknown name) and T065 (a
            macro has other parameters).
        macros: Those that it may use.
        foreign: Names of macros that it may not use.
    """
    what, template = _called(node), node.template or ""
    try:
        names = _names(template)
    except _UNPARSED as error:
        reason = error.message if isinstance(error, TemplateSyntaxError) else error
        place = template_line(node, template, getattr(error, "lineno", 1))
        help = "it is C with jinja2 in it: {{ value }}, {% for j in range(0, n, 16) %}"
        collector.error("T060", f"{what} does not parse: {reason}", place, help=help)
        return
    known = [*given, *macros]
    for name in sorted(names.keys() - {*known}):
        callable_ = name not in foreign if functions is None else name in functions
        lines = [use.line for use in names[name] if not (callable_ and use.called)]
        if not lines:
            continue
        place = within(template_line(node, template, min(lines)), name)
        message = f"{what} uses '{name}', which is not given to it"
        help = collector.suggestion(name, [*known, *(functions or ())])
        if name in foreign:
            help = (
                "a template has the macros of its kernel's target, a macro has its parameters only"
            )
        collector.error("T061", message, place, "unknown", help)
    for call in _calls(template):
        macro = None if call.name in given else macros.get(call.name)
        wrong = _miscalled(call, macro) if macro else ""
        if macro and wrong:
            place = within(template_line(node, template, call.line), macro.name)
            help = f"macro {macro.name}({', '.join(macro.parameters)})"
            collector.error("T065", wrong, place, help=help)


def check_scalars(
    node: target_ast.KernelDecl, scalars: Collection[str], macros: Macros, collector: Collector
) -> None:
    """Check that what a template uses of the operation, ``f.stride``, is a scalar of it."""
    template = node.template or ""
    for scalar in sorted(attributes_used(template, target_ast.SPEC, macros) - set(scalars)):
        name = f"{target_ast.SPEC}.{scalar}"
        number = next((i for i, line in enumerate(template.split("\n"), 1) if name in line), 1)
        place = within(template_line(node, template, number), name)
        message = f"{_called(node)} uses '{name}', which is not given to it"
        help = collector.suggestion(scalar, scalars) if scalars else "the operator has no scalars"
        collector.error("T061", message, place, "unknown", help)


def _called(node: Templated) -> str:
    kind = "kernel" if isinstance(node, target_ast.KernelDecl) else "macro"
    return f"the template of {kind} '{node.name}'"


def _miscalled(call: _Call, macro: target_ast.MacroDecl) -> str:
    """What is wrong with the arguments of a call, if anything is."""
    if not call.counted:
        return ""
    count, wanted = len(call.positional) + len(call.named), len(macro.parameters)
    if count != wanted:
        takes = f"{wanted} argument{'' if wanted == 1 else 's'}"
        return f"macro '{macro.name}' takes {takes}, {count} given"
    left = macro.parameters[len(call.positional) :]
    other = next((name for name in call.named if name not in left), None)
    return f"macro '{macro.name}' has no other parameter '{other}'" if other else ""


@lru_cache(maxsize=256)
def _parsed(template: str) -> nodes.Template:
    return Environment(autoescape=False).parse(template)


def names_used(template: str) -> frozenset[str]:
    """Names that a template uses and does not set itself; none if it does not parse."""
    try:
        return frozenset(_names(template))
    except _UNPARSED:
        return frozenset()


def attributes_used(template: str, name: str, macros: Macros) -> frozenset[str]:
    """What a template uses of a value, as ``load`` in ``{{ vector.load(p) }}``; if it parses.

    Macros that are given the value use it, too.
    """
    found = set(_attributes(template, name))
    for call in _calls(template):
        if macro := macros.get(call.name):
            arguments = {**dict(zip(macro.parameters, call.positional, strict=False)), **call.named}
            for parameter, value in arguments.items():
                if value == name:
                    found |= _attributes(macro.template, parameter)
    return frozenset(found)


@lru_cache(maxsize=4096)
def _attributes(template: str, name: str) -> frozenset[str]:
    try:
        uses = _parsed(template).find_all(nodes.Getattr)
    except _UNPARSED:
        return frozenset()
    return frozenset(
        use.attr for use in uses if isinstance(use.node, nodes.Name) and use.node.name == name
    )


class _Call(NamedTuple):
    """A call of what a template does not set itself, with the names among the arguments.

    ``counted``: there are no others, as ``*at`` would be.
    """

    name: str
    line: int
    positional: tuple[str | None, ...]
    named: Mapping[str, str | None]
    counted: bool


@lru_cache(maxsize=4096)
def _calls(template: str) -> tuple[_Call, ...]:
    """In the order of the template; none if it does not parse."""
    names = names_used(template)
    return tuple(
        _Call(
            call.node.name,
            call.lineno,
            tuple(map(_name, call.args)),
            {k.key: _name(k.value) for k in call.kwargs},
            call.dyn_args is None and call.dyn_kwargs is None,
        )
        for call in (_parsed(template).find_all(nodes.Call) if names else ())
        if isinstance(call.node, nodes.Name) and call.node.name in names
    )


def _name(value: nodes.Expr) -> str | None:
    return value.name if isinstance(value, nodes.Name) else None


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
