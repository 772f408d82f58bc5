"""Every Spec of a plan with what it could have begun with, and with what refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from morello.report.alternatives import Beginning, Why
from morello.report.documents import Document
from morello.report.plan import Line, Plan
from morello.rewriting.alternatives import Refusal

EQUAL, CHEAPEST = 3, 6
"""Alternatives that are shown of each decision: of equal cost, and of more.

Besides, the cheapest of every other rule and kernel.
"""

ROUNDING = 1e-6
"""Costs that differ by no more are the same: the search computes them in float32."""

REFUSALS = 24
"""Reasons that are shown of each decision."""


@dataclass(frozen=True)
class Decision:
    """A Spec of a plan, with all of the lines that it stands in: what is chosen is the same."""

    number: int
    why: Why
    lines: tuple[int, ...]
    runs: int

    @property
    def next_ratio(self) -> float | None:
        """The cost of the cheapest alternative that costs more, over that of what is chosen."""
        chosen, *others = self.why.beginnings
        dearer = others[equals(chosen, others) :]
        return dearer[0].cycles / chosen.cycles if dearer and chosen.cycles else None

    def document(self, cycles: float) -> Document:
        """For tools and for the page.

        Args:
            cycles: Predicted cycles of the whole program.
        """
        chosen, *others = self.why.beginnings
        told = shown_beginnings(chosen, others)
        refused = grouped(self.why.refused)
        return {
            "number": self.number,
            "spec": str(self.why.spec),
            "lines": list(self.lines),
            "runs": self.runs,
            **_step(chosen),
            "cycles": chosen.cycles,
            "equal": equals(chosen, others),
            "next_ratio": self.next_ratio,
            "alternatives": [self._alternative(b, cycles) for b in told],
            "more_alternatives": len(others) - len(told),
            "refused": refused[:REFUSALS],
            "more_refused": len(refused[REFUSALS:]),
        }

    def _alternative(self, beginning: Beginning, cycles: float) -> Document:
        """What it would cost to begin so, here and in all: everything else stays the best."""
        least = self.why.beginnings[0].cycles
        program = cycles + (beginning.cycles - least) * self.runs
        return {
            **_step(beginning),
            "cycles": beginning.cycles,
            "ratio": beginning.cycles / least if least else 1.0,
            "program_cycles": program,
            "program_ratio": program / cycles if cycles else 1.0,
        }


def decisions(plan: Plan) -> tuple[Decision, ...]:
    """Those of a plan, in the order of their first lines."""
    found: dict[tuple[int, object], list[tuple[int, Line]]] = {}
    for number, line in enumerate(plan.lines, 1):
        found.setdefault((id(line.tree), line.node.spec), []).append((number, line))
    return tuple(
        Decision(
            number,
            Why(uses[0][1].tree.solved, uses[0][1].node.spec),
            tuple(line for line, _ in uses),
            sum(line.runs for _, line in uses),
        )
        for number, uses in enumerate(found.values(), 1)
    )


def equals(chosen: Beginning, others: Sequence[Beginning]) -> int:
    """How many cost as much as what is chosen; they are the first."""
    return sum(beginning.cycles <= chosen.cycles * (1 + ROUNDING) for beginning in others)


def shown_beginnings(chosen: Beginning, others: Sequence[Beginning]) -> list[Beginning]:
    """Some that cost the same, the cheapest that cost more, and the cheapest of all other steps."""
    equal = equals(chosen, others)
    told = [*others[: min(equal, EQUAL)], *others[equal : equal + CHEAPEST]]
    names = {beginning.option.name for beginning in told}
    for beginning in others:
        if beginning.option.name not in names:
            names.add(beginning.option.name)
            told.append(beginning)
    return sorted(told, key=lambda beginning: beginning.cycles)


def grouped(refusals: Iterable[Refusal]) -> list[Document]:
    """By reason: rules and kernels, each with how many more choices of parameters it is for."""
    found: dict[str, dict[str, list[Refusal]]] = {}
    for refusal in refusals:
        name = refusal.name.partition(" ")[0]  # what follows is the Spec
        found.setdefault(refusal.reason, {}).setdefault(name, []).append(refusal)
    return [
        {
            "reason": reason,
            "steps": [
                {"step": name, "parameters": dict(each[0].choices), "more": len(each) - 1}
                for name, each in of.items()
            ],
        }
        for reason, of in found.items()
    ]


def _step(beginning: Beginning) -> Document:
    return {"step": beginning.option.name, "parameters": dict(beginning.option.parameters)}
