"""Operations of StableHLO that compute element by element."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from morello.networks.arithmetic import POWERS, SIGMOID
from morello.networks.kinds import Rewrite, Translation

TEMPLATES: Mapping[str, str] = {
    "abs": "abs({0})",
    "add": "{0} + {1}",
    "ceil": "-floor(-{0})",
    "chlo.erf": "erf({0})",
    "chlo.erfc": "erfc({0})",
    "chlo.square": "{0} * {0}",
    "clamp": "max({0}, min({2}, {1}))",
    "cosine": "cos({0})",
    "exponential": "exp({0})",
    "exponential_minus_one": "expm1({0})",
    "floor": "floor({0})",
    "log": "log({0})",
    "log_plus_one": "log1p({0})",
    "logistic": SIGMOID,
    "multiply": "{0} * {1}",
    "negate": "-{0}",
    "round_nearest_even": "round({0})",
    "rsqrt": "1 / sqrt({0})",
    "select": "{1} if {0} != 0 else {2}",
    "sign": "1 if {0} > 0 else -1 if {0} < 0 else {0}",
    "sine": "sin({0})",
    "sqrt": "sqrt({0})",
    "subtract": "{0} - {1}",
    "tanh": "tanh({0})",
}
"""Operations of one expression: operands by their number."""

LOGIC: Mapping[str, str] = {
    "and": "{0} * {1}",
    "not": "1 - {0}",
    "or": "max({0}, {1})",
    "xor": "abs({0} - {1})",
}
"""Of truth, which is a number, 0 or 1."""

COMPARISONS: Mapping[str, str] = {
    "EQ": "1 if {0} == {1} else 0",
    "NE": "0 if {0} == {1} else 1",
    "GE": "1 if {0} >= {1} else 0",
    "GT": "1 if {0} > {1} else 0",
    "LE": "1 if {0} <= {1} else 0",
    "LT": "1 if {0} < {1} else 0",
}


def _template(t: Translation) -> str:
    return t.elementwise(TEMPLATES[t.operator], *t.inputs)


def _logic(t: Translation) -> str:
    if t.type(t.node.output) != "bool":
        raise t.unsupported("it is of bits")
    return t.elementwise(LOGIC[t.operator], *t.inputs)


def _compare(t: Translation) -> str:
    return t.condition(COMPARISONS[t.attribute("comparison_direction", "")], *t.inputs)


def _extreme(name: str, neutral: float) -> Rewrite:
    """The rewrite of the larger or the smaller one of two."""

    def rewrite(t: Translation) -> str:
        left, right = t.inputs
        for one, other in ((left, right), (right, left)):
            data = t.network.repeated_data(one)
            if data is not None and t.is_float(one) and np.all(data == neutral):
                return other
        return t.elementwise(f"{name}({{0}}, {{1}})", left, right)

    return rewrite


def _power(t: Translation) -> str:
    base, exponent = t.inputs
    exponents = {*t.data(exponent, "exponent").reshape(-1).tolist()}
    if len(exponents) != 1 or not exponents <= POWERS.keys():
        raise t.unsupported(f"no powers but {sorted(POWERS)} are written as arithmetic")
    return t.elementwise(POWERS[exponents.pop()], base)


REWRITES: Mapping[str, Rewrite] = {
    **dict.fromkeys(TEMPLATES, _template),
    **dict.fromkeys(LOGIC, _logic),
    "compare": _compare,
    "convert": lambda t: t.cast(t.inputs[0]),
    "divide": lambda t: t.quotient(*t.inputs),
    "maximum": _extreme("max", -np.inf),
    "minimum": _extreme("min", np.inf),
    "power": _power,
}
