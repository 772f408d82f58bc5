"""Functions in C that a target's primitives and kernels call, and which of them a text needs.

They are found by name: a word of the text, outside its comments, that a parenthesis follows. What
the functions compute is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from morello.language import target_ast

_CALL = re.compile(r"/\*.*?\*/|//[^\n]*|(?<![\w.])([A-Za-z_]\w*)\s*\(", re.DOTALL)


@dataclass(frozen=True)
class Function:
    """A checked declaration. ``text`` is its definition, ``calls`` the others that it calls."""

    name: str
    doc: str
    target: str
    text: str
    calls: tuple[str, ...]
    declaration: target_ast.FunctionDecl | target_ast.DefinitionDecl = field(
        compare=False, repr=False
    )


def called(text: str) -> Iterator[str]:
    """Every name that a text in C calls, or defines, each once, in order; members are none."""
    yield from dict.fromkeys(m[1] for m in _CALL.finditer(text) if m[1])


def needed(functions: Mapping[str, Function], lines: Iterable[str]) -> list[Function]:
    """The functions that lines of C call, and those that these call, each after what it calls."""
    found: dict[str, Function] = {}
    for name in called("\n".join(lines)):
        _add(functions, name, found)
    return list(found.values())


def _add(functions: Mapping[str, Function], name: str, found: dict[str, Function]) -> None:
    if name in functions and name not in found:
        for other in functions[name].calls:
            _add(functions, other, found)
        found[name] = functions[name]
