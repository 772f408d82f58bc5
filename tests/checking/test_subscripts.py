"""Statements with subscripts: which operator each is."""

from __future__ import annotations

import pytest

from morello.checking.rules import check_rules
from morello.checking.specs import check_spec
from morello.ir.goal import Goal
from morello.ir.layout import Order
from morello.ir.sizes import sizes_from
from morello.language.ast import RulesFile
from morello.language.diagnostics import Collector
from morello.language.parse import parse_rules, parse_spec
from morello.language.source import Source
from morello.language.unparse_spec import unparse_specs
from tests.checking.fail_cases import shipped_operators

DECLARED = {
    "matmul": ("x[5, 7] w[7, 3] y[5, 3]", "y[m, n] += x[m, k] * w[k, n]", "xw", {}),
    "matmul, factors turned": ("x[5, 7] w[7, 3] y[5, 3]", "y[a, b] += w[c, b] * x[a, c]", "xw", {}),
    "matmul_nt": ("x[5, 7] w[3, 7] y[5, 3]", "y[m, n] += x[m, k] * w[n, k]", "xw", {}),
    "matmul_tt, of a batch": (
        "x[2, 7, 5] w[2, 3, 7] y[2, 5, 3]",
        "y[b, m, n] += x[b, k, m] * w[b, n, k]",
        "xw",
        {},
    ),
    "row_max": ("x[2, 3, 4] y[2, 3]", "y[i, j] max= x[i, j, k]", "x", {}),
    "column_min": ("x[5, 4] y[4]", "y[j] min= x[i, j]", "x", {}),
    "transpose": ("x[5, 4] y[4, 5]", "y[i, j] = x[j, i]", "x", {}),
    "channels_last": ("x[2, 3, 4, 5] y[2, 4, 5, 3]", "y[n, h, w, c] = x[n, c, h, w]", "x", {}),
    "relu": ("x[5, 4] y[5, 4]", "y[i, j] = max(x[i, j], 0)", "x", {}),
    "scale": ("x[5, 4] y[5, 4]", "y[i, j] = N * x[i, j]", "x", {"factor": 4}),
    "add_bias": ("x[5, 4] b[4] y[5, 4]", "y[i, j] = b[j] + x[i, j]", "xb", {}),
    "subtract_from_rows": ("x[5, 4] b[5] y[5, 4]", "y[i, j] = x[i, j] - b[i]", "xb", {}),
    "slice_columns": ("x[5, 9] y[5, 4]", "y[i, j] = x[i, j + 2]", "x", {"before": 2, "after": 3}),
    "slice_rows": ("x[9, 5] y[4, 5]", "y[i, j] = x[i + 0, j]", "x", {"before": 0, "after": 5}),
    "split_rows": ("x[5, 12] y[5, 3, 4]", "y[i, a, b] = x[i, 4 * a + b]", "x", {"width": 4}),
    "merge_heads": ("x[3, 5, 4] y[5, 12]", "y[s, N * h + d] = x[h, s, d]", "x", {"width": 4}),
    "conv2d_nhwc": (
        "x[1, 9, 9, 3] w[3, 3, 3, 2] y[1, 4, 4, 2]",
        "y[n, h, v, o] += x[n, 2 * h + r, 2 * v + s, c] * w[r, s, c, o]",
        "xw",
        {"stride": 2, "dilation": 1, "stride_h": 2, "dilation_h": 1},
    ),
    "conv2d": (
        "x[1, 3, 1, 9] w[2, 3, 1, 3] y[1, 2, 1, 4]",
        "y[n, f, h, v] += x[n, c, h + r, 2 * v + s] * w[f, c, r, s]",
        "xw",
        {"stride": 2, "dilation": 1, "stride_h": 1, "dilation_h": 1},
    ),
    "conv2d, of steps that differ": (
        "x[1, 3, 9, 9] w[2, 3, 3, 3] y[1, 2, 3, 5]",
        "y[n, f, h, v] += x[n, c, 3 * h + r, v + 2 * s] * w[f, c, r, s]",
        "xw",
        {"stride": 1, "dilation": 2, "stride_h": 3, "dilation_h": 1},
    ),
    "conv2d, to one place": (
        "x[1, 3, 1, 3] w[2, 3, 1, 3] y[1, 2, 1, 1]",
        "y[n, f, h, v] += x[n, c, h + r, 2 * v + s] * w[f, c, r, s]",
        "xw",
        {"stride": 2, "dilation": 1, "stride_h": 1, "dilation_h": 1},
    ),
    "max_pool2d": (
        "x[1, 2, 9, 9] y[1, 2, 4, 4]",
        "y[n, c, h, w] max= x[n, c, h * 2 + r, s + 2 * w]",
        "x",
        {"window": 3, "stride": 2, "window_h": 3, "stride_h": 2},
    ),
    "fill": ("y[5]", "y[i] = 3", "", {"value": 3}),
}
"""Tensors, the last one the output; a statement; the operands of the operator, and its scalars."""


def _goal(tensors: str, *statements: str, types: str = "") -> Goal:
    """The goal of a spec with these tensors, such as ``x[5, 7] y[5]``, of ``f32`` if not said."""
    names = [part + "]" for part in tensors.replace("] ", "]").split("]")[:-1]]
    kinds = types.split() or ["f32"] * len(names)
    declared = [f"{n.replace('[', f': {kind}[', 1)}" for n, kind in zip(names, kinds, strict=True)]
    *inputs, output = declared
    lines = [*(f"input {one}" for one in inputs), f"output {output}", *statements]
    used = "N = 4" if any("N" in one for one in statements) else ""
    tree = parse_spec(Source("s.mspec", f"spec s({used}) {{ {'; '.join(lines)} }}"))
    assert parse_spec(Source("s.mspec", unparse_specs(tree))) == tree
    return check_spec(tree, None, {}, shipped_operators(), Collector())


@pytest.mark.parametrize("name", DECLARED)
def test_what_a_declared_operator_computes_is_that_operator(name: str) -> None:
    tensors, statement, operands, scalars = DECLARED[name]
    [computation] = _goal(tensors, statement).computations
    assert computation.operation.operator.name == name.partition(",")[0]
    assert "".join(tensor.name for tensor in computation.operands) == operands + "y"
    assert dict(computation.operation.scalars) == scalars


@pytest.mark.parametrize(
    ("tensors", "statement"),
    [
        ("x[5, 7] w[7] y[5]", "y[m] += x[m, k] - w[k]"),
        ("x[5, 7] w[5, 7] y[5, 7]", "y[m, n] = x[m, n] - 2 * w[m, n]"),
        ("x[5, 5] y[5]", "y[i] = x[i, i]"),
        ("x[5] y[3, 5]", "y[i, j] = x[j]"),
        ("x[5, 6] y[5, 3]", "y[i, j] = x[i, 2 * j]"),
    ],
)
def test_else_it_is_an_operator_of_its_own(tensors: str, statement: str) -> None:
    [computation] = _goal(tensors, statement).computations
    assert computation.operation.operator.name.startswith("statement_")
    assert str(computation.operation).startswith("{Y[")


@pytest.mark.parametrize(
    ("tensors", "statement", "seen"),
    [
        (
            "x[5, 2, 7] w[7, 2, 3] y[5, 2, 3]",
            "y[m, b, n] += x[m, b, k] * w[k, b, n]",
            "matmul(f.X1[j, i, l], f.X2[j, l, k], f.Y[j, i, k])",
        ),
        (
            "x[1, 9, 9, 2] w[2, 3, 3] y[1, 4, 4, 2]",
            "y[n, h, v, c] += x[n, 2 * h + r, 2 * v + s, c] * w[c, r, s]",
            "depthwise_conv2d(f.X1[i, l, 2 * j + m, 2 * k + n], f.X2[l, m, n], "
            "f.Y[i, l, j, k], 2, 1, 2, 1)",
        ),
        ("x[5, 7, 2] y[2, 5]", "y[k, i] += x[i, j, k]", "column_sum(f.X1[k, i, j], f.Y[i, j])"),
        ("x[7, 5] w[7] y[5]", "y[m] += x[k, m] * w[k]", "matvec(f.X1[i, j], f.X2[j], f.Y[i])"),
        ("x[5, 7] w[7] y[5]", "y[m] += x[m, k] - w[k]", None),
        ("x[5, 7] w[7, 3] v[3] y[5]", "y[m] += x[m, k] * w[k, n] * v[n]", None),
    ],
)
def test_it_may_be_a_declared_one_with_operands_in_other_orders(
    tensors: str, statement: str, seen: str | None
) -> None:
    [computation] = _goal(tensors, statement).computations
    operator = computation.operation.operator
    assert operator.name.startswith("statement_")
    rule = operator.seen_as
    if seen is None:
        assert rule is None
    else:
        assert rule is not None
        assert rule.match.operator == operator.name
        collector, operators = Collector(), {**shipped_operators(), operator.name: operator}
        check_rules([RulesFile((), (rule,))], operators, collector)
        collector.raise_if_any()
        text = f'rule r "It is." match f: {operator.name} where reduces(f) yield {seen}'
        assert rule.result == parse_rules(Source("r.mrules", text)).rules[0].result


@pytest.mark.parametrize(
    ("tensors", "types", "statement", "operator", "layouts"),
    [
        ("x[5, 6] y[6, 5]", "", "y[j, i] = x[i, j] + 1", "shift", [(1, 0)]),
        ("x[5, 6] z[6, 5] y[6, 5]", "", "y[j, i] = x[i, j] + z[j, i]", "add", [(1, 0), (0, 1)]),
        (
            "x[5, 6, 3] m[3] y[3, 5, 6]",
            "u8 f32 f32",
            "y[c, h, w] = x[h, w, c] - m[c]",
            "{Y[i, j, k] = X1[i, j, k] - X2[i]}",
            [(1, 2, 0), (0,)],
        ),
        ("x[5, 6] y[6, 5]", "u8 f32", "y[j, i] = x[i, j]", "copy", [(1, 0)]),
        # A result that is narrower is better turned itself; and a sum along rows is none of theirs.
        (
            "x[5, 6] y[6, 5]",
            "f32 u8",
            "y[j, i] = round(x[i, j])",
            "{Y[i, j] = round(X1[j, i])}",
            [(0, 1)],
        ),
        ("x[5, 6] y[6]", "", "y[j] += x[i, j]", "column_sum", [(0, 1)]),
    ],
)
def test_inputs_are_seen_in_the_order_of_the_result(
    tensors: str, types: str, statement: str, operator: str, layouts: list[Order]
) -> None:
    [computation] = _goal(tensors, statement, types=types).computations
    assert str(computation.operation).partition("(")[0].strip() == operator.partition("(")[0]
    assert [tensor.layout.order for tensor in computation.inputs] == layouts


@pytest.mark.parametrize(
    ("tensors", "statement", "found"),
    [
        (
            "x[5, 6] w[7, 6] y[5, 7]",
            "y[m, n] += 0.5 * x[m, k] * w[n, k]",
            "matmul_nt(scale(X, factor=0.5), B)",
        ),
        (
            "x[2, 5, 6] w[6, 7] s[7] y[2, 5, 7]",
            "y[b, m, n] += x[b, m, k] * w[k, n] * s[n]",
            "matmul(A, scale_columns(X, G))",
        ),
        (
            "x[5, 6] w[6, 7] u[5, 6] v[6] y[5, 7]",
            "y[m, n] += x[m, k] * w[k, n] - u[m, k] * v[k]",
            "subtract_from_rows(matmul(A, B), matvec(A2, X))",
        ),
        (
            "x[9, 8, 3] w[3, 2, 3, 4] y[4, 4, 4]",
            "y[h, v, o] += -x[2 * h + r, 2 * v + s, c] * w[r, s, c, o]",
            "conv_image",
        ),
        (
            "x[5, 12] w[6, 7] y[5, 7]",
            "y[m, n] += x[m, 2 * k] * w[k, n]",
            "matmul({Y[i, j] = X1[i, 2 * j]}(X1), B)",
        ),
        # To multiply by 0 where the condition does not hold is no help: infinity times 0 is NaN.
        (
            "x[5, 6] w[6, 7] y[5, 7]",
            "y[m, n] += x[m, k] * w[k, n] if m > 2 else 0",
            "{Y[i, j] += X1[i, k] * X2[k, j] if X3[i] > 2 else 0}",
        ),
        # A row of a matrix goes through memory once, whoever multiplies it.
        (
            "x[5, 6] z[5, 6] w[6] y[5]",
            "y[m] += x[m, k] * z[m, k] * w[k]",
            "{Y[i] += X1[i, j] * X2[i, j] * X3[j]}",
        ),
    ],
)
def test_products_are_found_in_what_says_more(tensors: str, statement: str, found: str) -> None:
    *_, computation = _goal(tensors, statement).computations
    assert str(computation.operation) == found


def test_factors_of_integers_do_not_pass_a_quotient() -> None:
    statement = "y[m, n] += x[m, k] * w[n, k] / 3"
    [computation] = _goal("x[5, 6] w[7, 6] y[5, 7]", statement, types="s8 s8 s32").computations
    assert computation.operation.operator.text


def test_names_do_not_matter() -> None:
    first, second = (
        _goal(tensors, statement).computations[0].operation
        for tensors, statement in (
            ("x[5, 7] w[7] y[5]", "y[m] += x[m, k] - w[k]"),
            ("a[5, 7] b[7] c[5]", "c[row] += a[row, column] - b[column]"),
        )
    )
    assert first == second
    assert str(first) == "{Y[i] += X1[i, j] - X2[j]}"


def test_a_negative_number_is_a_scalar() -> None:
    [computation] = _goal("x[5] y[5]", "y[i] = -3 * x[i]").computations
    assert str(computation.operation) == "scale"
    assert computation.operation.scalars == (("factor", -3),)


def test_a_number_matters() -> None:
    first, second = (
        _goal("x[5] z[5] y[5]", f"y[i] = x[i] - {n} * z[i]").computations[0].operation for n in "23"
    )
    assert first != second


def test_types_decide_what_is_the_same() -> None:
    """An operator that wants equal types is not meant where they differ."""
    [same] = _goal("x[5] z[5] y[5]", "y[i] = x[i] + z[i]", types="s8 s8 s8").computations
    [other] = _goal("x[5] z[5] y[5]", "y[i] = x[i] + z[i]", types="s8 s32 s32").computations
    assert same.operation.operator.name == "add"
    assert other.operation.operator.name.startswith("statement_")


def test_the_larger_of_two_is_in_any_order_where_none_is_nan() -> None:
    """Else the second one counts."""
    for types, name in (("s32 s32", "relu"), ("f32 f32", "statement_")):
        [found] = _goal("x[5] y[5]", "y[i] = max(0, x[i])", types=types).computations
        assert found.operation.operator.name.startswith(name)


def test_parts_are_seen_where_they_lie() -> None:
    """Each once; and what leaves a rest at the end is a part, too."""
    [computation] = _goal(
        "x[9] w[3] y[3]", "y[i] += (x[i + 6] + x[i + 6] * x[2 * i + r]) * w[r]"
    ).computations
    views = [tensor for tensor in computation.inputs if tensor.role == "view"]
    assert [(view.lows, view.shape) for view in views] == [((6,), (3,)), ((0,), (7,))]


@pytest.mark.parametrize(
    ("tensors", "statement", "sizes"),
    [
        # An image in patches: neither operand alone tells a size.
        (
            "x[3, 12, 8] y[6, 48]",
            "y[2 * a + b, 16 * c + 4 * i + j] = x[c, 4 * a + i, 4 * b + j]",
            {"a": 3, "b": 2, "c": 3, "i": 4, "j": 4},
        ),
        ("x[5, 12] y[5, 12]", "y[h, 3 * c + g] = x[h, 4 * g + c]", {"h": 5, "c": 4, "g": 3}),
        # What the input tells comes first.
        ("x[4, 3] y[12]", "y[3 * i + j] = x[i, j]", {"i": 4, "j": 3}),
    ],
)
def test_rows_of_a_result_tell_sizes(tensors: str, statement: str, sizes: dict[str, int]) -> None:
    [computation] = _goal(tensors, statement).computations
    operation = computation.operation
    shapes = [tensor.shape for tensor in (*computation.inputs, computation.output)]
    assert sorted(sizes_from(operation, shapes).values()) == sorted(sizes.values())


def test_shapes_of_results_follow() -> None:
    text = "spec s() { input x: f32[5, 12] output y  h[j, i] = x[i, j] * x[i, j]  y[j] += h[j, i] }"
    goal = check_spec(
        parse_spec(Source("s.mspec", text)), None, {}, shipped_operators(), Collector()
    )
    assert [t.shape for t in goal.tensors] == [(5, 12), (12,)]


def test_what_is_taken_apart_behind_a_sum_is_kept() -> None:
    """So the sum has its own tiles; what is computed from an input alone is one graph."""
    goal = _goal(
        "x[512, 8] w[8, 12] y[3, 512, 4]",
        "h[m, n] += x[m, k] * w[k, n]  y[i, m, d] = h[m, 4 * i + d]",
    )
    assert [str(c.output) for c in goal.computations] == ["h: f32[512, 12]", "y: f32[3, 512, 4]"]
    assert goal.tensors[-1].role == "local"
    for body in ("h[m, n] = max(x[m, n], 0)", "h[m, n] += x[m, n] * x[m, k]"):
        goal = _goal("x[6, 12] y[3, 6, 4]", f"{body}  y[i, m, d] = h[m, 4 * i + d]")
        assert len(goal.computations) == 1


def test_heads_of_a_product_are_seen_where_they_lie() -> None:
    goal = _goal(
        "x[512, 8] w[8, 12] y[3, 512, 512]",
        "local q: f32[3, 512, 4]  h[m, n] += x[m, k] * w[k, n]  q[i, m, d] = h[m, 4 * i + d]  "
        "y[i, s, t] += q[i, s, d] * q[i, t, d]",
    )
    product, scores = goal.computations
    assert [tensor.role for tensor in scores.inputs] == ["view", "view"]
    assert {tensor.whole for tensor in scores.inputs} == {product.output}
    assert scores.operation.operator.name == "matmul_nt"
