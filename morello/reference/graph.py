"""Graphs of operations, executed: every node on the results of those before it.

With bounds, the error of each result is carried on to what reads it. A tensor on the way counts as
rounded to its element type, or not: a program that keeps it in registers and contracts is within
the bound, as one is that stores it. Where it is read as another type that has fewer values, it has
to be converted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from morello.errors import MorelloError
from morello.ir.dtypes import DType
from morello.ir.graphs.graph import Node
from morello.ir.sizes import sizes_from
from morello.language.diagnostics import suggestion
from morello.reference.arithmetic import Arithmetic, Numbers
from morello.reference.meaning import Meaning, Tensor


class Nodes:
    """Nodes made ready to be executed many times.

    ``nodes``: in an order in which everything is computed before it is read; an accumulating one
    adds to what is there. ``dtypes``: the element types of what they compute.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        dtypes: Mapping[str, DType],
        arithmetic: Callable[[DType], Arithmetic] = Numbers,
    ) -> None:
        self._nodes = [
            (node, Meaning(node.operation, dtype, arithmetic(dtype)))
            for node in nodes
            for dtype in (dtypes[node.output],)
        ]
        self._last = {name: i for i, node in enumerate(nodes) for name in node.tensors}

    def run(
        self,
        tensors: Mapping[str, Tensor],
        outputs: Collection[str],
        shapes: Mapping[str, Sequence[int]] | None = None,
    ) -> dict[str, Any]:
        """Some of the tensors that are computed, by name.

        Args:
            tensors: Those that are there before, by name.
            outputs: Those that are wanted.
            shapes: Shapes of what is computed; only needed where they do not follow from what the
                node reads.

        Raises:
            MorelloError: A tensor is not there, or see `morello.reference.meaning.execute`.
        """
        known = dict(tensors)
        results: dict[str, Tensor] = {}
        for name in outputs:
            _demand(name, [node.output for node, _ in self._nodes])
        for position, (node, meaning) in enumerate(self._nodes):
            operation = node.operation
            for name in node.tensors if operation.accumulating else node.inputs:
                _demand(name, known)
            operands = [known[name] for name in node.inputs]
            old = known[node.output] if operation.accumulating else None
            given = [operand.shape for operand in operands]
            output = (shapes or {}).get(node.output) if old is None else old.shape
            size = sizes_from(operation, given if output is None else [*given, output])
            if missing := [d for d in operation.dims if d not in size]:
                raise MorelloError(f"nothing tells the size of '{missing[0]}' of '{operation}'")
            known[node.output] = meaning.execute([size[d] for d in operation.dims], operands, old)
            if node.output in outputs:
                results[node.output] = known[node.output]
            for name in set(node.tensors):
                if self._last[name] == position:
                    del known[name]  # large ones need not stay until the end
        return {name: results[name] for name in outputs}


def _demand(name: str, known: Collection[str]) -> None:
    if name not in known:
        raise MorelloError(f"tensor '{name}' is not there", help=suggestion(name, known))
