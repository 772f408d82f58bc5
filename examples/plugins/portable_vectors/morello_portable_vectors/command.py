"""``morello try-compilers``: whether the C of a spec is right with every compiler at hand."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

import click

from morello import MorelloError

TARGET = "portable.vectors"
USUAL = ("gcc", "clang")


@click.command("try-compilers")
@click.argument("file", metavar="FILE")
@click.option(
    "-c",
    "--cc",
    "commands",
    metavar="COMMAND",
    multiple=True,
    help="A C compiler; may be repeated.",
)
def try_compilers(file: str, commands: Sequence[str]) -> None:
    """Verify a spec with each C compiler.

    FILE is a .mspec file, which is compiled for portable.vectors. Without --cc, gcc and clang are
    tried, where they are installed.
    """
    from morello import compile as compile_  # noqa: PLC0415  # only when it runs: it takes a while

    found = list(commands) or [name for name in USUAL if shutil.which(name)]
    if not found:
        raise MorelloError("there is no C compiler", help=f"install one of: {', '.join(USUAL)}")
    before = os.environ.get("CC")
    try:
        for command in found:
            os.environ["CC"] = command
            report = compile_(file, target=TARGET).verify()
            click.echo(f"{command}: equal to the reference, {report.elements} elements compared")
    finally:
        os.environ.pop("CC", None)
        if before is not None:
            os.environ["CC"] = before
