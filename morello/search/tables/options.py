"""What can be chosen for a Spec, and how a choice is named.

A choice is written down by the name of the rule or kernel and its parameters as text, never as a
place in an enumeration.
"""

from __future__ import annotations

from dataclasses import dataclass

from morello.rewriting.alternatives import Alternative, KernelAlternative, choice_text


@dataclass(frozen=True, slots=True)
class Option:
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
