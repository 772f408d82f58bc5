"""Kernels that are one for each count of lanes: which of them a target has.

A kernel ``for any x L`` is made once for every L above 1 of which a target declares primitives, and
one ``for T in f32, s32 x L`` once for every such ``primitives T x L`` with the entries that its
template uses. Each is declared on the first target of a lineage where that holds. A kernel that a
target declares under the name of such a one stands in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from morello.checking.primitives import Table
from morello.checking.templates import Macros, attributes_used
from morello.ir.dtypes import DTYPES, DTYPES_ARE
from morello.ir.primitives import FENCE, FIRST_LANE, STREAM, TYPE, exchanges
from morello.ir.target import Microkernel, Primitives, Target
from morello.ir.vector_axis import REDUCTION
from morello.language import target_ast
from morello.language.diagnostics import Collector
from morello.language.target_ast import VECTOR
from morello.language.traverse import with_value
from morello.records import replace


def instances(
    node: target_ast.KernelDecl,
    targets: Mapping[str, Target],
    primitives: Mapping[str, Table],
    macros: Mapping[str, Macros],
    collector: Collector,
) -> Iterator[target_ast.KernelDecl]:
    """The kernels that a declaration stands for; itself, where it has no parameter for lanes.

    Args:
        node: A kernel on one of the targets.
        targets: Targets that could be built, each after its base, without kernels.
        primitives: Of each target, with those that it inherits.
        macros: Of each target, as well.
        collector: Takes the errors, T047 (dtype) and T057: vectors of the type are there, but not
            what is asked of them.
    """
    if node.lanes is None:
        if node.target in targets:
            yield node
        return
    for dtype in dict(node.given).values():
        if dtype not in DTYPES:
            collector.error("T047", f"unknown dtype '{dtype}'", node.name_span, help=DTYPES_ARE)
            return
    made: set[tuple[str, int]] = set()
    lacking: list[tuple[Primitives, list[str]]] = []
    for target in targets.values():
        if node.target not in target.lineage:
            continue
        for lanes, vectors in _offered(node, target, primitives[target.name]).items():
            if any((base, lanes) in made for base in target.lineage):
                continue
            needed = _needed(node, lanes, macros[node.target])
            missing = [(own, sorted(needed - own.in_templates)) for own in vectors]
            if all(names for _, names in missing):
                lacking += missing
                continue
            made.add((target.name, lanes))
            yield _instance(node, target, lanes)
    if node.template is not None and not made and lacking:
        own, names = lacking[0]
        message = f"no target has the vectors that kernel '{node.name}' asks for"
        label = f"'primitives {own.dtype} x {own.lanes}' have no '{names[0]}'"
        collector.error("T057", message, node.name_span, label, "add it, or use another one")


def in_place(kernels: Sequence[Microkernel]) -> Iterator[Microkernel]:
    """The kernels of a lineage without those in whose place another one of their name stands."""
    own = {kernel.name for kernel in kernels if kernel.declaration.lanes is None}
    return (k for k in kernels if k.declaration.lanes is None or k.name not in own)


def _offered(
    node: target_ast.KernelDecl, target: Target, table: Table
) -> dict[int, list[Primitives]]:
    """By lanes, a target's vectors that fill a register and are of the kernel's type."""
    dtypes = dict(node.given).values() or DTYPES
    found: dict[int, list[Primitives]] = {}
    for (own, lanes), vectors in sorted(table.items()):
        if own in dtypes and lanes > 1 and lanes * DTYPES[own].bytes in target.vector_widths:
            found.setdefault(lanes, []).append(vectors)
    return found


def _needed(node: target_ast.KernelDecl, lanes: int, macros: Macros) -> frozenset[str]:
    """Primitives without which no operator is computed by the kernel."""
    if node.template is not None:
        return attributes_used(node.template, VECTOR, macros)
    if node.match.kind == REDUCTION:
        return frozenset({FIRST_LANE, *exchanges(lanes)})
    return frozenset({STREAM, FENCE} if node.streamed else {TYPE})


def _instance(node: target_ast.KernelDecl, target: Target, lanes: int) -> target_ast.KernelDecl:
    """The kernel for so many lanes."""
    name = node.lanes or ""
    return replace(
        node,
        name=f"{node.name}_x{lanes}",
        target=target.name,
        match=replace(
            node.match, operands=tuple(_operand(o, name, lanes) for o in node.match.operands)
        ),
        guards=tuple(with_value(guard, name, lanes) for guard in node.guards),
        cost=with_value(node.cost, name, lanes),
        given=(*node.given, (name, lanes)),
    )


def _operand(pattern: target_ast.KernelOperand, name: str, lanes: int) -> target_ast.KernelOperand:
    """Vectors of a type that is known are of so many bytes."""
    shape = tuple(lanes if extent == name else extent for extent in pattern.shape)
    if pattern.lanes != name:
        return replace(pattern, shape=shape)
    if pattern.dtype in DTYPES:
        vector = lanes * DTYPES[pattern.dtype].bytes
        return replace(pattern, shape=shape, lanes=None, vector=vector)
    return replace(pattern, shape=shape, lanes=lanes)
