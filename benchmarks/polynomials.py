"""The polynomials of functions in targets/x86 and targets/c: minimax, by Remez' exchange.

``python -m benchmarks.polynomials`` prints their coefficients, which are copied into the files by
hand; a test compares. The error that is made least is relative to the function; coefficients are
rounded to f32 one by one from the lowest, and those above them found again, so that they make up
for it. In the tables of erf each is rounded by itself: its first coefficient is the value at a
middle, and what rounding it takes away nothing above it can give back.

Logarithms and powers of e are computed with decimal digits: those of numpy in extended precision
come from instructions whose last bits differ between processors, and so would the coefficients.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import click
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[[Array], Array]

POINTS = 1200
"""Points of an interval that are looked at, those of Chebyshev."""

ERFC_LARGEST = 10.1
ERFC_DEGREE = 5
ERFC_BIAS = 24
"""The power of 2 that keeps 2^n a normal number."""

_ITERATIONS = 60
_DIGITS = decimal.Context(prec=40)


def _exactly(function: Callable[[decimal.Decimal], decimal.Decimal]) -> Function:
    """A function of numbers in extended precision, by way of one of decimals."""

    def of_numbers(x: Array) -> Array:
        values = [function(_decimal(value)) for value in x]
        return np.array([np.longdouble(str(value)) for value in values])

    return of_numbers


def _decimal(x: Any) -> decimal.Decimal:
    high = float(x)
    return _DIGITS.add(decimal.Decimal(high), decimal.Decimal(float(x - high)))


_EXP = _exactly(_DIGITS.exp)
_LOG1P = _exactly(lambda x: _DIGITS.ln(_DIGITS.add(x, 1)))
_HALF = _exactly(lambda x: (_DIGITS.exp(2 * x) - 1) / 2)
_EXPM1 = _exactly(lambda x: _DIGITS.exp(x) - 1)
_LN2: Any = np.longdouble(str(_DIGITS.ln(decimal.Decimal(2))))


def _erf_of_root(square: Array) -> Array:
    """erf(x) / x of x^2."""
    roots = np.sqrt(square.astype(np.float64))
    return np.array([np.longdouble(math.erf(x)) / np.longdouble(x) for x in roots])


def points(low: float, high: float) -> Array:
    """Chebyshev's points of an interval, in order, in extended precision."""
    k = np.arange(POINTS)
    unit = np.cos(np.pi * (np.longdouble(k) + 0.5) / POINTS)
    return np.sort((low + high) / 2 + (high - low) / 2 * unit)


def minimax(x: Array, f: Array, weight: Array, degree: int) -> Array:
    """Coefficients, lowest first, of the polynomial with the least largest ``|weight (p - f)|``."""
    return combination(_powers(x, degree + 1), f, weight)


def combination(columns: Array, f: Array, weight: Array) -> Array:
    """Factors of the columns whose sum has the least largest ``|weight (sum - f)|``."""
    count = columns.shape[1] + 1
    signs = (-1.0) ** np.arange(count)
    reference = np.linspace(0, len(f) - 1, count).round().astype(int)
    best, least = np.zeros(count - 1, np.longdouble), np.inf
    for _ in range(_ITERATIONS):
        rows = columns[reference] * weight[reference, None]
        rows = np.concatenate([rows, signs[:, None]], axis=1)
        *factors, level = _solve(rows, (f * weight)[reference])
        error = weight * (columns @ np.array(factors) - f)
        if np.abs(error).max() < least:
            best, least = np.array(factors), np.abs(error).max()
        reference = _extrema(error, count)
        if len(reference) < count or least <= abs(level) * (1 + 1e-9):
            break
    return best


def _powers(x: Array, count: int) -> Array:
    return np.stack([x**k for k in range(count)], axis=1)


def _solve(matrix: Array, right: Array) -> Array:
    """Gauss' elimination: numpy's has no extended precision."""
    rows = np.concatenate([matrix, right[:, None]], axis=1).astype(np.longdouble)
    for i in range(len(rows)):
        pivot = i + int(np.argmax(np.abs(rows[i:, i])))
        rows[[i, pivot]] = rows[[pivot, i]]
        rows[i] /= rows[i, i]
        others = np.arange(len(rows)) != i
        rows[others] -= rows[others, i, None] * rows[i]
    return np.asarray(rows[:, -1])


def _extrema(error: Array, count: int) -> Array:
    """Places of extrema whose signs alternate: at most so many, the largest ones."""
    signs = np.sign(error)
    runs = np.split(np.arange(len(error)), np.flatnonzero(np.diff(signs)) + 1)
    found = [int(run[np.argmax(np.abs(error[run]))]) for run in runs if signs[run[0]] != 0]
    size = np.abs(error)
    while len(found) > count + 1:
        pairs = [min(size[a], size[b]) for a, b in pairwise(found)]
        least = int(np.argmin(pairs))
        del found[least : least + 2]
    if len(found) == count + 1:
        found.pop(0 if size[found[0]] < size[found[-1]] else -1)
    return np.array(found)


def rounded(
    function: Function, low: float, high: float, known: Sequence[float], degree: int
) -> list[float]:
    """Coefficients in f32 of a polynomial that is near a function, relative to it.

    ``known`` are the lowest coefficients, which are given.
    """
    x = points(low, high)
    f = function(x)
    found = [float(c) for c in known]
    while len(found) <= degree:
        below = len(found)
        rest = f - sum((c * x**k for k, c in enumerate(found)), np.zeros_like(x))
        weight = np.abs(x**below / f)
        first = minimax(x, rest / x**below, weight, degree - below)[0]
        found.append(float(np.float32(first)))
    return found


def erf_table(intervals: int, width: float, degree: int) -> list[list[float]]:
    """For each power, the coefficients of erf(c + h) - h about the middles c of the intervals."""
    columns = []
    for i in range(intervals):
        middle, first = i * width, int(i == 0)
        x = points(0.0 if first else -width / 2, width / 2)
        erf = np.array([math.erf(middle + float(h)) for h in x], np.longdouble)
        found = minimax(x, (erf - x) / x**first, np.abs(x**first / erf), degree - first)
        columns.append([0.0] * first + [float(np.float32(c)) for c in found])
    return [list(power) for power in zip(*columns, strict=True)]


def erfc_factors() -> tuple[list[float], list[float], list[float]]:
    """Coefficients of p, a and d with erfc(z) = 2^n p(z^2 + n ln 2) a(z) / d(z).

    p(r) is exp(-r) and a / d is erfc(z) exp(z^2), but for a factor that makes the highest of a and
    of d 1. The lowest of d makes erfc(0) 1. Each step weighs the error of a - f d by the d of the
    one before. Twice the precision of f32 is enough for what is looked at.
    """
    z = (1 / points(1 / (1 + 0.375 * ERFC_LARGEST), 1.0)[::-1] - 1) / np.longdouble(0.375)
    values = [math.erfc(v) * math.exp(v * v) for v in map(float, z)]
    f = np.array(values, np.longdouble)
    factors, below = np.zeros(2 * ERFC_DEGREE, np.longdouble), (1 + z) ** ERFC_DEGREE
    for _ in range(8):
        columns = _quotient(z, f, ERFC_DEGREE + 1)
        factors = combination(columns, -(z ** (ERFC_DEGREE - 1)), 1 / (f * below))
        below = _powers(z, ERFC_DEGREE + 1) @ factors[ERFC_DEGREE - 1 :]
    scale = 1 / factors[-1]

    p = rounded(lambda r: _EXP(-r) * scale, -_LN2 / 2, _LN2 / 2, (), 6)
    columns, rest = _quotient(z, f / scale, ERFC_DEGREE), f / scale * z**ERFC_DEGREE
    rest = rest - z ** (ERFC_DEGREE - 1)
    found: list[float] = []
    while len(found) < columns.shape[1]:
        if len(found) == ERFC_DEGREE - 1:
            first = np.longdouble(float(np.float32(p[0] * found[0])))
        else:
            left = rest - columns[:, : len(found)] @ np.array(found, np.longdouble)
            first = combination(columns[:, len(found) :], left, 1 / (f * below))[0]
        found.append(float(np.float32(first)))
    return p, [*found[: ERFC_DEGREE - 1], 1.0], [*found[ERFC_DEGREE - 1 :], 1.0]


def erfc_rest(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """Coefficients of b, lowest first, and k: d(z) = (z + k) a(z) + b(z), of what is in f32."""
    k = below[-2] - above[-2]
    shifted = [k * above[0], *(low + k * high for low, high in pairwise(above))]
    rest = [d - c for d, c in zip(below, shifted, strict=False)]
    return [float(np.float32(c)) for c in (*rest[: len(above) - 1], k)]


def _quotient(x: Array, f: Array, count: int) -> Array:
    """Columns of a(x) - f d(x), for the coefficients of a and so many of d."""
    return np.concatenate([_powers(x, ERFC_DEGREE - 1), -f[:, None] * _powers(x, count)], axis=1)


def tables() -> Mapping[str, list[float]]:
    """Coefficients by what they are for, lowest first; those of erf by interval."""
    exponential, above, below = erfc_factors()
    erf = rounded(_erf_of_root, 0.0, 1.0, (), 5)
    found = {
        "2^(i/16)": [float(np.float32(2 ** (i / 16))) for i in range(16)],
        "exp, within ln 2 / 16": rounded(_EXP, -_LN2 / 16, _LN2 / 16, (1, 1), 3),
        "exp, within ln 2 / 32": rounded(_EXP, -_LN2 / 32, _LN2 / 32, (1, 1), 3),
        "log(1 + f)": rounded(_LOG1P, -0.25, 0.5, (0, 1, -0.5), 10),
        "exp(r) - 1": rounded(_EXPM1, -_LN2 / 2, _LN2 / 2, (0, 1), 6),
        "erfc, exp(-r)": [c * 2.0**-ERFC_BIAS for c in exponential],
        "erfc, above": above[:-1],
        "erfc, below": below[:-1],
        "erfc, rest": erfc_rest(above, below),
        "erf(x) / x - 1, in x^2": [erf[0] - 1, *erf[1:]],
        "(exp(2 r) - 1) / 2": rounded(_HALF, -_LN2 / 4, _LN2 / 4, (0, 1), 6),
    }
    for intervals, width, degree in ((8, 17 / 32, 6), (16, 259 / 1024, 5)):
        for power, row in enumerate(erf_table(intervals, width, degree)):
            found[f"erf in {intervals} intervals, h^{power}"] = row
    return found


def literal(value: float) -> str:
    """A number of f32 in C, in hexadecimal."""
    mantissa, exponent = float(value).hex().split("p")
    return f"{mantissa.rstrip('0').rstrip('.')}p{exponent}f"


@click.command(help=__doc__)
def main() -> None:
    """Print tables."""
    for name, values in tables().items():
        click.echo(f"{name}:\n  " + ", ".join(map(literal, values)))


if __name__ == "__main__":
    main()
