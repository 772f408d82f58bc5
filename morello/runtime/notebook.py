"""A kernel as a notebook shows it: one piece of HTML, small, that needs nothing from elsewhere.

It folds with ``<details>``, has no script, and takes the page's colours, so that it reads alike in
Jupyter, in plain HTML, and on paper. The full account of a plan is ``morello explain``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TypedDict

import jinja2

from morello.plugins.templates import compile_template
from morello.report.documents import Document
from morello.report.plan import CostShare, Line, Plan
from morello.runtime.autotune import Measurement
from morello.runtime.signature import ArgumentInfo, Signature

SOURCE_LINES = 400
"""Lines of C that are shown; of a longer source, the first."""

STEPS = 300
"""Steps of a plan that are shown; of a longer one, the first in program order."""

BAR = 12.0
"""Width of the bar of all cycles, in widths of a letter."""


def kernel_card(
    title: str,
    target: str,
    threads: int,
    plan: Plan,
    signature: Signature,
    source: str,
    measurements: Sequence[Measurement],
) -> str:
    """The HTML of a kernel.

    Args:
        title: What it computes, in a line.
        target: Name of the target.
        threads: How many threads may share the work.
        plan: What was chosen; its cycles are those of one call.
        signature: The function with its arguments.
        source: The C file.
        measurements: Of the contest that it has won, if there was one.
    """
    total = plan.cycles
    text = source.splitlines()
    branches, steps = _branches(plan)
    return _template().render(
        name=signature.name,
        title=title,
        target=target,
        threads=threads,
        cycles=f"{total:,.0f}",
        arguments=[_argument(argument) for argument in signature.arguments],
        packed=any(not a.passed_as_declared for a in signature.arguments),
        workspace=f"{signature.workspace_bytes:,}" if signature.workspace_bytes else "",
        measurements=[_measured(row) for row in measurements],
        costs=[_cost(cost, total) for cost in plan.costs()],
        steps=f"{steps:,}",
        steps_left_out=max(0, steps - STEPS),
        branches=branches,
        source="\n".join(text[:SOURCE_LINES]),
        lines=f"{len(text):,}",
        left_out=max(0, len(text) - SOURCE_LINES),
    )


@cache
def _template() -> jinja2.Template:
    text = files("morello.runtime").joinpath("notebook.html.jinja").read_text("utf-8")
    return compile_template(text, html=True)


def _argument(argument: ArgumentInfo) -> dict[str, str]:
    packing = argument.packing
    return {
        "name": argument.name,
        "role": argument.role,
        "dtype": str(argument.dtype),
        "shape": " x ".join(map(str, argument.shape)) or "scalar",
        "layout": str(argument.layout),
        "packed": packing.form if packing and not packing.copies else "",
    }


def _measured(row: Measurement) -> Document:
    return {
        "rank": row.rank,
        "chosen": row.chosen,
        "cycles": f"{row.predicted_cycles:,.0f}",
        "microseconds": f"{row.seconds * 1e6:,.4g}",
        "description": row.description,
    }


def _cost(cost: CostShare, total: float) -> dict[str, str]:
    return {
        "name": cost.coefficient,
        "count": f"{cost.count:,.6g}",
        "value": f"{cost.value:,.4g}",
        "cycles": f"{cost.cycles:,.0f}",
        "share": _share(cost.cycles, total),
        "width": f"{BAR * cost.cycles / total if total else 0:.2f}",
    }


def _share(cycles: float, total: float) -> str:
    return f"{cycles / total if total else 0:.1%}"


class _Branch(TypedDict):
    """A step with those below it; ``result``: of a first one of several, the tensor."""

    result: str
    times: str
    name: str
    parameters: str
    operation: str
    sizes: str
    share: str
    children: list[_Branch]


def _branches(plan: Plan) -> tuple[list[_Branch], int]:
    """The trees of a plan, as far as they are shown, and how many steps there are in all."""
    total = plan.cycles
    roots: list[_Branch] = []
    path: list[_Branch] = []  # what the next line may be below
    runs: list[int] = []
    lines = plan.lines
    for line in lines[:STEPS]:
        del path[line.depth :], runs[line.depth :]
        runs.append(line.count * (runs[-1] if runs else 1))
        path.append(_branch(line, runs[-1], total))
        (path[-2]["children"] if line.depth else roots).append(path[-1])
    if len(plan.trees) > 1:
        for root, tree in zip(roots, plan.trees, strict=False):
            root["result"] = tree.computes
    return roots, len(lines)


def _branch(line: Line, runs: int, total: float) -> _Branch:
    node, count = line.node, line.count
    operation = node.spec.family.operation
    sizes = zip(operation.dims, node.spec.sizes, strict=True)
    return {
        "result": "",
        "times": "ahead:" if count == 0 else f"{count:,} x" if count > 1 else "",
        "name": node.option.name,
        "parameters": ", ".join(f"{name} = {value}" for name, value in node.option.parameters),
        "operation": str(operation),
        "sizes": " ".join(f"{dim}={size}" for dim, size in sizes),
        "share": _share(node.cycles * runs, total),
        "children": [],
    }
