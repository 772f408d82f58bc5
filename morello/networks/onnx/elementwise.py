"""Nodes of ONNX that compute element by element."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from morello.networks.arithmetic import POWERS, SIGMOID
from morello.networks.kinds import LOWEST, Rewrite, Translation, number

TEMPLATES: Mapping[str, str] = {
    "Abs": "abs({0})",
    "Add": "{0} + {1}",
    "Div": "{0} / {1}",
    "Erf": "erf({0})",
    "Exp": "exp({0})",
    "Floor": "floor({0})",
    "HardSwish": "{0} * max(0, min(1, {0} / 6 + 0.5))",
    "Log": "log({0})",
    "Mish": "{0} * tanh(max({0}, 0) + log1p(exp(-abs({0}))))",
    "Mul": "{0} * {1}",
    "Neg": "-{0}",
    "PRelu": "max({0}, 0) + {1} * min({0}, 0)",
    "Reciprocal": "1 / {0}",
    "Relu": "max({0}, 0)",
    "Round": "round({0})",
    "Sigmoid": SIGMOID,
    "Softplus": "max({0}, 0) + log1p(exp(-abs({0})))",
    "Softsign": "{0} / (1 + abs({0}))",
    "Sqrt": "sqrt({0})",
    "Sub": "{0} - {1}",
    "Tanh": "tanh({0})",
    # Truth is a number, 0 or 1.
    "And": "{0} * {1}",
    "Equal": "1 if {0} == {1} else 0",
    "Greater": "1 if {0} > {1} else 0",
    "GreaterOrEqual": "1 if {0} >= {1} else 0",
    "Less": "1 if {0} < {1} else 0",
    "LessOrEqual": "1 if {0} <= {1} else 0",
    "Not": "1 - {0}",
    "Or": "max({0}, {1})",
    "Where": "{1} if {0} != 0 else {2}",
}
"""Operators of one expression: inputs by their number."""

OF_ANY_NUMBER: Mapping[str, str] = {
    "Max": "max({0}, {1})",
    "Min": "min({0}, {1})",
    "Sum": "{0} + {1}",
}
"""Operators of any number of inputs: of two."""


def _template(t: Translation) -> str:
    return t.elementwise(TEMPLATES[t.node.operator], *t.inputs)


def _of_any_number(t: Translation) -> str:
    first, *rest = t.inputs
    for name in rest:
        first = t.elementwise(OF_ANY_NUMBER[t.node.operator], first, name)
    return first


def _of_attributes(template: Callable[[Translation], str]) -> Rewrite:
    """The rewrite of an operator of one input whose numbers are attributes."""
    return lambda t: t.elementwise(template(t), t.inputs[0])


def _hard_sigmoid(t: Translation) -> str:
    slope, offset = number(t.attribute("alpha", 0.2)), number(t.attribute("beta", 0.5))
    return f"max(0, min(1, {{0}} * {slope} + {offset}))"


def _gelu(t: Translation) -> str:
    if t.attribute("approximate", "none") == "none":
        return "0.5 * {0} * erfc(-0.7071067811865475 * {0})"
    return "0.5 * {0} * (1 + tanh(0.7978845608028654 * ({0} + 0.044715 * {0} * {0} * {0})))"


def _elu(t: Translation) -> str:
    return f"max({{0}}, 0) + {number(t.attribute('alpha', 1.0))} * expm1(min({{0}}, 0))"


def _leaky_relu(t: Translation) -> str:
    return f"max({{0}}, 0) + {number(t.attribute('alpha', 0.01))} * min({{0}}, 0)"


def _clip(t: Translation) -> str:
    low = float(t.attribute("min", t.number(1, -np.inf)))
    high = float(t.attribute("max", t.number(2, np.inf)))
    value = "{0}"
    if low > LOWEST:
        value = f"max({number(low)}, {value})"
    if high < -LOWEST:
        value = f"min({number(high)}, {value})"
    return t.elementwise(value, t.inputs[0])


def _pow(t: Translation) -> str:
    exponent = t.number(1, 1.0)
    if exponent not in POWERS:
        raise t.unsupported(f"no powers but {sorted(POWERS)} are written as arithmetic")
    return t.elementwise(POWERS[exponent], t.inputs[0])


REWRITES: Mapping[str, Rewrite] = {
    **dict.fromkeys(TEMPLATES, _template),
    **dict.fromkeys(OF_ANY_NUMBER, _of_any_number),
    "Cast": lambda t: t.cast(t.inputs[0]),
    "Clip": _clip,
    "Elu": _of_attributes(_elu),
    "Gelu": _of_attributes(_gelu),
    "HardSigmoid": _of_attributes(_hard_sigmoid),
    "LeakyRelu": _of_attributes(_leaky_relu),
    "Pow": _pow,
}
