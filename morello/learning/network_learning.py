"""Graph networks that learn what is to be learned of programs, from the parts of their plans.

There are two losses. The order of two programs of one goal counts by the logistic loss of the
difference of their scores, weighted by how far their times differ (C. Burges et al., "Learning to
Rank using Gradient Descent", ICML 2005); how far off a program is, by Huber's. Of features of
parts that fewer than `FEWEST` goals have, nothing is learned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import sqrt
from typing import Any

import numpy as np

from morello.errors import not_installed
from morello.ir.numeric import Array
from morello.learning.dataset import Dataset, Goal
from morello.ranking.model import About
from morello.ranking.network import WEIGHTS, Network, Packed, outputs, packed, scaled

WIDTH = 32
ROUNDS = 2
EPOCHS = 30
GOALS = 16
"""In a batch."""

RATE = 3e-3
DECAY = 1e-2
DROPPED = 0.2
"""Of what is known of a program, what a step of the training does not see."""

OFF = 0.1
"""Errors over this count linearly: a logarithm."""

APART = 0.1
"""Programs are in order for sure whose scores differ by a few times this."""

FARTHEST = 0.3
"""Programs whose times differ by more count as if they differed by this."""

ORDER = 0.1
"""What the loss of the order counts beside the other."""

FEWEST = 3
"""Goals that a feature of a part has to be in."""

LEAST_SCALE = 1e-2


def learn(about: About, data: Dataset, parts: Sequence[Sequence[int]]) -> Network:
    """A network for each part of the goals.

    Raises:
        MorelloError: torch is not installed.
    """
    torch = require_library()
    names = _names(data.goals)
    graphs = [packed([one.graph for one in goal.described], names) for goal in data.goals]
    # What is the same in all programs says nothing, and would be far from that in another one.
    vary = np.ptp(np.vstack([goal.compared for goal in data.goals]), axis=0) > 0
    columns = tuple(np.array(data.compared_columns)[vary].tolist())
    wholes = [goal.compared[:, vary] for goal in data.goals]
    of_parts, of_wholes = _spread([one.nodes for one in graphs]), _spread(wholes)
    samples = [
        _Sample(torch, one, scaled(one.nodes, *of_parts), scaled(whole, *of_wholes), goal)
        for one, whole, goal in zip(graphs, wholes, data.goals, strict=True)
    ]
    with _one_thread(torch):
        found = [
            _train(torch, [samples[place] for place in part], seed)
            for seed, part in enumerate(parts)
        ]
    # Half of the digits make no difference, and half of the file.
    weights = {n: np.array([one[n] for one in found]).astype(np.float16) for n in WEIGHTS}
    centers, scales = (
        np.concatenate(both).astype(np.float32) for both in zip(of_parts, of_wholes, strict=True)
    )
    return Network(about, columns, names, centers, scales, **weights)


def _names(goals: Sequence[Goal]) -> tuple[str, ...]:
    """Features of parts that some goals have."""
    found: Counter[str] = Counter()
    for goal in goals:
        parts = {id(part): part for one in goal.described for part in one.graph.parts}
        found.update({name for part in parts.values() for name in part})
    return tuple(sorted(name for name, count in found.items() if count >= FEWEST))


def _spread(rows: Sequence[Array]) -> tuple[Array, Array]:
    """Of each column the mean and the standard deviation, which no division makes too large."""
    every = np.concatenate(rows)
    return every.mean(axis=0), np.maximum(every.std(axis=0), LEAST_SCALE)


class _Sample:
    """The programs of a goal as tensors."""

    def __init__(self, torch: Any, graphs: Packed, nodes: Array, whole: Array, goal: Goal) -> None:
        tensor = torch.from_numpy
        self.nodes, self.whole = tensor(nodes), tensor(whole)
        self.shares, self.weights = tensor(graphs.shares), tensor(graphs.weights)
        self.program, self.counts = tensor(graphs.program), tensor(graphs.counts)
        self.above, self.below = tensor(graphs.above), tensor(graphs.below)
        predicted = np.log(goal.predicted / goal.predicted[0])
        self.wanted = tensor(goal.left.astype(np.float32))
        self.predicted = tensor(predicted.astype(np.float32))
        one, other = np.triu_indices(len(goal.cycles), 1)
        times = goal.left + predicted
        apart = times[one] - times[other]
        self.one, self.other = tensor(one), tensor(other)
        self.sign = tensor(np.sign(apart).astype(np.float32))
        mean = np.minimum(np.abs(apart), FARTHEST) / len(times) ** 2
        self.matters = tensor(mean.astype(np.float32))


class _Batch:
    """Several goals as one graph; `Passing` over torch's tensors."""

    def __init__(self, torch: Any, samples: Sequence[_Sample], generator: Any) -> None:
        self._torch, self._generator = torch, generator
        programs = np.cumsum([0, *(len(sample.wanted) for sample in samples)]).tolist()
        parts = np.cumsum([0, *(len(sample.nodes) for sample in samples)]).tolist()

        def joined(name: str, begins: Sequence[int] | None = None) -> Any:
            pieces = [getattr(sample, name) for sample in samples]
            if begins is not None:
                pieces = [piece + begin for piece, begin in zip(pieces, begins, strict=False)]
            return torch.cat(pieces)

        self.nodes, self.whole = joined("nodes"), joined("whole")
        self._shares, self._weights = joined("shares")[:, None], joined("weights")[:, None]
        self._program = joined("program", programs)
        self._above, self._below = joined("above", parts), joined("below", parts)
        self._counts = joined("counts").clamp(min=1)[:, None]
        uppers = torch.bincount(self._below, minlength=len(self.nodes))
        self._uppers = uppers.clamp(min=1)[:, None]
        self.wanted, self.predicted = joined("wanted"), joined("predicted")
        counts = torch.tensor([len(sample.wanted) for sample in samples])
        self.first = torch.tensor(programs[:-1]).repeat_interleave(counts)
        self.of_goal = 1 / counts.repeat_interleave(counts)
        self.one, self.other = joined("one", programs), joined("other", programs)
        self.sign, self.matters = joined("sign"), joined("matters")

    def positive(self, values: Any) -> Any:
        return values.clamp(min=0)

    def from_lower(self, values: Any) -> Any:
        return self._sums(values[self._below] * self._weights, self._above, len(values))

    def from_upper(self, values: Any) -> Any:
        return self._sums(values[self._above], self._below, len(values)) / self._uppers

    def of_programs(self, values: Any) -> Sequence[Any]:
        count = len(self.wanted)
        shared = self._sums(values * self._shares, self._program, count)
        return shared, self._sums(values, self._program, count) / self._counts

    def beside(self, columns: Sequence[Any]) -> Any:
        joined = self._torch.cat(list(columns), 1)
        drawn = self._torch.rand(joined.shape, generator=self._generator)
        return joined * (drawn >= DROPPED) / (1 - DROPPED)

    def _sums(self, rows: Any, places: Any, count: int) -> Any:
        return self._torch.zeros(count, rows.shape[1]).index_add(0, places, rows)


def _train(torch: Any, samples: Sequence[_Sample], seed: int) -> Mapping[str, Array]:
    """The weights of one network."""
    generator = torch.Generator().manual_seed(seed)
    weights = _begin(torch, generator, samples[0].nodes.shape[1], samples[0].whole.shape[1])
    optimizer = torch.optim.AdamW(weights.values(), lr=RATE, weight_decay=DECAY)
    steps = EPOCHS * -(-len(samples) // GOALS)
    rates = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, steps)
    random = np.random.default_rng(seed)
    for _ in range(EPOCHS):
        order = random.permutation(len(samples))
        for begin in range(0, len(order), GOALS):
            some = [samples[place] for place in order[begin : begin + GOALS]]
            loss = _loss(torch, weights, _Batch(torch, some, generator))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            rates.step()
    return {name: tensor.detach().numpy() for name, tensor in weights.items()}


def _begin(torch: Any, generator: Any, nodes: int, wholes: int) -> dict[str, Any]:
    """Weights before anything is learned: all programs are predicted right."""

    def drawn(*shape: int) -> Any:
        spread = 1 / sqrt(shape[-2])
        return (torch.rand(shape, generator=generator) * 2 - 1) * spread

    found = {
        "enter": drawn(nodes, WIDTH),
        "own": drawn(ROUNDS, WIDTH, WIDTH),
        "lower": drawn(ROUNDS, WIDTH, WIDTH),
        "upper": drawn(ROUNDS, WIDTH, WIDTH),
        "whole": drawn(wholes, WIDTH),
        "join": drawn(3 * WIDTH, WIDTH),
        "own_bias": torch.zeros(ROUNDS, WIDTH),
        **{f"{name}_bias": torch.zeros(WIDTH) for name in ("enter", "whole", "join")},
        "leave": torch.zeros(WIDTH),
    }
    return {name: tensor.requires_grad_() for name, tensor in found.items()}


def _loss(torch: Any, weights: Mapping[str, Any], batch: _Batch) -> Any:
    found = outputs(batch, weights, batch.nodes, batch.whole)
    losses = torch.nn.functional
    off = losses.huber_loss(found - found[batch.first], batch.wanted, "none", delta=OFF)
    scores = found + batch.predicted
    apart = (scores[batch.one] - scores[batch.other]) * batch.sign
    order = losses.softplus(-apart / APART) * batch.matters
    return (off * batch.of_goal).sum() + ORDER * order.sum()


@contextmanager
def _one_thread(torch: Any) -> Iterator[None]:
    """Sums in one order. Nothing here is large enough for several threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def require_library() -> Any:
    """Torch.

    Raises:
        MorelloError: It is not installed.
    """
    try:
        import torch  # noqa: PLC0415
    except ImportError as error:
        raise not_installed("learning with graph networks", "torch", "learn-nn") from error
    return torch
