"""Recurrent nodes of ONNX, step by step.

All products with the inputs are one, ahead of the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from morello.networks.kinds import Rewrite, Translation
from morello.networks.onnx.elementwise import TEMPLATES

SIGMOID, TANH = TEMPLATES["Sigmoid"], "tanh({0})"


@dataclass(slots=True)
class _Cell:
    """One direction of a recurrent node.

    Attributes:
        t: Takes the nodes.
        size: That of a state.
        recurrent: What states are multiplied by, a row for each element of a gate: in one product,
            or in two.
        ahead: What inputs give, with biases: of one step a row for each of a batch.
        bias: Of the last gate's products with states, where it cannot be added ahead.
        batch: How many sequences there are.
    """

    t: Translation
    size: int
    recurrent: tuple[str, ...]
    ahead: str
    bias: str
    batch: int

    def of_inputs(self, step: int) -> str:
        """What the inputs of a step give to all gates."""
        width = self.t.shape(self.ahead)[1]
        return self.t.cut(self.ahead, (self.batch, width), (step * self.batch, 0))

    def gate(self, gates: str, place: int) -> str:
        """One of the gates side by side."""
        return self.t.cut(gates, (self.batch, self.size), (0, place * self.size))

    def of_state(self, state: str, product: int = 0) -> str:
        """What a state gives to all gates of a product."""
        return self.t.product(state, self.recurrent[product], swap_b=True)


def _lstm(cell: _Cell, step: int, states: Sequence[str]) -> list[str]:
    t, (hidden, held) = cell.t, states
    gates = t.elementwise("{0} + {1}", cell.of_inputs(step), cell.of_state(hidden))
    i, o, f = (t.elementwise(SIGMOID, cell.gate(gates, place)) for place in range(3))
    candidate = t.elementwise(TANH, cell.gate(gates, 3))
    held = t.elementwise("{0} * {1} + {2} * {3}", f, held, i, candidate)
    return [t.elementwise("{0} * tanh({1})", o, held), held]


def _gru(cell: _Cell, step: int, states: Sequence[str]) -> list[str]:
    t, [hidden] = cell.t, states
    inputs, of_state = cell.of_inputs(step), cell.of_state(hidden)
    gates = [
        t.elementwise("{0} + {1}", cell.gate(inputs, place), cell.gate(of_state, place))
        for place in range(2)
    ]
    update, reset = (t.elementwise(SIGMOID, gate) for gate in gates)
    if t.attribute("linear_before_reset", 0):
        own = t.elementwise("{0} + {1}", cell.gate(of_state, 2), cell.bias)
        last = t.elementwise("{0} * {1}", reset, own)
    else:
        kept = t.elementwise("{0} * {1}", reset, hidden)
        last = cell.of_state(kept, 1)
        last = t.elementwise("{0} + {1}", last, cell.bias)
    new = t.elementwise("tanh({0} + {1})", cell.gate(inputs, 2), last)
    return [t.elementwise("(1 - {0}) * {1} + {0} * {2}", update, new, hidden)]


def _rnn(cell: _Cell, step: int, states: Sequence[str]) -> list[str]:
    t, [hidden] = cell.t, states
    return [t.elementwise("tanh({0} + {1})", cell.of_inputs(step), cell.of_state(hidden))]


_Step = Callable[[_Cell, int, Sequence[str]], list[str]]

_KINDS: Mapping[str, tuple[_Step, int, tuple[str, ...]]] = {
    "GRU": (_gru, 1, ("Sigmoid", "Tanh")),
    "LSTM": (_lstm, 2, ("Sigmoid", "Tanh", "Tanh")),
    "RNN": (_rnn, 1, ("Tanh",)),
}
"""What a step computes, how many states there are, and the functions that are said."""


def _sequence(t: Translation) -> Sequence[str]:
    step, count, activations = _KINDS[t.operator]
    _check_plain(t, activations)
    steps, batch, _ = t.shape(t.inputs[0])
    direction = t.attribute("direction", "forward")
    found: list[list[list[str]]] = []  # of each direction, the states after each step
    for number in range(2 if direction == "bidirectional" else 1):
        cell = _cell(t, number)
        places = [5, 6][:count]
        states = [_state(t, place, number, (batch, cell.size)) for place in places]
        backward = number == 1 or direction == "reverse"
        after: dict[int, list[str]] = {}
        for own in reversed(range(steps)) if backward else range(steps):
            after[own] = states = step(cell, own, states)
        found.append([after[own] for own in range(steps)] + [states])
    every = [directions[own][0] for own in range(steps) for directions in found]
    last = [t.concat([each[-1][state] for each in found], 0) for state in range(count)]
    return t.concat(every, 0), *last


def _cell(t: Translation, number: int) -> _Cell:
    """The weights of a direction, and what they give of all inputs."""
    x, w, r = t.inputs[:3]
    steps, batch, width = t.shape(x)
    weights, recurrent = t.data(w, "weights")[number], t.data(r, "weights")[number]
    gates, size = recurrent.shape
    bias = np.zeros(2 * gates, np.float32)
    if t.input(3):
        bias = t.data(t.input(3), "bias")[number]
    own, of_states = bias.reshape(2, gates).copy()
    # Of a GRU's last gate the bias of states is multiplied with them.
    whole = 2 * size if t.operator == "GRU" else gates
    own[:whole] += of_states[:whole]
    ahead = t.product(t.view(x, (steps * batch, width)), t.constant(weights), swap_b=True)
    if t.input(3):
        ahead = t.elementwise("{0} + {1}", ahead, t.constant(own))
    # The last gate of a GRU may be of a state that another one has reset.
    apart = t.operator == "GRU" and not t.attribute("linear_before_reset", 0)
    products = np.split(recurrent, [2 * size]) if apart else [recurrent]
    rest = t.constant(of_states[2 * size :]) if t.operator == "GRU" else ""
    return _Cell(t, size, tuple(map(t.constant, products)), ahead, rest, batch)


def _check_plain(t: Translation, activations: tuple[str, ...]) -> None:
    both = t.attribute("direction", "forward") == "bidirectional"
    every = activations * (1 + both)
    given = tuple(t.attribute("activations", every))[: len(every)]  # the default is of both ways
    if t.attribute("layout", 0) or t.input(4) or t.input(7):
        raise t.unsupported("its batch is in front, lengths differ, or gates look at states")
    if given != every or t.attribute("clip", 0):
        raise t.unsupported(f"it clips, or has other functions than {', '.join(activations)}")
    if t.attribute("input_forget", 0):
        raise t.unsupported("it couples its gates")


def _state(t: Translation, place: int, number: int, shape: tuple[int, int]) -> str:
    """A state as a sequence begins."""
    name = t.input(place)
    if not name:
        return t.constant(np.zeros(shape, np.float32))
    directions, batch, size = t.shape(name)
    return t.cut(t.view(name, (directions * batch, size)), shape, (number * batch, 0))


REWRITES: Mapping[str, Rewrite] = dict.fromkeys(_KINDS, _sequence)
