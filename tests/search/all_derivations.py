"""Every derivation of a Spec in order, as naively as it can be: all combinations, sorted.

Like `brute_force`, which it builds on, it knows nothing of boxes, tables or queues.
Costs are the recurrence in float32, term by term.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from morello.ir.spec import Spec
from morello.language.evaluate import evaluate
from morello.rewriting.alternatives import (
    Alternative,
    KernelAlternative,
    RuleAlternative,
    choice_text,
)
from morello.rewriting.enumeration import alternatives
from morello.rewriting.steps import SHARE_OF_A_CALL, Leaf, Placed, Sequence, Step, Tiled
from morello.search.results.reconstruct import PlanNode, concrete_step, leaf_spec
from tests.search.brute_force import BruteForce

Tree = tuple[Any, ...]
"""A derivation: name, parameters, and the derivations of the sub-Specs in program order."""


@dataclass(frozen=True)
class Derivation:
    """A derivation with what it is sorted by: ``key`` begins with its intensity."""

    key: tuple[Any, ...]
    tree: Tree

    @property
    def intensity(self) -> np.float32:
        """Cycles per iteration."""
        found: np.float32 = self.key[0]
        return found


def tree(plan: PlanNode) -> Tree:
    """What a plan is told apart by."""
    option = plan.option
    return (option.name, dict(option.parameters), tuple(map(tree, plan.children)))


def kernels(derivation: Tree) -> frozenset[str]:
    """Names of the kernels of a derivation."""
    name, _, children = derivation
    return frozenset().union(*map(kernels, children)) if children else frozenset((name,))


class AllDerivations(BruteForce):
    """Ranked derivations; what is known is remembered.

    With a limit only so many are kept of each Spec. A combination of ranks r can be among the
    first n only if the product of all r + 1 is at most n: that many are no worse than it.
    """

    def __init__(self, context: Any, limit: int | None) -> None:
        super().__init__(context)
        self.limit = limit
        self.ranked: dict[Spec, list[Derivation]] = {}
        self.counted: dict[Spec, int] = {}

    def count(self, spec: Spec) -> int:
        """How many derivations there are."""
        if spec not in self.counted:
            edges = self._edges(spec)
            self.counted[spec] = sum(
                prod(map(self.count, dict.fromkeys(child for _, child in uses)))
                for _, _, uses, _ in edges
            )
        return self.counted[spec]

    def derivations(self, spec: Spec) -> list[Derivation]:
        """All, or the first, in order."""
        if spec not in self.ranked:
            found = [d for edge in self._edges(spec) for d in self._of_edge(spec, *edge)]
            self.ranked[spec] = sorted(found, key=lambda d: d.key)[: self.limit]
        return self.ranked[spec]

    def _of_edge(
        self,
        spec: Spec,
        alternative: Alternative,
        tile: int | None,
        uses: list[tuple[float, Spec]],
        own: float,
    ) -> Iterator[Derivation]:
        children = list(dict.fromkeys(child for _, child in uses))
        below = [self.derivations(child) for child in children]
        volume = prod(spec.sizes)
        for ranks in product(*(range(len(found)) for found in below)):
            if self.limit is not None and prod(r + 1 for r in ranks) > self.limit:
                continue
            chosen = {c: b[r] for c, b, r in zip(children, below, ranks, strict=True)}
            terms = [
                chosen[child].intensity * np.float32(n * prod(child.sizes) / volume)
                for n, child in uses
            ]
            intensity = np.float32(own / volume)
            if terms:
                total = terms[0]
                for term in terms[1:]:
                    total = total + term
                intensity = total + intensity
            parts = tuple(chosen[child].tree for _, child in uses)
            key = (intensity, alternative.key, tile or 0, ranks)
            yield Derivation(key, (*_decision(alternative, tile), parts))

    def _edges(
        self, spec: Spec
    ) -> Iterator[tuple[Alternative, int | None, list[tuple[float, Spec]], float]]:
        """What applies to a Spec: with a tile size, the sub-Specs with their counts, own cycles."""
        if spec.family not in self.structure:
            self.structure[spec.family] = alternatives(self.context, spec.family)
        for alternative in self.structure[spec.family]:
            if isinstance(alternative, KernelAlternative):
                own = self._kernel(spec, alternative)
                if np.isfinite(own):
                    yield alternative, None, [], own
                continue
            for tile in self._tiles(spec) if alternative.axis else [None]:
                uses = self._uses(spec, alternative, tile)
                if uses is not None and all(self.derivations_exist(child) for _, child in uses):
                    yield alternative, tile, uses, self._own(spec, alternative, tile)

    def derivations_exist(self, spec: Spec) -> bool:
        """Whether anything implements a Spec."""
        return bool(np.isfinite(self.cycles(spec)))

    def _own(self, spec: Spec, alternative: RuleAlternative, tile: int | None) -> float:
        cost = alternative.rule.declaration.cost
        return 0.0 if cost is None else float(evaluate(cost, self._scope(spec, alternative, tile)))

    def _uses(
        self, spec: Spec, alternative: RuleAlternative, tile: int | None
    ) -> list[tuple[float, Spec]] | None:
        scope = self._scope(spec, alternative, tile)
        if not all(evaluate(guard, scope) for guard in alternative.rule.declaration.guards):
            return None
        found = _leaves(concrete_step(self.context, spec, alternative, tile))
        return None if found is None else [(n, child) for n, child, _ in found]


def _decision(alternative: Alternative, tile: int | None) -> tuple[str, dict[str, str]]:
    if isinstance(alternative, KernelAlternative):
        return alternative.match.kernel.name, {}
    parameters = {name: choice_text(value) for name, value in alternative.choices}
    if alternative.axis is not None:
        parameters[alternative.axis] = str(tile)
    return alternative.rule.name, parameters


def _leaves(step: Step) -> list[tuple[float, Spec, bool]] | None:
    """Sub-Specs with their counts, and whether threads wait; none where the step is not allowed."""
    match step:
        case Leaf():
            return [(SHARE_OF_A_CALL if step.prepack else 1, leaf_spec(step), step.ordered)]
        case Sequence(steps=steps):
            found = [_leaves(inner) for inner in steps]
            if any(part is None for part in found):
                return None
            return [pair for part in found for pair in part or []]
        case Placed(fits=fits, body=body):
            return _leaves(body) if fits else None
        case Tiled():
            full = _leaves(step.full) if step.guard else None
            tail = _leaves(step.tail) if step.remainder else []
            if full is None or tail is None:
                return None
            idle, count, runs = bool(step.idle), int(step.count), int(step.runs)
            often = [(n * (count if waits else runs), child, waits) for n, child, waits in full]
            once = [
                (n * (SHARE_OF_A_CALL if idle and not waits else 1), child, waits)
                for n, child, waits in tail
            ]
            return often + once
