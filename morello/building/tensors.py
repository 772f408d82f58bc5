"""Tensors of a spec that is being built, and operators as functions of them."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from morello.building.values import Scalar
from morello.definitions import load_definitions
from morello.language.places import text_of


class Builder(Protocol):
    """What tensors need of the `SpecBuilder` that they are of."""

    name: str

    def name_of(self, number: int) -> str:
        """What the spec's text calls a tensor."""

    def apply(self, operator: str, /, *operands: Tensor, **scalars: Scalar) -> Tensor:
        """What an operator computes."""


class Tensor(Struct, frozen=True, eq=False):
    """A tensor of a spec that is being built: declared, or what an operator computes."""

    builder: Builder
    number: int

    @property
    def name(self) -> str:
        """What the spec's text calls it.

        What has been given no name is called after its operator, until it is given one.
        """
        return self.builder.name_of(self.number)

    def __repr__(self) -> str:
        return f"<tensor '{self.name}' of spec '{self.builder.name}'>"


class Operators:
    """The operators, as functions of tensors: ``spec.op.NAME(x, z, alpha=0.1)``.

    Which there are, and how many tensors and scalars each takes, is checked when the spec is
    compiled. ``dir(spec.op)`` lists those that are installed.
    """

    def __init__(self, builder: Builder) -> None:
        """See `SpecBuilder.op`."""
        self._builder = builder

    def __getattr__(self, name: str) -> OperatorFunction:
        if name.startswith("_"):  # what Python and notebooks look for in any object
            raise AttributeError(f"operator '{name}' is no attribute: use apply('{name}', ...)")
        return OperatorFunction(self._builder, name)

    def __dir__(self) -> list[str]:
        return sorted(load_definitions().operators)


class OperatorFunction(Struct, frozen=True):
    """An operator as a function of tensors of one spec: see `SpecBuilder.apply`."""

    builder: Builder
    name: str

    def __call__(self, *operands: Tensor, **scalars: Scalar) -> Tensor:
        """Apply it; operands by position, scalars by name."""
        return self.builder.apply(self.name, *operands, **scalars)

    def __repr__(self) -> str:
        """With its declaration and meaning, if it is installed."""
        known = load_definitions().operators.get(self.name)
        if known is None:
            return f"<operator '{self.name}', which is not installed>"
        given = ", ".join(text_of(p.span) for p in (*known.inputs, *known.declaration.scalars))
        return f"<operator {self.name}({given}) -> {text_of(known.output.span)}: {known.doc}>"
