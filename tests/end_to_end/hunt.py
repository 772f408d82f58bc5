"""Tries random specs of four and five operations, and says which of them go wrong.

``python -m tests.end_to_end.hunt --first 1000 --count 300`` draws those numbers, and compiles and
verifies each in a process of its own, without a memo. A search that takes too long is told by its
processor time; what is wrong is told with the number, by which it is drawn again.
"""

from __future__ import annotations

import os
import resource
import time
from collections import Counter

import click

import morello

from .kernels import small_machines
from .random_specs import large_spec

TARGETS = ("x86.avx512", "x86.avx2", "x86.scalar", "x86.avx512_bf16", "x86.avx512_vnni")


def _try(number: int, target: str, budget: str | None, out: int) -> None:
    """Compile and verify one spec, and write a line about it."""
    started = time.process_time()
    try:
        kernel = morello.compile(
            large_spec(number),
            target=target,
            definitions=small_machines(),
            memo=morello.Memo(),
            budget=budget,
        )
        kernel.verify()
    except Exception as error:  # whatever it is, it is looked for
        text = f"{type(error).__name__}: {error}".replace("\n", " ")
    else:
        found = kernel.statistics
        coarser = "" if found.coarsening is None else ", coarser"
        text = f"right, {found.families} families, {found.cells:,} Specs{coarser}"
    os.write(out, f"{time.process_time() - started:.1f} s, {text}".encode())


def _apart(number: int, target: str, budget: str | None, seconds: int) -> str:
    """What a process of its own writes, which may take so many seconds of a processor."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        _try(number, target, budget, writing)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, errors="replace") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return text or f"ended by signal {os.WTERMSIG(status)} within {seconds} s of a processor"


@click.command()
@click.option("--first", default=1000, help="Number of the first spec.")
@click.option("--count", default=100, help="How many to try.")
@click.option("--target", help="One target for all; by default they take turns.")
@click.option("--budget", help="Of each search, such as '100000 specs'.")
@click.option("--seconds", default=120, help="Processor time that each of them may take.")
def main(first: int, count: int, target: str | None, budget: str | None, seconds: int) -> None:
    """Try random specs of four and five operations."""
    small_machines()
    outcomes = Counter[bool]()
    for number in range(first, first + count):
        own = target or TARGETS[number % len(TARGETS)]
        text = _apart(number, own, budget, seconds)
        outcomes[" s, right" in text] += 1
        click.echo(f"{number} on {own}: {text}")
    click.echo(f"{outcomes[True]} right, {outcomes[False]} not")


if __name__ == "__main__":
    main()
