"""For each operator, which operands it is drawn with."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from .cases import Case, Tensor
from .draw import ALL, ARITHMETIC, FLOATING, NARROW, Drawing, Shape, UnfitError

Recipe = Callable[[Drawing, str], None]

JOINING = (
    *("add", "sub", "mul", "div", "maximum", "select", "add_to_rows", "subtract_from_rows"),
    *("scale_rows", "divide_rows", "row_variance", "row_dot", "row_mean", "row_sum", "row_max"),
)
"""Operators that are drawn more often: with them, what is computed has several readers."""

RECIPES: dict[str, Recipe] = {}


def random_case(seed: int, number: int) -> Case:
    """The case of this number: one to six operators, from the seed and the number alone."""
    drawing = Drawing(Random(f"{seed}/{number}"))
    count = drawing.random.choice((1, 2, 2, 3, 3, 3, 4, 4, 5, 6))
    names = [*RECIPES, *JOINING * 5]
    while len(drawing.statements) < count:
        before = dict(drawing.tensors)
        try:
            name = drawing.random.choice(names)
            RECIPES[name](drawing, name)
        except UnfitError:
            drawing.tensors = before
    return drawing.case()


def _recipe(*names: str) -> Callable[[Recipe], Recipe]:
    def enter(recipe: Recipe) -> Recipe:
        RECIPES.update(dict.fromkeys(names, recipe))
        return recipe

    return enter


# --------------------------------------------------------------------------- elementwise


@_recipe("sqrt", "exp", "log", "tanh", "erf", "erfc", "log1p", "expm1", "sin", "cos", "atan")
@_recipe("sigmoid", "silu", "gelu", "gelu_tanh", "softplus")
@_recipe("reciprocal", "rsqrt", "reciprocal_from_one")
def _function(d: Drawing, name: str) -> None:
    x = d.any((1, 2, 3, 4), FLOATING)
    d.add(name, [x], {}, x.dtype)


@_recipe("relu", "neg", "abs", "square", "floor", "round")
def _unary(d: Drawing, name: str) -> None:
    x = d.any((0, 1, 2, 3, 4), ARITHMETIC)
    d.add(name, [x], {}, x.dtype)


def _number(d: Drawing, dtype: str) -> float:
    if dtype == "u8":
        return d.random.choice((0, 1, 2, 3, 7, 100))
    if dtype != "f32":
        return d.random.choice((-3, -1, 0, 1, 2, 5))
    return d.random.choice((-2, -1, -0.5, 0, 0.1, 0.5, 1, 1.25, 3, 1e-3))


@_recipe("scale", "shift", "leaky_relu")
def _scaled(d: Drawing, name: str) -> None:
    x = d.any((0, 1, 2, 3, 4), ARITHMETIC)
    scalar = {"scale": "factor", "shift": "amount", "leaky_relu": "slope"}[name]
    d.add(name, [x], {scalar: _number(d, x.dtype)}, x.dtype)


@_recipe("clamp")
def _clamp(d: Drawing, name: str) -> None:
    x = d.any((0, 1, 2, 3, 4), ARITHMETIC)
    low, high = sorted(_number(d, x.dtype) for _ in range(2))
    d.add(name, [x], {"low": low, "high": high}, x.dtype)


@_recipe("add", "sub", "mul", "maximum", "minimum", "div")
def _binary(d: Drawing, name: str) -> None:
    x = d.any((0, 1, 2, 3, 4), FLOATING if name == "div" else ARITHMETIC)
    operands = [x, d.of(x.shape, (x.dtype,))]
    d.random.shuffle(operands)
    d.add(name, operands, {}, x.dtype)


@_recipe("carried")
def _carried(d: Drawing, name: str) -> None:
    x = d.any((1, 2, 3), FLOATING)
    d.add(name, [x, d.of(x.shape, FLOATING), d.of(x.shape, FLOATING)], {}, x.dtype)


@_recipe("select")
def _select(d: Drawing, name: str) -> None:
    x = d.any((1, 2, 3, 4), ARITHMETIC)
    c = d.of(x.shape, (x.dtype, x.dtype, "u8", "s32"))
    d.add(name, [c, x, d.of(x.shape, (x.dtype,))], {}, x.dtype)


@_recipe("copy")
def _copy(d: Drawing, name: str) -> None:
    x = d.any((0, 1, 2, 3, 4), ALL)
    d.add(name, [x], {}, d.random.choice(ALL))


@_recipe("fill")
def _fill(d: Drawing, name: str) -> None:
    dtype = d.random.choice(ALL)
    d.add(name, [], {"value": _number(d, "f32" if dtype in NARROW else dtype)}, dtype)


# -------------------------------------------------------------------------- rows, columns


def _kinds(name: str) -> tuple[str, ...]:
    return FLOATING if "mean" in name or name in ("row_variance", "divide_rows") else ARITHMETIC


@_recipe("row_sum", "row_max", "row_min", "row_mean", "row_mean_square", "row_square_sum")
@_recipe("column_sum", "column_max", "column_min", "column_mean")
def _reduced(d: Drawing, name: str) -> None:
    x = d.any((1, 2, 2, 3, 4), _kinds(name))
    d.add(name, [x], {}, x.dtype)


@_recipe("second_axis_sum", "second_axis_max", "second_axis_min", "second_axis_mean")
def _second(d: Drawing, name: str) -> None:
    x = d.any((2, 3, 4), _kinds(name))
    d.add(name, [x], {}, x.dtype)


@_recipe("image_mean")
def _image_mean(d: Drawing, name: str) -> None:
    d.add(name, [d.any((4,), FLOATING)], {}, "f32")


@_recipe("row_dot")
def _row_dot(d: Drawing, name: str) -> None:
    x = d.any((1, 2, 3, 4), ARITHMETIC)
    d.add(name, [x, d.of(x.shape, (x.dtype,))], {}, x.dtype)


@_recipe("add_bias", "scale_columns")
def _columns(d: Drawing, name: str) -> None:
    x = d.any((1, 2, 3, 4), ARITHMETIC)
    d.add(name, [x, d.of(x.shape[-1:], (x.dtype,))], {}, x.dtype)


@_recipe("add_to_rows", "subtract_from_rows", "scale_rows", "divide_rows", "row_variance")
def _with_rows(d: Drawing, name: str) -> None:
    x = d.any((1, 2, 2, 3, 4), _kinds(name))
    d.add(name, [x, d.of(x.shape[:-1], (x.dtype,))], {}, x.dtype)


@_recipe("exp_in_rows", "exp_sum_of_rows", "exp_in_rows_times", "subtract_both_from_rows")
def _exponentials(d: Drawing, name: str) -> None:
    x = d.any((2, 3), FLOATING)
    count = 2 if name in ("exp_in_rows_times", "subtract_both_from_rows") else 1
    d.add(name, [x, *(d.of(x.shape[:-1], FLOATING) for _ in range(count))], {}, "f32")


@_recipe("softmax", "log_softmax", "column_softmax", "second_axis_softmax")
def _softmax(d: Drawing, name: str) -> None:
    d.add(
        name,
        [d.any((2, 3, 4) if "_s" in name and name != "log_softmax" else (1, 2, 3, 4), FLOATING)],
        {},
        "f32",
    )


@_recipe("rms_norm", "layer_norm")
def _norm(d: Drawing, name: str) -> None:
    x = d.any((1, 2, 3, 4), FLOATING)
    rest = [d.of(x.shape[-1:], FLOATING) for _ in range(1 if name == "rms_norm" else 2)]
    d.add(name, [x, *rest], {"epsilon": d.random.choice((0.01, 1e-5))}, "f32")


# ------------------------------------------------------------------------------ products


def _types(d: Drawing) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Types of the left and the right operand, and of the result."""
    if d.chance(0.65):
        other = ("f32", "f32", "f32", *NARROW)
        return ("f32",), other, "f32"
    if d.chance(0.2):
        return ("bf16",), ("bf16",), "f32"
    return d.random.choice(
        (
            (("s32",), ("s32",), "s32"),
            (("u8",), ("s8",), "s32"),
            (("s8", "u8"), ("s8", "u8"), "s32"),
            (("u8",), ("u8",), "u8"),
            (("f32",), ("s8",), "f32"),
        )
    )


@_recipe("matmul", "matmul_nt", "matmul_tn", "matmul_tt")
def _matmul(d: Drawing, name: str) -> None:
    left, right, result = _types(d)
    form = name.partition("_")[2] or "nn"
    if d.chance(0.3):  # the right one first
        b = d.any((2, 2, 3, 4), right)
        *batch, k, n = b.shape
        k = n if form[1] == "t" else k
        m = d.size()
        a = d.of((*batch, *((k, m) if form[0] == "t" else (m, k))), left)
    else:
        a = d.any((2, 2, 3, 4), left)
        *batch, m, k = a.shape
        k = m if form[0] == "t" else k
        n = d.size()
        b = d.of((*batch, *((n, k) if form[1] == "t" else (k, n))), right)
    d.add(name, [a, b], {}, result)


@_recipe("matvec")
def _matvec(d: Drawing, name: str) -> None:
    left, right, result = _types(d)
    a = d.any((2, 3, 4), left)
    *batch, _, k = a.shape
    d.add(name, [a, d.of((*batch, k), right)], {}, result)


@_recipe("softmax_matmul")
def _softmax_matmul(d: Drawing, name: str) -> None:
    x = d.any((2, 3), FLOATING)
    *batch, _, j = x.shape
    d.add(name, [x, d.of((*batch, j, d.size()), FLOATING)], {}, "f32")


def _small(d: Drawing) -> int:
    return d.random.choice((1, 2, 3, 4, 5, 8, 9))


def _picture(d: Drawing, rank: int, dtypes: tuple[str, ...], axes: tuple[int, ...]) -> Tensor:
    """A tensor with room for windows along dimensions."""

    def roomy(shape: Shape) -> bool:
        return all(shape[a] <= 24 for a in axes)

    if d.chance(0.5):
        return d.any((rank,), dtypes, roomy)
    return d.new(tuple(_small(d) for _ in range(rank)), d.random.choice(dtypes))


CONVOLUTIONS: dict[str, tuple[int, Shape, Callable[[Shape, int, int, int], Shape]]] = {
    "conv2d_nhwc": (4, (1, 2), lambda x, r, s, more: (r, s, x[3], more)),
    "conv2d": (4, (2, 3), lambda x, r, s, more: (more, x[1], r, s)),
    "conv_image": (3, (0, 1), lambda x, r, s, more: (r, s, x[2], more)),
    "conv_row": (3, (1,), lambda x, _, s, more: (x[0], s, x[2], more)),
    "conv1d_nwc": (3, (1,), lambda x, _, s, more: (s, x[2], more)),
    "conv_line": (2, (0,), lambda x, _, s, more: (s, x[1], more)),
    "conv3d_ndhwc": (5, (1, 2, 3), lambda x, r, s, more: (2, r, s, x[4], more)),
    "conv3d": (5, (2, 3, 4), lambda x, r, s, more: (more, x[1], 2, r, s)),
    "conv3d_row": (4, (2,), lambda x, _, s, more: (x[0], x[1], s, x[3], more)),
    "grouped_conv2d_nhwc": (5, (1, 2), lambda x, r, s, more: (x[3], r, s, x[4], more)),
    "grouped_conv2d": (5, (3, 4), lambda x, r, s, more: (x[1], more, x[2], r, s)),
    "depthwise_conv2d_nhwc": (4, (1, 2), lambda x, r, s, _: (r, s, x[3])),
    "depthwise_conv2d": (4, (2, 3), lambda x, r, s, _: (x[1], r, s)),
    "depthwise_image": (3, (0, 1), lambda x, r, s, _: (r, s, x[2])),
    "depthwise_row": (3, (1,), lambda x, _, s, __: (x[0], s, x[2])),
}
"""Of each the rank of the image, along which of its dimensions windows move, and the filters' shape
by that of the image, the size of windows, and how many there may be."""


@_recipe(*CONVOLUTIONS)
def _convolution(d: Drawing, name: str) -> None:
    left, right, result = _types(d)
    rank, axes, filters = CONVOLUTIONS[name]
    x = _picture(d, rank, left, axes)
    r, s = d.random.choice((1, 2, 3)), d.random.choice((1, 2, 3))
    w = d.of(filters(x.shape, r, s, d.random.choice((1, 2, 3, 5, 8))), right)
    scalars = {"stride": d.random.choice((1, 1, 2)), "dilation": d.random.choice((1, 1, 2))}
    if len(axes) > 1 and d.chance(0.3):
        for way in "hd"[: len(axes) - 1]:
            scalars |= {f"{s}_{way}": d.random.choice((1, 2, 3)) for s in ("stride", "dilation")}
    d.add(name, [x, w], dict(scalars), result)


@_recipe("max_pool2d_nhwc", "max_pool2d", "avg_pool2d_nhwc", "avg_pool2d")
def _pool(d: Drawing, name: str) -> None:
    axes = (1, 2) if "nhwc" in name else (2, 3)
    x = _picture(d, 4, FLOATING if "avg" in name else ARITHMETIC, axes)
    scalars = {"window": d.random.choice((1, 2, 3)), "stride": d.random.choice((1, 1, 2))}
    if d.chance(0.3):
        scalars |= {f"{what}_h": d.random.choice((1, 2, 3)) for what in ("window", "stride")}
    d.add(name, [x], dict(scalars), x.dtype)


@_recipe("pad2d_nhwc", "pad2d")
def _pad(d: Drawing, name: str) -> None:
    x = d.any((4,), ALL)
    scalars: dict[str, float] = {
        side: d.random.choice((0, 1, 1, 2)) for side in ("top", "bottom", "left", "right")
    }
    value = 0.5 if x.dtype in ("f32", *NARROW) and d.chance(0.4) else d.random.choice((0, 0, 1))
    d.add(name, [x], {**scalars, "value": value}, x.dtype)


# -------------------------------------------------------------------- moving of elements


@_recipe("transpose", "channels_last", "channels_first")
def _turned(d: Drawing, name: str) -> None:
    x = d.any((2, 3, 4) if name == "transpose" else (4,), ALL)
    d.add(name, [x], {}, x.dtype)


@_recipe("slice_columns", "slice_rows")
def _sliced(d: Drawing, name: str) -> None:
    x = d.any((1, 2, 3, 4) if name == "slice_columns" else (2, 3, 4), ALL)
    long = x.shape[-1] if name == "slice_columns" else x.shape[-2]
    before = d.random.randrange(long)
    d.add(name, [x], {"before": before, "after": d.random.randrange(long - before)}, x.dtype)


@_recipe("split_rows", "split_heads")
def _split(d: Drawing, name: str) -> None:
    x = d.any((1, 2, 3) if name == "split_rows" else (2, 3), ALL)
    long = x.shape[-1]
    width = d.random.choice([w for w in range(1, long + 1) if long % w == 0])
    d.add(name, [x], {"width": width}, x.dtype)


@_recipe("merge_rows", "merge_heads")
def _merge(d: Drawing, name: str) -> None:
    x = d.any((2, 3, 4) if name == "merge_rows" else (3, 4), ALL)
    d.add(name, [x], {"width": x.shape[-1]}, x.dtype)
