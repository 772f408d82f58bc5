"""Graph networks are evaluated as they are written down, whatever the graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from morello.ir.numeric import Array
from morello.ranking.description import Description
from morello.ranking.files import model_of
from morello.ranking.graphs import NO_GRAPH, PlanGraph
from morello.ranking.model import LESS, About, ModelError
from morello.ranking.network import LIMIT, WEIGHTS, Network
from morello.records import replace

ABOUT = About("t", "p", "c", 10, 2, "2026-01-01", 0.02, 2.0)
WIDTH, ENSEMBLES, ROUNDS = 4, 2, 2
PARTS = ("a", "b")
COLUMNS = ("log cycles", f"{LESS}log cycles")


def network() -> Network:
    """One with weights that are drawn."""
    random = np.random.default_rng(1)
    nodes, wholes = len(PARTS) + 2, len(COLUMNS)
    square = (ROUNDS, WIDTH, WIDTH)
    shapes = {
        "enter": (nodes, WIDTH),
        "enter_bias": (WIDTH,),
        "own": square,
        "own_bias": (ROUNDS, WIDTH),
        "lower": square,
        "upper": square,
        "whole": (wholes, WIDTH),
        "whole_bias": (WIDTH,),
        "join": (3 * WIDTH, WIDTH),
        "join_bias": (WIDTH,),
        "leave": (WIDTH,),
    }
    weights = {
        name: random.normal(size=(ENSEMBLES, *shape)).astype(np.float16)
        for name, shape in shapes.items()
    }
    centers = random.normal(size=nodes + wholes).astype(np.float32)
    scales = (0.5 + random.random(nodes + wholes)).astype(np.float32)
    return Network(ABOUT, COLUMNS, PARTS, centers, scales, **weights)


DIAMOND = PlanGraph(
    ({"a": 1.0}, {"b": 2.0, "unknown": 9.0}, {"a": -3.0, "b": 1.0}, {"b": 100.0}),
    (1.0, 4.0, 2.0, 64.0),
    (0.1, 0.2, 0.3, 0.4),
    ((0, 1), (0, 2), (1, 3), (2, 3)),
    (0.5, 0.4, 0.7, 0.3),
)
ALONE = PlanGraph(({"a": 0.5},), (1.0,), (1.0,), (), ())
PROGRAMS = [
    Description({"log cycles": 10.0}, DIAMOND),
    Description({"log cycles": 11.0}, ALONE),
    Description({}, NO_GRAPH),
]


def one_by_one(model: Network, ensemble: int, described: Description, first: Description) -> float:
    """The same for one program, a part at a time."""
    graph = described.graph
    weights = {name: getattr(model, name)[ensemble].astype(np.float64) for name in WEIGHTS}
    count = len(PARTS) + 2

    def taken(values: list[float], begin: int) -> Array:
        end = begin + len(values)
        scaled = (np.array(values) - model.centers[begin:end]) / model.scales[begin:end]
        return np.clip(scaled, -LIMIT, LIMIT)

    def positive(values: Array) -> Array:
        return np.maximum(values, 0)

    parts = []
    for part, runs, share in zip(graph.parts, graph.runs, graph.shares, strict=True):
        row = taken([*(part.get(name, 0.0) for name in PARTS), np.log2(runs), share], 0)
        parts.append(positive(row @ weights["enter"] + weights["enter_bias"]))
    for step in range(ROUNDS):
        found = []
        for place, known in enumerate(parts):
            lower, upper, uppers = np.zeros(WIDTH), np.zeros(WIDTH), 0
            for (above, below), weight in zip(graph.edges, graph.weights, strict=True):
                if above == place:
                    lower += weight * parts[below]
                if below == place:
                    upper += parts[above]
                    uppers += 1
            heard = lower @ weights["lower"][step] + upper / max(uppers, 1) @ weights["upper"][step]
            own = known @ weights["own"][step] + weights["own_bias"][step]
            found.append(known + positive(own + heard))
        parts = found
    cycles = [one.features.get("log cycles", 0.0) for one in (described, first)]
    whole = taken([cycles[0], cycles[0] - cycles[1]], count)
    summed = sum((s * p for s, p in zip(graph.shares, parts, strict=True)), np.zeros(WIDTH))
    mean = sum(parts, np.zeros(WIDTH)) / max(len(parts), 1)
    program = positive(whole @ weights["whole"] + weights["whole_bias"])
    joined = np.concatenate([summed, mean, program])
    return float(positive(joined @ weights["join"] + weights["join_bias"]) @ weights["leave"])


def test_networks_are_what_they_are_by_hand() -> None:
    """Parts that are used twice, programs of one part, and of none."""
    model = network()
    wanted = np.array(
        [[one_by_one(model, e, p, PROGRAMS[0]) for p in PROGRAMS] for e in range(ENSEMBLES)]
    )
    found = model.corrections(PROGRAMS)
    assert found == pytest.approx(wanted - wanted[:, :1], rel=1e-4, abs=1e-4)
    assert np.abs(found[:, 1:]).min() > 1e-3
    assert found[:, :2] == pytest.approx(model.corrections(PROGRAMS[:2]), rel=1e-5, abs=1e-5)
    assert model.corrections([]).shape == (ENSEMBLES, 0)


def test_a_network_is_the_same_from_its_file() -> None:
    model = network()
    again = model_of(model.bytes, "it")
    assert isinstance(again, Network)
    assert (again.about, again.names, again.digest) == (ABOUT, model.names, model.digest)
    assert again.corrections(PROGRAMS).tolist() == model.corrections(PROGRAMS).tolist()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scales", np.zeros(6, np.float32)),
        ("centers", np.zeros(5, np.float32)),
        ("enter", np.zeros((2, 5, WIDTH), np.float16)),
        ("own", np.zeros((2, 3, WIDTH, WIDTH), np.float16)),
        ("own", np.zeros(3, np.float16)),
        ("leave", np.full((2, WIDTH), np.nan, np.float16)),
        ("leave", np.zeros((2, WIDTH), np.int32)),
        ("leave", np.zeros((3, WIDTH), np.float16)),
        ("parts", ("a",)),
        ("columns", ("a", "b", "c")),
    ],
)
def test_networks_that_are_none_are_refused(name: str, value: Any) -> None:
    changes = {name: value}
    with pytest.raises(ModelError, match="'it' is no model that can be used"):
        model_of(replace(network(), **changes).bytes, "it")
