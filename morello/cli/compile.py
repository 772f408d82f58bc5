"""``morello compile``: from a spec to a C file and a header."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from morello.cli.options import examples, json_option, spec_options
from morello.cli.outputs import marked, output_paths, refuse_foreign, write_together
from morello.cli.request import Request, compile_request, statistics_json
from morello.cli.session import Session
from morello.compiler import Kernel


@click.command(
    "compile",
    epilog=examples(
        "morello compile matmul.mspec",
        "morello compile matmul.mspec -D M=100 -D N=64 -o build/ --verify",
        "morello compile - --target NAME < matmul.mspec",
    ),
)
@spec_options
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    help="A directory that exists, or a prefix: out/mm gives out/mm.c and out/mm.h.",
)
@click.option("--verify", is_flag=True, help="Run the program and compare it with the reference.")
@click.option("--annotate", is_flag=True, help="Name the file and line of each rule in the C code.")
@click.option("--force", is_flag=True, help="Overwrite files that were not generated.")
@json_option
@click.pass_obj
def compile_(
    session: Session,
    /,
    output: str | None,
    verify: bool,
    annotate: bool,
    force: bool,
    **request: Any,
) -> None:
    """Compile a spec to NAME.c and NAME.h.

    FILE is a .mspec file, or - for the standard input. Nothing is written unless all went well,
    and no file is overwritten that this program did not generate.
    """
    kernel = compile_request(session, Request(**request), annotate=annotate)
    paths = output_paths(kernel.name, output)
    if not force:
        for path in paths:
            refuse_foreign(path)
    if verify:
        kernel.verify()  # a program that is wrong is not written
    texts = (marked(kernel.source), marked(kernel.header))
    write_together(dict(zip(paths, texts, strict=True)))
    _summary(session, kernel, paths, verify)


def _summary(session: Session, /, kernel: Kernel, paths: Sequence[Path], verified: bool) -> None:
    if session.json:
        document = {
            "name": kernel.name,
            "target": kernel.program.target.name,
            "files": [str(path) for path in paths],
            "cycles": kernel.cost,
            "verified": verified,
            **statistics_json(kernel),
        }
        session.document(document)
        return
    source, header = paths
    session.say(f"wrote {source} and {header}")
    session.say(f"predicted: {kernel.cost:,.0f} cycles on {kernel.program.target.name}")
    if verified:
        session.say("verified: equal to the reference")
