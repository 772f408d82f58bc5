"""What can be chosen for a Spec, and how a choice is named.

A choice is written down by the name of the rule or kernel and its parameters as text, never as a
place in an enumeration.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from morello.ir.target import Target
from morello.rewriting.alternatives import Alternative, KernelAlternative, choice_text


class Option(Struct, frozen=True):
    """An alternative with its tile size, if it has one."""

    alternative: Alternative
    tile: int | None

    @property
    def name(self) -> str:
        """Name of the rule or kernel."""
        if isinstance(self.alternative, KernelAlternative):
            return self.alternative.match.kernel.name
        return self.alternative.rule.name

    @property
    def parameters(self) -> tuple[tuple[str, str], ...]:
        """Its choices, by the names that the rule gives them."""
        if isinstance(self.alternative, KernelAlternative):
            return ()
        parameters = [(n, choice_text(v)) for n, v in self.alternative.choices]
        if self.alternative.axis is not None:
            parameters.append((self.alternative.axis, str(self.tile)))
        return tuple(parameters)

    @property
    def order(self) -> tuple[object, ...]:
        """Place among options of equal cost: the one order that breaks ties.

        Kernels come before rules, then the rule's name, its parameters as text, the smaller tile.
        """
        return (self.alternative.key, self.tile or 0)


def named_option(
    target: Target,
    alternatives: Iterable[Alternative],
    name: str,
    parameters: tuple[tuple[str, str], ...],
) -> Option | None:
    """What a choice that was written down names, of some alternatives; if anything."""
    texts = dict(parameters)
    tiles = {str(size): size for size in target.sizes}
    for alternative in alternatives:
        tile = texts.get(alternative.axis, "") if alternative.axis is not None else None
        if tile is not None and tile not in tiles:
            continue
        option = Option(alternative, None if tile is None else tiles[tile])
        if (option.name, option.parameters) == (name, parameters):
            return option
    return None
