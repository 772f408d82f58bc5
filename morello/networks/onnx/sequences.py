"""Recurrent nodes of ONNX, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from morello.networks.kinds import Rewrite, Translation
from morello.networks.onnx.elementwise import TEMPLATES

ACTIVATIONS = ("Sigmoid", "Tanh", "Tanh")


def _lstm(t: Translation) -> Sequence[str]:
    """All products with the inputs are one, ahead of the steps."""
    x, w, r = t.inputs[:3]
    _check_plain(t)
    steps, batch, width = t.shape(x)
    weights, recurrent = t.data(w, "weights")[0], t.data(r, "weights")[0]
    size = recurrent.shape[1]
    ahead = t.product(t.view(x, (steps * batch, width)), t.constant(weights), swap_b=True)
    if t.input(3):
        both = t.data(t.input(3), "bias").reshape(2, 4 * size).sum(axis=0, dtype=np.float32)
        ahead = t.elementwise("{0} + {1}", ahead, t.constant(both))
    hidden, cell = (_state(t, place, (batch, size)) for place in (5, 6))
    matrix, outputs = t.constant(recurrent), []
    for step in range(steps):
        own = t.cut(ahead, (batch, 4 * size), (step * batch, 0))
        gates = t.elementwise("{0} + {1}", own, t.product(hidden, matrix, swap_b=True))
        parts = [t.cut(gates, (batch, size), (0, place * size)) for place in range(4)]
        i, o, f = (t.elementwise(TEMPLATES["Sigmoid"], part) for part in parts[:3])
        candidate = t.elementwise("tanh({0})", parts[3])
        cell = t.elementwise("{0} * {1} + {2} * {3}", f, cell, i, candidate)
        hidden = t.elementwise("{0} * tanh({1})", o, cell)
        outputs.append(hidden)
    return t.concat(outputs, 0), hidden, cell


def _check_plain(t: Translation) -> None:
    forward = t.attribute("direction", "forward") == "forward" and not t.attribute("layout", 0)
    activations = tuple(t.attribute("activations", ACTIVATIONS))
    if not forward or t.input(4) or t.input(7) or activations != ACTIVATIONS:
        raise t.unsupported("only plain LSTMs are said: forward, of one length, no peepholes")
    if t.attribute("clip", 0) or t.attribute("input_forget", 0):
        raise t.unsupported("it clips, or couples its gates")


def _state(t: Translation, place: int, shape: Sequence[int]) -> str:
    """A state as a sequence begins."""
    name = t.input(place)
    return t.view(name, shape) if name else t.constant(np.zeros(shape, np.float32))


REWRITES: Mapping[str, Rewrite] = {"LSTM": _lstm}
