"""Nodes of ONNX that compute element by element."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from morello.networks.arithmetic import POWERS, SIGMOID
from morello.networks.kinds import LOWEST, Rewrite, Translation, number

A = "abs({0})"

HUGE, LOG_TWICE = "1e10", f"log({A}) + 0.6931472"
"""From where on a root of x^2 + 1 is x, so that twice x has this logarithm, and never overflows."""

HALF_EXP = "0.5 * exp(0.5 * {0}) * exp(0.5 * {0})"
HALF_EXP_OF_NEGATED = "0.5 * exp(-0.5 * {0}) * exp(-0.5 * {0})"
"""Half an exponential, which is finite where the whole one no longer is."""


def odd(positive: str) -> str:
    """A function of which a template says the half of positive numbers: the other mirrors it."""
    return f"{positive} if {{0}} > 0 else -({positive})"


TEMPLATES: Mapping[str, str] = {
    "Abs": "abs({0})",
    "Acos": "2 * atan(sqrt((1 - {0}) / (1 + {0})))",
    "Acosh": (
        f"log1p({{0}} - 1 + sqrt({{0}} - 1) * sqrt({{0}} + 1)) if {{0}} < {HUGE} else {LOG_TWICE}"
    ),
    "Add": "{0} + {1}",
    "Asin": "atan({0} / sqrt((1 - {0}) * (1 + {0})))",
    "Asinh": odd(
        f"(log1p({A} + {A} * {A} / (1 + sqrt({A} * {A} + 1))) if {A} < {HUGE} else {LOG_TWICE})"
    ),
    "Atan": "atan({0})",
    "Atanh": odd(f"0.5 * log1p(2 * {A} / (1 - {A}))"),
    "Ceil": "-floor(-{0})",
    "Cos": "cos({0})",
    "Cosh": f"{HALF_EXP} + {HALF_EXP_OF_NEGATED}",
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
    "Sign": "1 if {0} > 0 else (-1 if {0} < 0 else {0})",
    "Sin": "sin({0})",
    "Sinh": (
        f"0.5 * (expm1({{0}}) - expm1(-{{0}})) if {A} < 80 else {HALF_EXP} - {HALF_EXP_OF_NEGATED}"
    ),
    "Softplus": "max({0}, 0) + log1p(exp(-abs({0})))",
    "Softsign": "{0} / (1 + abs({0}))",
    "Sqrt": "sqrt({0})",
    "Sub": "{0} - {1}",
    "Tan": "sin({0}) / cos({0})",
    "Tanh": "tanh({0})",
    # Truth is a number, 0 or 1.
    "And": "{0} * {1}",
    "Not": "1 - {0}",
    "Or": "max({0}, {1})",
    "Where": "{1} if {0} != 0 else {2}",
    "Xor": "abs({0} - {1})",
}
"""Operators of one expression: inputs by their number."""

COMPARISONS: Mapping[str, str] = {
    "Equal": "1 if {0} == {1} else 0",
    "Greater": "1 if {0} > {1} else 0",
    "GreaterOrEqual": "1 if {0} >= {1} else 0",
    "IsNaN": "1 if {0} != {0} else 0",
    "Less": "1 if {0} < {1} else 0",
    "LessOrEqual": "1 if {0} <= {1} else 0",
}
"""Those whose result is truth."""

OF_ANY_NUMBER: Mapping[str, str] = {
    "Max": "max({0}, {1})",
    "Mean": "{0} + {1}",
    "Min": "min({0}, {1})",
    "Sum": "{0} + {1}",
}
"""Operators of any number of inputs: of two."""


MOST_FACTORS = 16
"""Of a power that is written as a product."""


def _template(t: Translation) -> str:
    return t.elementwise(TEMPLATES[t.node.operator], *t.inputs)


def _of_any_number(t: Translation) -> str:
    first, *rest = t.inputs
    for name in rest:
        first = t.elementwise(OF_ANY_NUMBER[t.node.operator], first, name)
    mean = t.node.operator == "Mean" and rest
    return t.quotient(first, t.constant(np.asarray(len(t.inputs)))) if mean else first


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


def _celu(t: Translation) -> str:
    alpha = number(t.attribute("alpha", 1.0))
    return f"max({{0}}, 0) + {alpha} * expm1(min({{0}}, 0) / {alpha})"


def _selu(t: Translation) -> str:
    alpha = number(t.attribute("alpha", 1.6732632423543772))
    gamma = number(t.attribute("gamma", 1.0507009873554805))
    return f"{gamma} * (max({{0}}, 0) + {alpha} * expm1(min({{0}}, 0)))"


def _thresholded_relu(t: Translation) -> str:
    return f"{{0}} if {{0}} > {number(t.attribute('alpha', 1.0))} else 0"


def _shrink(t: Translation) -> str:
    bias, edge = (float(t.attribute(name, own)) for name, own in (("bias", 0.0), ("lambd", 0.5)))
    low = f"({{0}} + {number(bias)} if {{0}} < {number(-edge)} else 0)"
    return f"{{0}} - {number(bias)} if {{0}} > {number(edge)} else {low}"


def _swish(t: Translation) -> str:
    alpha = number(t.attribute("alpha", 1.0))
    return f"{{0}} / (1 + exp({number(-1)} * {alpha} * {{0}}))"


def _leaky_relu(t: Translation) -> str:
    return f"max({{0}}, 0) + {number(t.attribute('alpha', 0.01))} * min({{0}}, 0)"


def _clip(t: Translation) -> str:
    value, inputs = "{0}", [t.inputs[0]]
    whole = not t.is_float(t.inputs[0])
    for place, bound, kept in ((1, "min", "max"), (2, "max", "min")):
        given = t.input(place)
        if given and t.network.repeated_data(given) is None:
            value = f"{kept}({{{len(inputs)}}}, {value})"
            inputs.append(given)
            continue
        limit = float(t.attribute(bound, t.number(place, np.inf)))
        if abs(limit) < -LOWEST:
            value = f"{kept}({number(int(limit) if whole else limit)}, {value})"
    return t.elementwise(value, *inputs)


def _is_infinite(t: Translation) -> str:
    signs = (("positive", f"{{0}} > {number(-LOWEST)}"), ("negative", f"{{0}} < {number(LOWEST)}"))
    wanted = [value for sign, value in signs if t.attribute(f"detect_{sign}", 1)]
    return t.condition(f"1 if {' or '.join(wanted) or '{0} < {0}'} else 0", t.inputs[0])


def _remainder(t: Translation) -> str:
    """With the sign of the divisor, or with that of what is divided."""
    a, b = t.inputs
    if t.is_float(a):
        left = t.elementwise(MAGNITUDE_LEFT, a, b)
        left = t.elementwise(SIGNED, left, a, b)
        return left if t.attribute("fmod", 0) else t.elementwise(TOWARDS, left, b)
    left = t.elementwise("{0} % {1}", a, b)
    if not t.attribute("fmod", 0):
        return left
    other = "{0} - {2} if ({0} > 0 and {1} < 0) or ({0} < 0 and {1} > 0) else {0}"
    return t.elementwise(other, left, a, b)


MAGNITUDE_LEFT = "abs({0}) if abs({0}) < abs({1}) else abs({0}) % abs({1})"
"""What a number leaves, without signs; it is exact where nothing is divided."""

SIGNED = (
    "({0} + abs({2}) if {0} < 0 else {0} - abs({2}) if {0} >= abs({2}) else {0}) "
    "* (-1 if {1} < 0 else 1)"
)
"""The same with the sign of what was divided, and less than the divisor: a quotient is rounded."""

TOWARDS = "{0} + {1} if ({0} < 0 and {1} > 0) or ({0} > 0 and {1} < 0) else {0}"
"""With the sign of the divisor."""

ANY_POWER = (
    "(1 if {1} == 0 or abs({0}) == 1 else exp({1} * log(abs({0})))) "
    "* (-1 if {0} < 0 and {1} % 2 == 1 else 1) if {0} >= 0 or floor({1}) == {1} else log({0})"
)
"""A negative number has whole powers only: others are NaN, as its logarithm is."""

BITS: Mapping[str, int] = {"int8": 8, "uint8": 8, "int32": 32}

OF_BOTH: Mapping[str, str] = {
    "BitwiseAnd": "{0}",
    "BitwiseOr": "{1} + {2} - {0}",
    "BitwiseXor": "{1} + {2} - 2 * {0}",
}
"""Of the bits that two numbers have in common, and these: what is too large wraps around."""

BITS_AT_ONCE = 8
"""In one expression."""


def _bits(t: Translation) -> str:
    """Bit by bit: there is nothing but arithmetic."""
    a, b = t.inputs
    common, dtype = "", t.type(a)
    if dtype not in BITS:
        raise t.unsupported(f"it is of bits of {dtype}")
    signed = dtype != "uint8"
    terms = [
        f"{{0}} // {1 << n} % 2 * ({{1}} // {1 << n} % 2) * {1 << n}" for n in range(BITS[dtype])
    ]
    if signed:
        least = -(1 << (BITS[dtype] - 1))
        terms[-1] = f"({least} if {{0}} < 0 and {{1}} < 0 else 0)"
    for first in range(0, len(terms), BITS_AT_ONCE):
        value = " + ".join(terms[first : first + BITS_AT_ONCE])
        if common:
            common = t.elementwise(f"{{2}} + {value}", a, b, common)
        else:
            common = t.elementwise(value, a, b)
    return t.elementwise(OF_BOTH[t.operator], common, a, b)


def _other_bits(t: Translation) -> str:
    """All that are not set: in two's complement, less one and with the other sign."""
    return t.elementwise("255 - {0}" if t.type(t.inputs[0]) == "uint8" else "-1 - {0}", t.inputs[0])


def _shifted(t: Translation) -> str:
    """A product or a quotient with a power of two; of no bits that are left, 0 in both."""
    a, places = t.inputs
    if t.type(a) != "uint8":
        raise t.unsupported(f"it shifts bits of {t.type(a)}")
    power = "0"
    for n in reversed(range(8)):
        power = f"({1 << n} if {{1}} == {n} else {power})"
    sign = "*" if t.attribute("direction", "") == "LEFT" else "//"
    return t.elementwise(f"{{0}} {sign} {power}", a, places)


def _pow(t: Translation) -> str:
    base, exponent = t.inputs
    known = t.network.repeated_data(base)
    if known is not None and known.size == 1 and known.reshape(()) > 0:
        return t.elementwise(f"exp({number(float(np.log(known.reshape(()))))} * {{0}})", exponent)
    told = t.network.repeated_data(exponent)
    if t.is_float(base) and (told is None or told.size != 1):
        return t.elementwise(ANY_POWER, base, exponent)
    power = t.number(1, 1.0)
    if power in POWERS:
        return t.elementwise(POWERS[power], base)
    if power == int(power) and abs(power) <= MOST_FACTORS:
        factors = " * ".join(["{0}"] * int(abs(power)))
        return t.elementwise(f"1 / ({factors})" if power < 0 else factors or "1 + 0 * {0}", base)
    if power == int(power) or not t.is_float(base):
        raise t.unsupported(f"no whole power of more than {MOST_FACTORS} factors is said")
    return t.elementwise(f"exp({number(power)} * log({{0}}))", base)


REWRITES: Mapping[str, Rewrite] = {
    **dict.fromkeys(TEMPLATES, _template),
    **dict.fromkeys(COMPARISONS, lambda t: t.condition(COMPARISONS[t.operator], *t.inputs)),
    **dict.fromkeys(OF_ANY_NUMBER, _of_any_number),
    **dict.fromkeys(OF_BOTH, _bits),
    "BitShift": _shifted,
    "BitwiseNot": _other_bits,
    "Cast": lambda t: t.cast(t.inputs[0]),
    "Celu": _of_attributes(_celu),
    "Clip": _clip,
    "Div": lambda t: t.quotient(*t.inputs),
    "Elu": _of_attributes(_elu),
    "Gelu": _of_attributes(_gelu),
    "HardSigmoid": _of_attributes(_hard_sigmoid),
    "IsInf": _is_infinite,
    "LeakyRelu": _of_attributes(_leaky_relu),
    "Mod": _remainder,
    "Pow": _pow,
    "Selu": _of_attributes(_selu),
    "Shrink": _of_attributes(_shrink),
    "Swish": _of_attributes(_swish),
    "ThresholdedRelu": _of_attributes(_thresholded_relu),
}
