"""``morello bench``: compile a spec, run it, and compare the time with the prediction."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from morello.errors import UsageError
from morello.report.documents import Document

if TYPE_CHECKING:
    from morello.runtime.timing import Timing


@click.command(
    epilog=examples(
        "morello bench matmul.mspec",
        "morello bench matmul.mspec -D M=64 -D K=64 -D N=64 --json",
        "morello bench digits/",
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

    FILE may be a directory that 'morello import' has written: that network is built, run and timed.
    """
    if Path(request["file"]).is_dir():
        _bench_network(session, **request)
        return
    kernel = compile_request(session, Request(**request))
    kernel.machine.require_timing(f"'{kernel.name}'")
    kernel.verify()
    timing = kernel.time()
    operations = arithmetic(kernel.goal)
    passed = sum(t.bytes for t in kernel.goal.tensors if t.role in ("input", "weight", "output"))
    if session.json:
        document: Document = {
            "name": kernel.name,
            "target": kernel.program.target.name,
            "runner": kernel.machine.runner,
            "seconds": timing.median,
            "quartiles": list(timing.quartiles),
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
        f"measured{under}: {_measured(timing)}, "
        f"{operations / timing.median / 1e9:,.4g} Gop/s, "
        f"{passed / timing.median / 1e9:,.4g} GB/s of its arguments"
    )
    session.say(f"predicted: {kernel.cost:,.0f} cycles")


def _bench_network(session: Session, file: str, **options: Any) -> None:
    """Time a network that was imported; what it was compiled for is in its directory."""
    from morello.networks.loading import load_network  # noqa: PLC0415

    if any(options.values()):
        raise UsageError(
            f"'{file}' is a network, which is compiled already",
            help="leave the options out that say what to compile, and for what",
        )
    network = load_network(file, machine=session.machine)
    timing = network.time()
    if session.json:
        session.document(
            {
                "name": network.name,
                "target": network.target,
                "seconds": timing.median,
                "quartiles": list(timing.quartiles),
                "predicted_cycles": network.cost,
            }
        )
        return
    session.say(f"measured: {_measured(timing)}, {network.name} for {network.target}")
    session.say(f"predicted: {network.cost:,.0f} cycles in kernels")


def _measured(timing: Timing) -> str:
    lower, upper = map(_microseconds, timing.quartiles)
    median = _microseconds(timing.median)
    return f"{median} a call (half of the calls within {lower} to {upper})"


def _microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:,.4g} us"
