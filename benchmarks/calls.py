"""What a call from Python costs where the kernel has next to nothing to do: `relu` of 64 numbers.

``python -m benchmarks.calls`` times the ways to call it by turns, beside numpy's `maximum`, and
prints medians in microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import click
import numpy as np

import morello
from morello.runtime.timing import repeated, time_alternately

SPEC = "spec small() { input x: f32[64] output y: f32[64] y = relu(x) }"


def calls() -> Mapping[str, Callable[[], Any]]:
    """Ways to compute the same, as they are written in Python."""
    kernel = morello.compile(SPEC, target="x86.scalar")
    x, y = np.linspace(-1, 1, 64, dtype=np.float32), np.empty(64, np.float32)
    return {
        "numpy.maximum(x, 0, out=y)": lambda: np.maximum(x, 0, out=y),
        "kernel(x)": lambda: kernel(x),
        "kernel(x, out=y)": lambda: kernel(x, out=y),
        "kernel.bind(x, out=y)()": kernel.bind(x, out=y),
    }


@click.command(help=__doc__)
@click.option("--json", "as_json", is_flag=True, help="One JSON object, no table.")
def main(as_json: bool) -> None:
    """Time each, and print the medians."""
    timings = time_alternately({name: repeated(call) for name, call in calls().items()})
    microseconds = {name: 1e6 * timing.median for name, timing in timings.items()}
    if as_json:
        click.echo(json.dumps(microseconds))
        return
    click.echo("| Call | us |\n| --- | --- |")
    for name, value in microseconds.items():
        click.echo(f"| `{name}` | {value:.2f} |")


if __name__ == "__main__":
    main()
