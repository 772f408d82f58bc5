"""What is around a step of a rule's result, while the result is applied to a family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from morello.ir.numeric import Size
from morello.records import replace
from morello.rewriting.references import Sizes, SpecRef, TensorRef, Variables


@dataclass(slots=True)
class State:
    """What changes on the way down a rule's result.

    ``once``: no loop is around. ``whole``: nor is a nearer level, so that all that may be packed
    ahead of calls is still to come; else that is only what an operator is applied to by its name.
    ``divided``: a parallel loop is around, so that one thread does what is here. ``counting``: the
    dimensions that count steps of loops. ``places``: the tensors in whose memory others lie, by
    key. ``origins``: the operands that buffers are of, by key.
    """

    f: SpecRef
    tensors: dict[str, TensorRef]
    aliases: dict[str, str]
    variables: Variables
    sizes: Sizes
    used: Mapping[str, Size]
    places: Mapping[str, str]
    origins: Mapping[str, str]
    once: bool = True
    whole: bool = True
    divided: bool = False
    counting: frozenset[str] = frozenset()

    def bind(self, name: str, tensor: TensorRef, source: TensorRef) -> State:
        """With one more tensor in scope, which is another one at another level."""
        return replace(
            self,
            origins={**self.origins, tensor.key: self.origins.get(source.key, source.key)},
            tensors={**self.tensors, tensor.key: tensor},
            aliases={**self.aliases, name: tensor.key},
            variables={**self.variables, name: tensor},
        )

    def tile(self, tensors: dict[str, TensorRef], sizes: Sizes) -> State:
        """Inside a loop: parts of the tensors, one size smaller."""
        variables = {
            n: tensors[v.key] if isinstance(v, TensorRef) else v for n, v in self.variables.items()
        }
        return replace(
            self, tensors=tensors, variables=variables, sizes=sizes, once=False, whole=False
        )
