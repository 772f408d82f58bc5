"""Operators of the oracle along rows, columns and other dimensions: sums, norms, softmax."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .elementwise import exp, log, rsqrt
from .formats import F32, Array
from .oracle import V, added, contracted, less, like, operator, over, rows, times


def _mean(x: V, axes: tuple[int, ...], roundings: int = 0) -> V:
    """The sum over the number of elements, divided before or after it is added up."""
    n = int(np.prod([x.shape[a] for a in axes]))
    return x.total(axes, roundings + 3).times(like(x, 1 / n)).widened(3.0, n * F32.tiny)


@operator
def row_sum(x: V) -> V:
    return x.total((-1,))


@operator
def row_max(x: V) -> V:
    return x.largest((-1,))


@operator
def row_min(x: V) -> V:
    return x.smallest((-1,))


@operator
def row_mean(x: V) -> V:
    return _mean(x, (-1,))


@operator
def row_mean_square(x: V) -> V:
    return _mean(x.squared(), (-1,), 2)


@operator
def row_variance(x: V, m: V) -> V:
    return _mean(less(x, rows(m)).squared(), (-1,), 2)


@operator
def row_square_sum(x: V) -> V:
    return x.squared().total((-1,), 1)


@operator
def row_dot(x: V, z: V) -> V:
    return x.times(z).total((-1,), 1)


@operator
def column_sum(x: V) -> V:
    return x.total((0,))


@operator
def column_max(x: V) -> V:
    return x.largest((0,))


@operator
def column_min(x: V) -> V:
    return x.smallest((0,))


@operator
def column_mean(x: V) -> V:
    return _mean(x, (0,))


@operator
def second_axis_sum(x: V) -> V:
    return x.total((1,))


@operator
def second_axis_max(x: V) -> V:
    return x.largest((1,))


@operator
def second_axis_min(x: V) -> V:
    return x.smallest((1,))


@operator
def second_axis_mean(x: V) -> V:
    return _mean(x, (1,))


@operator
def image_mean(x: V) -> V:
    return _mean(x, (1, 2))


@operator
def add_bias(x: V, b: V) -> V:
    return added(x, b)


@operator
def scale_columns(x: V, g: V) -> V:
    return times(x, g)


@operator
def add_to_rows(x: V, s: V) -> V:
    return added(x, rows(s))


@operator
def subtract_from_rows(x: V, s: V) -> V:
    return less(x, rows(s))


@operator
def scale_rows(x: V, s: V) -> V:
    return times(x, rows(s))


@operator
def divide_rows(x: V, s: V) -> V:
    return over(x, rows(s))


@operator
def exp_in_rows(x: V, m: V) -> V:
    return exp(less(x, rows(m)))


@operator
def exp_sum_of_rows(x: V, m: V) -> V:
    return exp_in_rows(x, m).total((-1,))


@operator
def exp_in_rows_times(x: V, m: V, r: V) -> V:
    return times(exp_in_rows(x, m), rows(r))


@operator
def subtract_both_from_rows(x: V, m: V, l: V) -> V:  # noqa: E741
    return less(less(x, rows(m)), rows(l))


def _exponentials(x: V) -> tuple[V, V]:
    """Exponentials of every row less its largest element, and their sum.

    Bounds of the difference do not know that no element is larger. The sum may be corrected for
    every larger element: three roundings and an exponential each.
    """
    e = exp_in_rows(x, row_max(x)).clipped(0.0, 1 + 2.0**-20)
    return e, e.total((-1,), 5 * x.shape[-1] + 8)


@operator
def softmax(x: V) -> V:
    e, s = _exponentials(x)
    return over(e, rows(s), 4.0)


@operator
def log_softmax(x: V) -> V:
    _, s = _exponentials(x)
    return less(less(x, rows(row_max(x))), rows(log(s)))


def _along(function: Callable[[V], V], x: V, axis: int) -> V:
    """An operator on rows, along another dimension."""

    def last(values: Array) -> Array:
        return np.moveaxis(values, axis, -1)

    def back(values: Array) -> Array:
        return np.moveaxis(values, -1, axis)

    return function(x.moved(last)).moved(back)


@operator
def column_softmax(x: V) -> V:
    return _along(softmax, x, -2)


@operator
def second_axis_softmax(x: V) -> V:
    return _along(softmax, x, 1)


@operator
def softmax_matmul(x: V, v: V) -> V:
    # Means of rows so far are corrected for every block: as many roundings as for the sum.
    return contracted("...ij,...jd->...id", softmax(x), v, 5 * x.shape[-1] + 8)


@operator
def rms_norm(x: V, g: V, epsilon: float) -> V:
    mean = row_mean_square(x)
    return times(times(x, rows(rsqrt(added(mean, like(x, epsilon))))), g)


@operator
def layer_norm(x: V, g: V, b: V, epsilon: float) -> V:
    c = less(x, rows(row_mean(x)))
    variance = row_mean_square(c)
    return added(times(times(c, rows(rsqrt(added(variance, like(x, epsilon))))), g), b)
