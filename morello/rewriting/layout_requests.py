"""Layout requests: the layouts and vectors that kernels are written for, of one operand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from msgspec import Struct, field

from morello.ir.layout import Axis, Layout, Order, height_of, panel_of, width_of
from morello.ir.pruning import prunes
from morello.ir.target import Microkernel
from morello.language import target_ast
from morello.rewriting.patterns import pattern_order, refuses_plain

Conclusion = TypeVar("Conclusion")


class LayoutRequest(Struct, frozen=True):
    """What a kernel requests of an operand, or of a view of it along ``axes``.

    ``read``: the kernel reads it, so that it may gain by panels; what is only written does not.
    ``own``: the kernel is for the operation itself, whose other operands it has to accept as they
    are.
    """

    kernel: Microkernel
    name: str
    pattern: target_ast.KernelOperand
    axes: tuple[Axis, ...]
    read: bool
    own: bool

    @property
    def possible(self) -> bool:
        """Whether an operand has as many dimensions, and neighbours to lie together."""
        rank = len(self.axes)
        if len(self.pattern.shape) > rank:
            return False
        return not rank or self.axes[pattern_order(self.pattern, rank)[-1]].step == 1

    @property
    def plain(self) -> bool:
        """Whether it is requested without panels too."""
        return not refuses_plain(self.kernel, self.name)

    def order(self, rank: int) -> Order:
        """The order of an operand of this rank: what a view leaves out is slowest.

        What several dimensions of a view run along is where the fastest of them is.
        """
        pattern = pattern_order(self.pattern, len(self.axes))
        along = [*dict.fromkeys(self.axes[p].dimension for p in reversed(pattern))][::-1]
        return (*(d for d in range(rank) if d not in along), *along)

    def in_panels(self, rank: int) -> Iterator[Layout]:
        """The layouts in panels that are requested of an operand of this rank.

        Those with a height take the place of those as wide without one, where they can be.
        """
        panels = set(map(panel_of, self.pattern.panels))
        tall = {p for p in panels if height_of(p)}
        if not self._two_fastest(rank):
            panels -= tall
        elif tall and prunes("tall_panels"):
            panels -= set(map(width_of, tall))
        return (Layout(self.order(rank), panel) for panel in panels)

    def _two_fastest(self, rank: int) -> bool:
        """Whether the two fastest dimensions of a view are those of the operand."""
        order = pattern_order(self.pattern, len(self.axes))[-2:]
        own = tuple(Axis(dimension) for dimension in self.order(rank)[-2:])
        return len(order) == 2 and tuple(self.axes[p] for p in order) == own


class LayoutRequests(Struct, frozen=True, eq=False):
    """All that kernels request of an operand, and what was concluded from it."""

    of: tuple[LayoutRequest, ...]
    _concluded: dict[object, Any] = field(default_factory=dict)

    def once(self, question: object, conclude: Callable[[], Conclusion]) -> Conclusion:
        """What follows from the requests, worked out at the first call for each question."""
        if question not in self._concluded:
            self._concluded[question] = conclude()
        known: Conclusion = self._concluded[question]
        return known
