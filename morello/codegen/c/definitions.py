"""Functions of a target that are defined by equations, as functions in C.

Each is written for the lanes in which a program calls it, with the target's primitives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from morello.codegen.c.semantics import StepsWriter, without_parentheses
from morello.ir.dtypes import DTYPES
from morello.ir.functions import Function, called, needed
from morello.ir.primitives import TRUTH, TYPE, named_steps
from morello.ir.target import Definition, Target


def function_names(target: Target) -> set[str]:
    """Names of all functions that programs for a target may have."""
    return {*target.functions, *_defined(target)}


def functions_called(target: Target, lines: Sequence[str]) -> list[Function]:
    """The target's functions that lines of C call, each after what it calls."""
    defined = _defined(target)
    functions = dict(target.functions)
    pending = [name for name in called("\n".join(lines)) if name in defined]
    while pending:
        name = pending.pop()
        if name not in functions:
            functions[name] = _written(target, *defined[name], {*target.functions, *defined})
            pending += [other for other in functions[name].calls if other in defined]
    return needed(functions, lines)


def _defined(target: Target) -> Mapping[str, tuple[Definition, int]]:
    """Definitions with the lanes in which the target has them, by their names in C."""
    return {
        definition.called_in(primitives.lanes): (definition, primitives.lanes)
        for primitives in target.primitives.values()
        for definition in primitives.definitions.values()
    }


def _written(target: Target, definition: Definition, lanes: int, known: Set[str]) -> Function:
    """The function of a definition, of which it is ``known`` what it may call."""
    name = definition.called_in(lanes)
    text = _DefinitionWriter(target, definition, lanes).text(name)
    calls = tuple(other for other in called(text) if other in known and other != name)
    return Function(name, definition.doc, target.name, text, calls, definition.declaration)


class _DefinitionWriter(StepsWriter):
    """Writes a definition. Its equations are locals of their names."""

    def __init__(self, target: Target, definition: Definition, lanes: int) -> None:
        self._definition = definition
        dtypes = dict.fromkeys(definition.parameters, definition.dtype)
        found, self._names = named_steps(
            definition.value, definition.dtype, dtypes, definition.named
        )
        super().__init__(target, lanes, DTYPES[definition.dtype], found)

    def text(self, name: str) -> str:
        """The function's text, under this name."""
        kind = self._of(self._definition.dtype).text(TYPE)
        parameters = ", ".join(f"{kind} {p}" for p in self._definition.parameters)
        value = without_parentheses(self._value())
        lines = (f"  {line}" for line in (*self._lines, f"return {value};"))
        return "\n".join([f"static inline {kind} {name}({parameters}) {{", *lines, "}"])

    def _element(self, tensor: str) -> str:
        return tensor

    def _named(self, position: int, text: str) -> str:
        """A step that is an equation is a local of that name."""
        name = self._names.get(position)
        if name is None:
            return text
        step = self._steps[position]
        kind = self._of(step.dtype).text(TRUTH if step.condition else TYPE)
        self._lines.append(f"const {kind} {name}_ = {without_parentheses(text)};")
        return f"{name}_"
