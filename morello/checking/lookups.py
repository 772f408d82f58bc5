"""Lookups in statements, such as ``E[I[t], d]``: rows of an input by an index that is data."""

from __future__ import annotations

from collections.abc import Mapping

from morello.checking.sizes import Sizes
from morello.ir.goal import GoalTensor, Lookup
from morello.ir.layout import row_major
from morello.language import ast
from morello.language.traverse import children, with_children
from morello.language.unparse import unparse


def without_lookups(
    value: ast.Expr, tensors: Mapping[str, GoalTensor], sizes: Sizes
) -> tuple[ast.Expr, dict[str, Lookup]]:
    """A statement's value with tensors in the place of what is looked up, and the lookups by name.

    Args:
        value: The value.
        tensors: What it reads.
        sizes: Has the parameters, and takes the errors.
    """
    found: dict[str, Lookup] = {}
    return _without(value, tensors, sizes, found), found


def _without(
    value: ast.Expr, tensors: Mapping[str, GoalTensor], sizes: Sizes, found: dict[str, Lookup]
) -> ast.Expr:
    """The value with tensors in the place of what is looked up; each is added to ``found``."""
    if not isinstance(value, ast.Subscripted):
        return with_children(
            value, [_without(child, tensors, sizes, found) for child in children(value)]
        )
    inner = [
        (axis, each)
        for axis, each in enumerate(value.subscripts)
        if isinstance(each, ast.Subscripted)
    ]
    if not inner:
        return value
    (axis, rows), *more = inner
    table, indices = tensors[value.tensor], tensors[rows.tensor]
    others = (*value.subscripts[:axis], *value.subscripts[axis + 1 :])
    names = [e.id for e in (*rows.subscripts, *others) if isinstance(e, ast.Name)]
    plain = len(names) == len({*names}) == len(rows.subscripts) + len(others)
    wrong, place = "", value.span
    if more or not plain or sizes.values.keys() & {*names}:
        wrong = f"'{unparse(value)}' is no lookup: all but one subscript are dimensions"
    elif any(t.role not in ("input", "weight") or t.layout.panel for t in (table, indices)):
        wrong = f"'{unparse(value)}' looks up what is no argument, or has panels"
    elif indices.dtype.floating:
        wrong, place = f"'{indices.name}' is of {indices.dtype}, and is an index", rows.span
    elif (len(table.shape), len(indices.shape)) != (
        len(value.subscripts),
        len(rows.subscripts),
    ):
        wrong = f"'{table.name}' and '{indices.name}' have other numbers of dimensions"
    if wrong:
        help = "look up rows of an input by whole numbers: x[t, d] = E[I[t], d]"
        sizes.collector.error("S042", wrong, place, "no lookup", help)
        return value
    shape = (*table.shape[:axis], *indices.shape, *table.shape[axis + 1 :])
    name = f"{table.name}.at.{indices.name}.{axis}"
    sizes.few_elements(name, shape, value.span)
    output = GoalTensor(name, "local", table.dtype, shape, row_major(len(shape)))
    found[name] = Lookup(output, table, indices, axis)
    subscripts = (*value.subscripts[:axis], *rows.subscripts, *value.subscripts[axis + 1 :])
    return ast.Subscripted(name, subscripts, span=value.span)
