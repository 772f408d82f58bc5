"""The functions that pack weights: ``void NAME_pack_WEIGHT(weight, packed, workspace)``.

A weight that the function takes as it is declared is copied, so that callers need not know.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from msgspec import Struct

from morello.codegen.c.scope import CScope
from morello.codegen.c.statements import StatementWriter, workspace_extent
from morello.ir.programs.emitted import EmitOptions
from morello.ir.programs.tree import Packing, Program, Tensor


class PackingFunction(Struct, frozen=True):
    """One function in C.

    ``weight`` is the tensor as declared, ``packed`` what it writes. ``source`` and ``target`` are
    the C names of its parameters; ``body`` its lines; ``workspace`` what it needs of one.
    """

    name: str
    weight: Tensor
    packed: Tensor
    source: str
    target: str
    body: tuple[str, ...]
    workspace: int

    @property
    def bytes(self) -> int:
        """What it writes."""
        return self.packed.layout.elements(self.packed.shape) * self.packed.dtype.bytes


def packing_functions(
    program: Program, function: str, taken: Set[str], options: EmitOptions
) -> Iterator[PackingFunction]:
    """One for each weight, in order.

    Args:
        program: The whole program.
        function: C name of its function.
        taken: Names that are taken outside.
        options: As for the program.
    """
    packings = {packing.weight: packing for packing in program.packings}
    writer = StatementWriter(program, options)
    for weight in (t for t in program.arguments if t.role == "weight"):
        scope = CScope(taken=frozenset(taken)).with_memory(weight)
        source = scope.name_of(weight)
        name = f"{function}_pack_{source}"
        packing = packings.get(weight)
        if packing is None:
            yield _copying(name, weight, source, scope.fresh(f"{weight.name}_packed"))
        else:
            yield _written(name, packing, scope, writer, options)


def _copying(name: str, weight: Tensor, source: str, target: str) -> PackingFunction:
    size = weight.layout.elements(weight.shape) * weight.dtype.bytes
    body = f"memcpy({target}, {source}, {size});"
    return PackingFunction(name, weight, weight, source, target, (body,), 0)


def _written(
    name: str, packing: Packing, scope: CScope, writer: StatementWriter, options: EmitOptions
) -> PackingFunction:
    packed = packing.packed
    inner = scope.with_memory(packed)
    return PackingFunction(
        name,
        packing.weight,
        packed,
        inner.name_of(packing.weight),
        inner.name_of(packed),
        tuple(writer.write(packing.body, inner)),
        workspace_extent(packing.body, options, 0),
    )
