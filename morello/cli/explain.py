"""``morello explain``: the plan of a spec and what it costs, or what refused it."""

from __future__ import annotations

from typing import Any

import click

from morello.cli.options import examples, json_option, spec_options
from morello.cli.request import Request, compile_request, statistics_json
from morello.cli.session import Session
from morello.cli.tables import Row, show_table
from morello.compiler import Kernel

SHOWN = 10
"""First steps that are shown; the JSON document has all."""


@click.command(
    epilog=examples(
        "morello explain matmul.mspec -D M=100", "morello explain matmul.mspec --target NAME --json"
    )
)
@spec_options
@json_option
@click.pass_obj
def explain(session: Session, /, **request: Any) -> None:
    """Show the plan of a spec, its costs and its alternatives.

    Where nothing implements the spec, the guards and limits that refused are shown instead, with
    their numbers. No file is written.
    """
    kernel = compile_request(session, Request(**request))
    statistics = kernel.statistics
    if session.json:
        document = {
            "name": kernel.name,
            "target": kernel.program.target.name,
            "cycles": kernel.cost,
            "plan": kernel.plan.to_json(),
            "costs": _costs(kernel),
            "alternatives": _considered(kernel),
            "refused": [str(r) for r in kernel.plan.refused],
            **statistics_json(kernel),
        }
        session.document(document)
        return
    session.say(f"{kernel.plan.render()}\n")
    show_table(session, "costs", ("coefficient", "count", "cycles", "share"), _costs(kernel))
    session.say(f"the cheapest {SHOWN} of {len(kernel.plan.considered)} first steps that apply:")
    columns = ("step", "parameters", "cycles", "ratio")
    show_table(session, "alternatives", columns, _considered(kernel)[:SHOWN])
    session.say("what does not apply to it, whatever its sizes:")
    for refusal in kernel.plan.refused:
        session.say(f"  {refusal}")
    session.say("")
    session.say(f"predicted: {kernel.cost:,.0f} cycles on {kernel.program.target.name}")
    session.say(
        f"searched: {statistics.cells:,} Specs in {statistics.families:,} families, "
        f"{statistics.seconds:.2f} s"
    )
    if statistics.coarsening is not None:
        session.say(str(statistics.coarsening))


def _considered(kernel: Kernel) -> list[Row]:
    """First steps with the cost of the best program that begins so, the cheapest first."""
    return [
        {
            "step": first.name,
            "parameters": ", ".join(f"{n} = {v}" for n, v in first.parameters),
            "cycles": first.cycles,
            "ratio": first.cycles / kernel.cost if kernel.cost else 1.0,
        }
        for first in kernel.plan.considered
    ]


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
