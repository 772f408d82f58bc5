"""One program as a function in C: its body, packing functions, and what of the target it calls.

`morello.codegen.c.emitter` puts one into a file, or those of several targets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import chain

from msgspec import Struct

from morello.codegen.c.definitions import functions_called
from morello.codegen.c.packing import PackingFunction, packing_functions
from morello.codegen.c.scope import ALIGNMENT, CScope
from morello.codegen.c.statements import (
    StatementWriter,
    comment,
    is_parallel,
    layout_in_words,
    workspace_extent,
)
from morello.ir.functions import Function
from morello.ir.programs.emitted import EmitOptions, EmittedPacking
from morello.ir.programs.tree import Program, Tensor


class Parameter(Struct, frozen=True):
    """A parameter of a function in C: a pointer to elements of a type."""

    type: str
    name: str
    const: bool

    def declared(self, restrict: str) -> str:
        """As it stands in a declaration; ``restrict`` as it is written there."""
        return f"{'const ' if self.const else ''}{self.type} *{restrict} {self.name}"


class Packer(Struct, frozen=True):
    """A packing function: what it reads and writes in the scope of its body."""

    function: PackingFunction
    source: Parameter
    target: Parameter

    @property
    def emitted(self) -> EmittedPacking:
        """What callers know of it."""
        made = self.function
        form = f"{made.packed.dtype}, {made.packed.layout}"
        return EmittedPacking(made.name, made.bytes, form, made.packed == made.weight)

    @property
    def before(self) -> str:
        """How the weight lies in memory, in words."""
        return layout_in_words(self.function.weight.layout)

    @property
    def after(self) -> str:
        """How what is packed does."""
        return layout_in_words(self.function.packed.layout)


class CFunction(Struct, frozen=True):
    """A program, written.

    ``taken`` are its arguments, each weight as it is packed; ``called`` the target's functions that
    it and its packing functions call, each after what it calls; ``workspace`` is what the body
    alone needs of one.
    """

    name: str
    program: Program
    taken: tuple[Tensor, ...]
    parameters: tuple[Parameter, ...]
    body: tuple[str, ...]
    packers: tuple[Packer, ...]
    called: tuple[Function, ...]
    workspace: int
    parallel: bool

    @property
    def whole_workspace(self) -> int:
        """What it and its packing functions need of one."""
        return max(self.workspace, *(p.function.workspace for p in self.packers), 0)

    @property
    def threads(self) -> int:
        """How many it may use."""
        return self.program.threads if self.parallel else 1

    @property
    def headers(self) -> Iterator[str]:
        """Headers of what it and the target's functions call."""
        if self.packers:
            yield "string.h"
        yield from self.program.target.headers

    def helpers(self, options: EmitOptions, suffix: str = "") -> list[dict[str, str]]:
        """The target's functions that it calls, for a template, each after what it calls.

        With a suffix to their names, which `suffixed` gives to the calls, too.
        """
        return [_helper(f, options, self.called, suffix) for f in self.called]

    def suffixed(self, lines: Iterable[str], suffix: str) -> list[str]:
        """Lines that call the target's functions by the names that `helpers` gives them."""
        return _renamed(lines, self.called, suffix)


def write_function(program: Program, name: str, taken: Set[str], options: EmitOptions) -> CFunction:
    """Write a program as the function of this name; ``taken``: names that are taken outside.

    Raises:
        MorelloError: The program is partial or malformed, a kernel's template fails, or the target
            lacks a primitive.
    """
    writer = StatementWriter(program, options)
    outside = frozenset({name, *taken})
    packers = tuple(packing_functions(program, name, outside, options))
    packed = {packer.weight: packer.packed for packer in packers}
    arguments = tuple(packed.get(tensor, tensor) for tensor in program.arguments)
    scope = scope_of((*arguments, *program.positions), outside)
    tables = chain.from_iterable(_table(t, writer, scope) for t in program.positions)
    body = (*tables, *writer.write(program.body, scope))
    lines = [*body, *chain.from_iterable(packer.body for packer in packers)]
    return CFunction(
        name,
        program,
        arguments,
        parameters_of(arguments, writer, scope),
        body,
        tuple(_packer(p, writer) for p in packers),
        tuple(functions_called(program.target, lines)),
        workspace_extent(program.body, options, 0),
        is_parallel(program.body),
    )


def scope_of(arguments: Sequence[Tensor], taken: Set[str]) -> CScope:
    """The scope of a function's body."""
    scope = CScope(taken=frozenset(taken))
    for tensor in arguments:
        scope = scope.with_memory(tensor)
    return scope


def parameters_of(
    arguments: Sequence[Tensor], writer: StatementWriter, scope: CScope
) -> tuple[Parameter, ...]:
    """Parameters for tensors that a scope has names of."""
    return tuple(
        Parameter(writer.c_type(t.dtype), scope.name_of(t), t.role != "output") for t in arguments
    )


NUMBERS_IN_LINE = 16


def _table(tensor: Tensor, writer: StatementWriter, scope: CScope) -> Iterator[str]:
    """The declaration of a row of whole numbers."""
    [count] = tensor.shape
    name = f"{scope.name_of(tensor)}[{count}]"
    yield f"static const _Alignas({ALIGNMENT}) {writer.c_type(tensor.dtype)} {name} = {{"
    for first in range(0, count, NUMBERS_IN_LINE):
        yield f"    {', '.join(map(str, range(first, min(first + NUMBERS_IN_LINE, count))))},"
    yield "};"


def _packer(made: PackingFunction, writer: StatementWriter) -> Packer:
    return Packer(
        made,
        Parameter(writer.c_type(made.weight.dtype), made.source, const=True),
        Parameter(writer.c_type(made.packed.dtype), made.target, const=False),
    )


def _helper(
    function: Function, options: EmitOptions, found: Sequence[Function], suffix: str
) -> dict[str, str]:
    span = function.declaration.span
    place = f" ({span.source.name}:{span.line})" if options.annotate else ""
    [text] = _renamed([function.text], found, suffix)
    guard = re.sub(r"\W", "_", f"{function.target}_{function.name}{suffix}")
    return {"guard": guard, "comment": comment(function.doc + place), "text": text}


def _renamed(lines: Iterable[str], functions: Sequence[Function], suffix: str) -> list[str]:
    if not suffix or not functions:
        return list(lines)
    names = re.compile(rf"\b({'|'.join(f.name for f in functions)})\b")
    return [names.sub(rf"\1{suffix}", line) for line in lines]
