"""What moved a model: of which features it takes one plan to be faster than another."""

from __future__ import annotations

from morello.ranking.description import Description
from morello.ranking.model import Model
from morello.records import replace

MOST = 3
"""Features that are told."""

OPTION = "option:"
"""How features of parts begin that name a rule or a kernel."""


def moved(model: Model, first: Description, other: Description) -> tuple[tuple[str, float], ...]:
    """The features that count most, each with the logarithm by which it changes what is expected.

    A feature counts for what would be expected if the other plan had it as the first one has; a
    rule or a kernel, if of both plans nothing were known of the parts that it makes.

    Args:
        model: What expects.
        first: The search's choice.
        other: The plan that is compared with it.
    """
    names = sorted({*first.features, *other.features})
    differ = [n for n in names if first.features.get(n, 0.0) != other.features.get(n, 0.0)]
    known = [(first, _with(other, name, first.features.get(name, 0.0))) for name in differ]
    options = {n for one in (first, other) for p in one.graph.parts for n in p if OPTION in n}
    makers = sorted(options)
    known += [(_without(first, maker), _without(other, maker)) for maker in makers]
    pairs = [(first, other), *known]
    expected = model.corrections([one for pair in pairs for one in pair]).mean(axis=0)
    apart = expected[1::2] - expected[::2]
    told = [*differ, *(f"parts by {maker.removeprefix(OPTION)}" for maker in makers)]
    effects = zip(told, (apart[0] - apart[1:]).tolist(), strict=True)
    counted = sorted(effects, key=lambda effect: (-abs(effect[1]), effect[0]))
    return tuple((name, effect) for name, effect in counted[:MOST] if effect)


def _with(described: Description, feature: str, value: float) -> Description:
    return replace(described, features={**described.features, feature: value})


def _without(described: Description, maker: str) -> Description:
    parts = tuple({} if maker in part else part for part in described.graph.parts)
    return replace(described, graph=replace(described.graph, parts=parts))
