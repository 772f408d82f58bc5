"""A C source and a header: of one program, of several targets', or of several sizes'.

A function for several targets looks at the processor when it is first called. Each target's part
of the file is compiled with what that target has more than the first one (attributes of functions,
set by pragmas), so that the file needs the flags of the first alone. A function for any size of a
dimension calls those for some sizes in turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cache
from importlib.resources import files
from itertools import chain
from types import MappingProxyType
from typing import Any

import jinja2
from msgspec import Struct

from morello.codegen.c.definitions import function_names
from morello.codegen.c.function import (
    CFunction,
    Packer,
    Parameter,
    parameters_of,
    scope_of,
    write_function,
)
from morello.codegen.c.names import unique
from morello.codegen.c.scope import CScope
from morello.codegen.c.statements import (
    THREAD_INDEX,
    StatementWriter,
    comment_text,
    layout_in_words,
)
from morello.errors import UsageError
from morello.ir.goal import RunTimeSize
from morello.ir.programs.emitted import CSource, EmitOptions, EmittedPacking
from morello.ir.programs.tree import Program, Tensor
from morello.ir.target import Target
from morello.plugins.templates import compile_template
from morello.records import replace

STANDARD = "-std=c11"
"""What is written is C11; compilers allow more without, and their headers then define more."""

OPENMP = "-fopenmp"

FEATURE = re.compile(r"-m(?!no-)([\w.-]+)")
"""A flag that a function's attribute can stand for, and ``__builtin_cpu_supports`` asks about."""

AS_CHOSEN = "as the chosen target takes it"


class CEmitter:
    """Writes C11 with intrinsics for the targets whose ``.mtarget`` says ``emitter c11``."""

    def emit(self, program: Program, options: EmitOptions) -> CSource:
        """Source and header of one program; equal programs give equal text.

        Raises:
            MorelloError: if the program is partial or malformed, a kernel's template fails, or
                the target lacks a primitive.
        """
        name, taken = _name([program])
        function = write_function(program, name, taken, options)
        table = _table(function.taken, scope_of(function.taken, {name, *taken}))
        packers = [_packer(packer.function.name, [packer]) for packer in function.packers]
        variants = [_variant(function, options)]
        return _rendered(name, [function], variants, function.parameters, packers, table)

    def check_choice(self, targets: Sequence[Target]) -> None:
        """Demand that attributes of functions say what each target has beyond the first."""
        first, *others = targets
        for target in others:
            beyond = _whole_file(target, first)
            if beyond:
                common = next((n for n in reversed(target.lineage) if n in first.lineage), None)
                more = f"add one that both extend, {common}, or " if common else ""
                raise UsageError(
                    f"{first.name} and {target.name} cannot share a file: {', '.join(beyond)} is "
                    "for a whole file",
                    help=f"{more}write a file for each, under names of their own",
                )

    def emit_choice(self, programs: Sequence[Program], options: EmitOptions) -> CSource:
        """The same computation for several targets; see `ChoosingEmitter`."""
        first = programs[0].target
        name, taken = _name(programs)
        functions: list[CFunction] = []
        for program in programs:
            own = unique(f"{name}_{_identifier(program.target)}", {name, *taken})
            taken = {own, *taken}
            functions.append(write_function(program, own, {name, *taken}, options))
        # As the spec declares them: what is packed differs between targets.
        arguments = programs[0].arguments
        writer, scope = StatementWriter(programs[0], options), scope_of(arguments, {name, *taken})
        parameters = tuple(
            replace(parameter, type=_common(f.parameters[i].type for f in functions))
            for i, parameter in enumerate(parameters_of(arguments, writer, scope))
        )
        packers = [
            _packer(f"{name}_pack_{row[0].function.source}", row)
            for row in zip(*(f.packers for f in functions), strict=True)
        ]
        table = _table(arguments, scope, {p["source"].name: p["name"] for p in packers})
        variants = [_variant(f, options, first) for f in functions]
        return _rendered(name, functions, variants, parameters, packers, table, choosing=True)

    def emit_sizes(
        self,
        programs: Sequence[tuple[int, Program]],
        packing: Program,
        size: RunTimeSize,
        options: EmitOptions,
    ) -> CSource:
        """The same computation for blocks of several sizes; see `SizingEmitter`."""
        name, taken = _name([packing, *(program for _, program in programs)])
        functions: list[CFunction] = []
        for number, program in programs:
            own = unique(f"{name}_{number}", {name, *taken})
            taken = {own, *taken}
            functions.append(write_function(program, own, {name, *taken}, options))
        own = unique(f"{name}_any", {name, *taken})
        whole = write_function(packing, own, {name, *taken}, options)
        rows = {row.name: row for row in size.rows}
        called = unique(size.name, {name, *taken, *(p.name for p in whole.parameters)})
        through = [
            (parameter.name, rows[tensor.name].apart)
            for parameter, tensor in zip(whole.parameters, whole.taken, strict=True)
            if tensor.name in rows
        ]
        blocks = Blocks(called, size.limit, tuple(n for n, _ in programs), tuple(through))
        table = _table(
            whole.taken,
            scope_of(whole.taken, {name, *taken}),
            sizes={row.name: (row.axis, called) for row in size.rows},
        )
        packers = [_packer(f"{name}_pack_{p.function.source}", [p]) for p in whole.packers]
        helpers = [helper for f in (whole, *functions) for helper in f.helpers(options)]
        variants = [_variant(function, options) | {"helpers": []} for function in functions]
        variants[0]["helpers"] = list({helper["guard"]: helper for helper in helpers}.values())
        variants[0]["packers"] = _variant(whole, options)["packers"]
        return _rendered(
            name,
            functions,
            variants,
            whole.parameters,
            packers,
            table,
            blocks=blocks,
        )


class Blocks(Struct, frozen=True):
    """How a function goes through its rows. ``size`` is its first parameter.

    ``sizes``: of blocks, in turn. ``rows``: of each parameter that goes on with each block its
    name, and elements from one row to the next.
    """

    size: str
    limit: int
    sizes: tuple[int, ...]
    rows: tuple[tuple[str, int], ...]


def _rendered(
    name: str,
    functions: Sequence[CFunction],
    variants: Sequence[dict[str, object]],
    parameters: Sequence[Parameter],
    packers: Sequence[dict[str, Any]],
    table: Sequence[str],
    *,
    choosing: bool = False,
    blocks: Blocks | None = None,
) -> CSource:
    """The files.

    ``choosing``: each variant is called by a function that picks one of them. ``blocks``: by one
    that calls each in turn.
    """
    targets = [f.program.target for f in functions]
    workspace = max(f.whole_workspace for f in functions)
    parallel = any(f.parallel for f in functions)
    restrict = f"MORELLO_{name}_RESTRICT"
    flags = (*targets[0].flags, *((OPENMP,) if parallel else ()))
    first = [f"size_t {blocks.size}"] if blocks else []
    more = ["stdatomic.h", "string.h"] if choosing else ["string.h"] if blocks and packers else []
    context = {
        "name": name,
        "title": [comment_text(line) for line in functions[0].program.title.splitlines()],
        "targets": [t.name for t in (targets[:1] if blocks else targets)],
        "choosing": choosing,
        "blocks": blocks,
        "inside": choosing or blocks is not None,
        "headers": _headers(functions, more),
        "table": table,
        "names": ", ".join([*([blocks.size] if blocks else []), *(p.name for p in parameters)]),
        "passed": ", ".join(p.name for p in parameters),
        "parameters": _declared(parameters, "restrict", first),
        "declared": _declared(parameters, restrict, first),
        "restrict": restrict,
        "workspace": workspace,
        "packers": packers,
        "threads": max(f.threads for f in functions),
        "parallel": parallel,
        "flushes": any(f.program.flushes for f in functions),
        "flags": " ".join((STANDARD, *flags)),
        "variants": variants,
        "thread_index": any(THREAD_INDEX in line for f in functions for line in f.body),
    }
    return CSource(
        name,
        _template("source.c.jinja").render(context),
        _template("header.h.jinja").render(context),
        flags,
        workspace,
        tuple(p["emitted"] for p in packers),
        features=targets[0].features,
    )


@cache
def _template(name: str) -> jinja2.Template:
    text = files("morello.codegen.c").joinpath("templates", name).read_text("utf-8")
    return compile_template(text, keep_trailing_newline=True)


def _name(programs: Iterable[Program]) -> tuple[str, Set[str]]:
    """The function's name, and those that targets take."""
    taken = set().union(*(function_names(program.target) for program in programs))
    return unique(next(iter(programs)).name, taken), taken


def _identifier(target: Target) -> str:
    """A target's name, as a part of names in C."""
    return re.sub(r"\W", "_", target.name)


def _common(types: Iterable[str]) -> str:
    """The type of a parameter that is passed on to parameters of these types."""
    found = set(types)
    return found.pop() if len(found) == 1 else "void"


def _attributes(target: Target, first: Target) -> list[str]:
    """What a target's functions may use beyond the first one's, as attributes say it."""
    return [
        match[1]
        for flag in target.flags
        if flag not in first.flags and (match := FEATURE.fullmatch(flag))
    ]


def _whole_file(target: Target, first: Target) -> list[str]:
    """What two targets differ in, and no attribute of a function says."""
    return [
        *(f for f in target.flags if f not in first.flags and not FEATURE.fullmatch(f)),
        *(f for f in first.flags if f not in target.flags),
        *(f for f in target.features if f not in first.features),
    ]


def _packer(name: str, of: Sequence[Packer]) -> dict[str, Any]:
    """What the templates say of the packing function of a weight, for one target or several."""
    made = [packer.emitted for packer in of]
    form, *others = dict.fromkeys(packing.form for packing in made)
    return {
        "name": name,
        "source": of[0].source,
        "target": replace(of[0].target, type=_common(p.target.type for p in of)),
        "before": of[0].before,
        "after": AS_CHOSEN if others else of[0].after,
        "emitted": EmittedPacking(
            name,
            max(packing.bytes for packing in made),
            AS_CHOSEN if others else form,
            all(packing.copies for packing in made),
        ),
    }


def _variant(
    function: CFunction, options: EmitOptions, first: Target | None = None
) -> dict[str, object]:
    """What the template says of one target's functions; ``first``: the target of the whole file."""
    suffix = "" if first is None else f"_{_identifier(function.program.target)}"
    attributes = [] if first is None else _attributes(function.program.target, first)
    asked = [name for name in attributes if name not in function.program.target.implied]
    return {
        "name": function.name,
        "target": function.program.target.name,
        "attributes": attributes,
        "runs": " &&\n            ".join(f'__builtin_cpu_supports("{a}")' for a in asked) or "1",
        "helpers": function.helpers(options, suffix),
        "packers": [
            {
                "name": p.function.name,
                "source": p.source,
                "target": p.target,
                "workspace": p.function.workspace,
                "body": function.suffixed(p.function.body, suffix),
            }
            for p in function.packers
        ],
        "parameters": _declared(function.parameters, "restrict"),
        "needs": function.workspace,
        "body": function.suffixed(function.body, suffix),
    }


def _declared(parameters: Sequence[Parameter], restrict: str, first: Sequence[str] = ()) -> str:
    """Parameters of the function, one a line where they are many; ``restrict`` as it is written.

    ``first``: those before them, as they are written.
    """
    parts = [*first, *(parameter.declared(restrict) for parameter in parameters)]
    return ",\n    ".join(parts) if len(parts) > 3 else ", ".join(parts)


def _table(
    tensors: Sequence[Tensor],
    scope: CScope,
    packed: Mapping[str, str] = MappingProxyType({}),
    sizes: Mapping[str, tuple[int, str]] = MappingProxyType({}),
) -> list[str]:
    """One line an argument: name, role, dtype and shape, layout, or which function packs it.

    ``sizes``: of tensors by name a dimension, and what its size is called.
    """

    def shape(tensor: Tensor) -> str:
        named = dict([sizes[tensor.name]] if tensor.name in sizes else [])
        return ", ".join(str(named.get(d, n)) for d, n in enumerate(tensor.shape))

    rows = [(scope.name_of(t), t.role, f"{t.dtype}[{shape(t)}]") for t in tensors]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        + "  "
        + (f"as {packed[row[0]]} packs it" if row[0] in packed else layout_in_words(tensor.layout))
        for row, tensor in zip(rows, tensors, strict=True)
    ]


def _headers(functions: Sequence[CFunction], more: Sequence[str]) -> list[str]:
    """Headers of the source: those that its own functions need, then the targets'."""
    own = ["stddef.h", "stdint.h", "stdlib.h", *more]
    return list(dict.fromkeys((*own, *chain.from_iterable(f.headers for f in functions))))
