"""The search again, as naively as it can be written: one Spec at a time, recursively, in float64.

It shares with the engine what a rule yields for one Spec (`concrete_step`), and the structural list
of alternatives. It knows nothing of boxes, masks, weights or tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from morello.ir.spec import Family, Spec
from morello.language.evaluate import evaluate
from morello.rewriting.alternatives import Alternative, KernelAlternative, RuleAlternative, scope_at
from morello.rewriting.context import Context
from morello.rewriting.enumeration import alternatives
from morello.rewriting.functions import Scope
from morello.rewriting.references import point
from morello.rewriting.steps import SHARE_OF_A_CALL, Leaf, Placed, Sequence, Step, Tiled
from morello.search.results.reconstruct import concrete_step, leaf_spec


class BruteForce:
    """Least cycles of Specs; what is known is remembered."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.known: dict[Spec, float] = {}
        self.structure: dict[Family, tuple[Alternative, ...]] = {}

    def cycles(self, spec: Spec) -> float:
        """Least cycles of a Spec, or infinity."""
        if spec not in self.known:
            self.known[spec] = min(self._options(spec), default=inf)
        return self.known[spec]

    def _options(self, spec: Spec) -> Iterator[float]:
        if spec.family not in self.structure:
            self.structure[spec.family] = alternatives(self.context, spec.family)
        for alternative in self.structure[spec.family]:
            if isinstance(alternative, KernelAlternative):
                yield self._kernel(spec, alternative)
                continue
            for tile in self._tiles(spec) if alternative.axis else [None]:
                yield self._rule(spec, alternative, tile)

    def _tiles(self, spec: Spec) -> list[int | None]:
        return [tile for tile in self.context.target.sizes if tile < max(spec.sizes)]

    def _kernel(self, spec: Spec, alternative: KernelAlternative) -> float:
        match = alternative.match
        at = point(self.context.target, spec.variant, spec.coordinates)
        scope = Scope(self.context.target, match.scope_variables(at), at.sizes, at.used)
        fits = all(bool(holds) for _, holds in match.conditions(at))
        if not fits or not all(evaluate(guard, scope) for guard in match.kernel.guards):
            return inf
        return float(evaluate(match.kernel.cost, scope))

    def _scope(self, spec: Spec, alternative: RuleAlternative, tile: int | None) -> Scope:
        at = point(self.context.target, spec.variant, spec.coordinates)
        return scope_at(self.context.target, spec.family, alternative, at, tile)

    def _rule(self, spec: Spec, alternative: RuleAlternative, tile: int | None) -> float:
        declaration = alternative.rule.declaration
        scope = self._scope(spec, alternative, tile)
        if not all(evaluate(guard, scope) for guard in declaration.guards):
            return inf
        below = sum(self._below(concrete_step(self.context, spec, alternative, tile)))
        own = 0.0 if declaration.cost is None else float(evaluate(declaration.cost, scope))
        return own + below

    def _below(self, step: Step) -> tuple[float, float]:
        """Cycles of a rule's result, or infinity where it is not allowed.

        First what threads do at once, then what they wait for.
        """
        match step:
            case Leaf(prepack=ahead, ordered=ordered):
                cycles = self.cycles(leaf_spec(step)) * (SHARE_OF_A_CALL if ahead else 1)
                return (0.0, cycles) if ordered else (cycles, 0.0)
            case Sequence(steps=steps):
                parts = [self._below(inner) for inner in steps]
                return sum(p for p, _ in parts), sum(w for _, w in parts)
            case Placed(fits=fits, body=body):
                return self._below(body) if fits else (inf, inf)
            case Tiled():
                if not step.guard:
                    return inf, inf
                full, waits = self._below(step.full)
                rest, last = self._below(step.tail) if step.remainder else (0.0, 0.0)
                share = SHARE_OF_A_CALL if step.idle else 1
                return int(step.runs) * full + share * rest, int(step.count) * waits + last
