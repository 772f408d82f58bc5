"""Groups of made-up programs, whose times are known to follow from their features."""

from __future__ import annotations

from math import exp

import numpy as np

from morello.learning.corpus import Group, MeasuredProgram
from morello.ranking.features import SCHEMA
from morello.ranking.graphs import PlanGraph

SPEC = "spec some(N = 8) { input x: f32[N]; output y: f32[N]; y = relu(x) }"


def group(number: int, *, programs: int = 12, noise: float = 0.0, slow: float = 0.5) -> Group:
    """Programs whose time is what is predicted, but that half of them are slower or faster.

    ``slow``: the logarithm by which those are slower that have the feature ``slow``.
    """
    random = np.random.default_rng(number)
    found = []
    for place in range(programs):
        predicted = 1000.0 * (1 + 0.01 * place) * (1 + number)
        is_slow = float(place == 0 or random.random() < 0.5)
        cycles = predicted * exp(slow * is_slow)
        runs = tuple(
            tuple((cycles * np.exp(noise * random.normal(size=5))).tolist()) for _ in range(2)
        )
        features = {"slow": is_slow, "log cycles": float(np.log2(predicted)), "coefficient:a": 1.0}
        graph = PlanGraph(
            ({"loops": 1.0}, {"kernel": 1.0, "slow": is_slow}),
            (1.0, 8.0),
            (0.1, 0.9),
            ((0, 1),),
            (0.9,),
        )
        text = f"{number}-{place}"
        found.append(
            MeasuredProgram({"roots": []}, predicted, features, text, 100, runs, graph=graph)
        )
    return Group(
        SPEC,
        "some",
        {"N": 8 + number},
        "x86.scalar",
        {"a": 2.0},
        "a processor",
        "a compiler",
        ("-O3",),
        number % 4 == 0,
        SCHEMA,
        tuple(found),
    )
