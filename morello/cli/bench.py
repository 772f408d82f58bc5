"""``morello bench``: compile a spec, run it, and compare the time with the prediction."""

from __future__ import annotations

from typing import Any

import click

from morello.cli.options import (
    examples,
    json_option,
    machine_options,
    spec_options,
    time_under_runner_option,
)
from morello.cli.request import Request, compile_request, statistics_json
from morello.cli.session import Session
from morello.codegen.goals import arithmetic
from morello.report.documents import Document


@click.command(
    epilog=examples(
        "morello bench matmul.mspec", "morello bench matmul.mspec -D M=64 -D K=64 -D N=64 --json"
    )
)
@spec_options
@machine_options
@time_under_runner_option
@json_option
@click.pass_obj
def bench(session: Session, /, **request: Any) -> None:
    """Compile a spec, run it, and time it.

    A C compiler compiles it, and it is verified first. The time is the median of
    many calls on arrays that are used again and again, so that small ones stay in the caches. No
    file is written.
    """
    kernel = compile_request(session, Request(**request))
    kernel.machine.require_timing(f"'{kernel.name}'")
    kernel.verify()
    timing = kernel.time()
    lower, upper = timing.quartiles
    operations = arithmetic(kernel.goal)
    passed = sum(t.bytes for t in kernel.goal.tensors if t.role in ("input", "weight", "output"))
    if session.json:
        document: Document = {
            "name": kernel.name,
            "target": kernel.program.target.name,
            "runner": kernel.machine.runner,
            "seconds": timing.median,
            "quartiles": [lower, upper],
            "operations": operations,
            "bytes": passed,
            "predicted_cycles": kernel.cost,
            "search": statistics_json(kernel),
        }
        session.document(document)
        return
    session.say(f"verified: {kernel.name} for {kernel.program.target.name} equals the reference")
    under = "" if kernel.machine.is_here else f" under {kernel.machine}"
    session.say(
        f"measured{under}: {_microseconds(timing.median)} a call "
        f"(half of the calls within {_microseconds(lower)} to {_microseconds(upper)}), "
        f"{operations / timing.median / 1e9:,.4g} Gop/s, "
        f"{passed / timing.median / 1e9:,.4g} GB/s of its arguments"
    )
    session.say(f"predicted: {kernel.cost:,.0f} cycles")


def _microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:,.4g} us"
