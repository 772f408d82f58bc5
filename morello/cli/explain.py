"""``morello explain``: the plan of a spec and what it costs, or what refused it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from morello.cli.options import examples, json_option, spec_options
from morello.cli.request import Request, compile_request, statistics_json, statistics_text
from morello.cli.session import Session
from morello.cli.tables import Row, show_table
from morello.compiler import Kernel
from morello.errors import UsageError
from morello.why import Beginning, Why

SHOWN = 10
"""First steps that are shown; the JSON document has all."""

MAIN_COSTS = 3
"""Coefficients that are shown of each; the JSON document has all."""


@click.command(
    epilog=examples(
        "morello explain matmul.mspec -D M=100",
        "morello explain matmul.mspec --why 3",
        "morello explain matmul.mspec --target NAME --json",
    )
)
@spec_options
@click.option(
    "--why",
    metavar="LINE",
    type=click.IntRange(min=1),
    default=1,
    help="Line of the plan whose alternatives and refusals are shown; the first by default.",
)
@json_option
@click.pass_obj
def explain(session: Session, /, why: int, **request: Any) -> None:
    """Show the plan of a spec, its costs and its alternatives.

    Where nothing implements the spec, the guards and limits that refused are shown instead, with
    their numbers. No file is written.

    A spec with several outputs has a tree for each computation, one after the other. In the JSON
    document these are the children of a node of the kind "sequence", and say what they compute.
    """
    kernel = compile_request(session, Request(**request))
    lines = kernel.plan.lines
    if why > len(lines):
        raise UsageError(
            f"there is no line {why}: the plan has {len(lines)}", help=f"choose 1 to {len(lines)}"
        )
    line = lines[why - 1]
    reasons = Why(line.tree.answers, line.node.spec)
    if session.json:
        session.document(_document(kernel, reasons))
        return
    session.say(f"{kernel.plan.render()}\n")
    show_table(session, "costs", ("coefficient", "count", "cycles", "share"), _costs(kernel))
    _show_reasons(session, reasons, why)
    session.say("")
    session.say(f"predicted: {kernel.cost:,.0f} cycles on {kernel.program.target.name}")
    session.say(statistics_text(kernel))
    if kernel.statistics.coarsening is not None:
        session.say(str(kernel.statistics.coarsening))


def _document(kernel: Kernel, reasons: Why) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "target": kernel.program.target.name,
        "cycles": kernel.cost,
        "plan": kernel.plan.to_json(),
        "costs": _costs(kernel),
        "why": str(reasons.spec),
        "alternatives": _alternatives(reasons, reasons.beginnings),
        "refused": [str(r) for r in reasons.refused],
        **statistics_json(kernel),
    }


def _show_reasons(session: Session, reasons: Why, line: int) -> None:
    session.say(f"line {line}: {reasons.spec}")
    found = reasons.beginnings
    session.say(f"the cheapest {min(SHOWN, len(found))} of {len(found)} first steps that apply:")
    columns = ("step", "parameters", "cycles", "ratio", "mostly")
    show_table(session, "alternatives", columns, _alternatives(reasons, found[:SHOWN]))
    session.say("what does not apply to it:")
    for refusal in reasons.refused:
        session.say(f"  {refusal}")


def _alternatives(reasons: Why, beginnings: Sequence[Beginning]) -> list[Row]:
    """First steps with the cost of the best program that begins so, the cheapest first."""
    least = reasons.beginnings[0].cycles
    rows: list[Row] = []
    for first in beginnings:
        costs = reasons.costs(first)
        total = sum(share.cycles for share in costs)
        main = [f"{s.cycles / total:.0%} {s.coefficient}" for s in costs[:MAIN_COSTS]]
        rows.append(
            {
                "step": first.option.name,
                "parameters": ", ".join(f"{n} = {v}" for n, v in first.option.parameters),
                "cycles": first.cycles,
                "ratio": first.cycles / least if least else 1.0,
                "mostly": ", ".join(main) if total else "",
                "costs": {share.coefficient: share.cycles for share in costs},
            }
        )
    return rows


def _costs(kernel: Kernel) -> list[Row]:
    """Cycles by coefficient, the dearest first."""
    return [
        {
            "coefficient": cost.coefficient,
            "count": cost.count,
            "cycles": cost.cycles,
            "share": f"{cost.cycles / kernel.cost:.1%}" if kernel.cost else "-",
        }
        for cost in kernel.plan.costs()
    ]
