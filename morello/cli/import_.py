"""``morello import``: from a network in a model file to a C library."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import to_builtins

from morello.checking.kinds import counted
from morello.cli.memos import memo_with_pages, open_memo
from morello.cli.options import (
    budget_option,
    define_option,
    examples,
    json_option,
    local_options,
    machine_options,
    memo_option,
    no_memo_option,
)
from morello.cli.outputs import check_outputs, is_ours, origin, write_together
from morello.cli.progress import ProgressBar
from morello.cli.request import definitions_for, local_sources, phases_of
from morello.cli.session import Session
from morello.cli.tables import show_table
from morello.codegen.c.names import identifier
from morello.errors import MorelloError, UsageError
from morello.networks.formats import read_network
from morello.report.documents import Document
from morello.resources import available_cores
from morello.runtime.target_choice import NATIVE, named_target
from morello.search.planning.budget import Budget
from morello.search.search import Progress

if TYPE_CHECKING:
    from morello.networks.build import Library, Partition
    from morello.networks.whole import Whole

COLUMNS = ("kernel", "calls", "cycles", "seconds", "Specs", "nodes")

_SHAPE = re.compile(r"(?P<name>[^=]+)=(?P<sizes>\d{1,9}(,\d{1,9})*)", re.ASCII)


def _shapes(
    context: click.Context, parameter: click.Parameter, values: Sequence[str]
) -> dict[str, tuple[int, ...]]:
    """Parse all ``--shape``."""
    shapes: dict[str, tuple[int, ...]] = {}
    for value in values:
        found = _SHAPE.fullmatch(value.strip())
        if found is None:
            message = f"'{value}' is not of the form NAME=SIZES, such as x=1,3,224,224"
            raise click.BadParameter(message, context, parameter)
        if found["name"] in shapes:
            message = f"the shape of '{found['name']}' is given twice"
            raise click.BadParameter(message, context, parameter)
        shapes[found["name"]] = tuple(map(int, found["sizes"].split(",")))
    return shapes


@click.command(
    "import",
    epilog=examples(
        "morello import model.onnx",
        "morello import model.onnx -D batch=1 -D sequence=128 -o build/model --verify",
        "morello import detector.onnx --shape x=1,3,320,320 -t NAME",
    ),
)
@click.argument("model", metavar="MODEL")
@click.option(
    "-o",
    "--output",
    metavar="DIRECTORY",
    help="Where to write; it is made if it is not there. Default: the name of the network.",
)
@click.option(
    "-t",
    "--target",
    metavar="NAME",
    default=NATIVE,
    show_default=True,
    help="Target, or native: the best for this machine.",
)
@define_option
@click.option(
    "--shape",
    "shapes",
    metavar="NAME=SIZES",
    multiple=True,
    callback=_shapes,
    help="The shape of an input, such as x=1,3,224,224. May be repeated.",
)
@click.option("--name", metavar="NAME", help="Name of the network; default: the file's.")
@click.option(
    "--threads",
    metavar="COUNT",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    help="How many threads may share the work of a kernel.",
)
@click.option(
    "--jobs",
    metavar="COUNT",
    type=click.IntRange(1, 1024),
    help="Searches at the same time; default: as many as cores, and half as many as kernels.",
)
@click.option("--verify", is_flag=True, help="Run each kernel, and the whole, and compare results.")
@click.option(
    "--allow-callbacks",
    is_flag=True,
    help="Leave what cannot be imported to functions of yours, in C or Python.",
)
@local_options
@budget_option
@memo_option
@no_memo_option
@machine_options
@click.option("--force", is_flag=True, help="Overwrite files that were not generated.")
@json_option
@click.pass_obj
def import_(
    session: Session,
    /,
    model: str,
    output: str | None,
    target: str,
    defines: Mapping[str, int],
    shapes: Mapping[str, Sequence[int]],
    name: str | None,
    threads: int,
    jobs: int | None,
    verify: bool,
    allow_callbacks: bool,
    budget: Budget | None,
    memo: str | None,
    no_memo: bool,
    force: bool,
) -> None:
    """Compile a whole network to a C library.

    MODEL is an ONNX file, or StableHLO (.mlir), as JAX lowers functions to it. Sizes must be known:
    -D gives those of dimensions that an ONNX file names. A directory is written with NAME.c and
    NAME.h, the weights, a CMakeLists.txt, and the kernels, each with its .mspec. Nothing is written
    unless all went well.
    """
    if name is not None and identifier(name) != name:
        raise UsageError(f"'{name}' cannot be a network's name", help=f"try {identifier(name)}")
    network = read_network(
        model, sizes=defines, shapes=shapes, name=name, callbacks=allow_callbacks
    )
    directory = Path(output or network.name)
    if directory.exists():
        own = (f"{network.name}.{suffix}" for suffix in ("c", "h", "json", "weights"))
        check_outputs([directory / name for name in (*own, "CMakeLists.txt")], force=force)
    elif not directory.absolute().parent.is_dir():
        parent = directory.absolute().parent
        raise MorelloError(f"there is no directory '{parent}' to write to", help="create it first")
    # What compiles networks is imported when there is one.
    from morello.filling.ahead import search_ahead  # noqa: PLC0415
    from morello.networks.build import build_library  # noqa: PLC0415
    from morello.networks.whole import compared_whole  # noqa: PLC0415

    at_once = jobs or available_cores()
    definitions = definitions_for(session)
    target = named_target(definitions, target).name
    with (
        # What processes find, they share by a file.
        (memo_with_pages if at_once > 1 else open_memo)(session, memo, off=no_memo) as opened,
        ProgressBar(lambda: session.err) as progress,
    ):

        def ahead(specs: Mapping[str, str]) -> Mapping[str, tuple[float, int]]:
            found = search_ahead(
                specs,
                target=target,
                definitions=definitions,
                sources=local_sources(session),
                memo=opened,
                jobs=at_once,
                budget=budget,
                progress=progress,
            )
            return {name: (solved.seconds, solved.cells) for name, solved in found.items()}

        library = build_library(
            network,
            target=target,
            mark=origin(),
            definitions=definitions,
            memo=opened,
            threads=threads,
            budget=budget,
            verify=verify,
            machine=session.machine,
            progress=partial(phases_of, progress),
            ahead=ahead if at_once > 1 else None,
        )
        whole = None
        if verify:
            progress(Progress(0, 0, "running the whole network"))
            whole = compared_whole(library, network, model, session.machine)
    _write(library, directory, force=force)
    _show(session, library, directory, whole)


def _write(library: Library, directory: Path, *, force: bool) -> None:
    """Write all files, or none."""
    contents = {directory / path: content for path, content in library.contents.items()}
    with ExitStack() as undo:
        try:
            for place in (directory, directory / "kernels"):
                if not place.is_dir():
                    place.mkdir()
                    undo.callback(_remove_empty, place)
            check_outputs(contents, force=force)
            write_together(contents)
            undo.pop_all()
            _remove_older(directory / "kernels", contents)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise MorelloError(f"cannot write to '{directory}': {reason}") from error


def _remove_empty(directory: Path) -> None:
    with suppress(OSError):
        directory.rmdir()


def _remove_older(kernels: Path, contents: Container[Path]) -> None:
    """Remove what an earlier import has left that this one has not written anew."""
    for path in kernels.iterdir():
        if path not in contents and path.is_file() and is_ours(path):
            path.unlink()


def _show(session: Session, library: Library, directory: Path, whole: Whole | None) -> None:
    """Say what was written, and what verification found."""
    rows = [_row(row) for row in library.partitions]
    if session.json:
        document: Document = {
            "name": library.name,
            "directory": str(directory),
            "files": sorted(library.contents),
            "cycles": library.cycles,
            "arena": library.arena,
            "weights": library.weights,
            "kernels": [to_builtins(partition) for partition in library.partitions],
            "whole": to_builtins(whole),
        }
        session.document(document)
        return
    show_table(session, "kernels", COLUMNS, rows)
    kernels = counted(len(library.partitions), "kernel")
    session.say(f"wrote {len(library.contents)} files to {directory}, {kernels}")
    session.say(f"predicted: {library.cycles:,.0f} cycles in kernels")
    weights, arena = (f"{size / 1024:,.0f} KiB" for size in (library.weights, library.arena))
    session.say(f"weights: {weights}; arena: {arena}")
    if whole is None:
        session.say("not verified: add --verify to run each kernel, and the whole")
        return
    session.say("verified: each kernel is equal to the reference")
    if whole.runtime:
        error = f"at most {whole.error:.1g} of the largest number"
        session.say(f"verified: the whole differs from {whole.runtime} by {error}")
    else:
        session.say(f"not run as a whole: {whole.reason}")


def _row(row: Partition) -> dict[str, object]:
    return {
        "kernel": row.name,
        "calls": row.calls,
        "cycles": f"{row.cycles:,.0f}",
        "seconds": f"{row.seconds:.1f}",
        "Specs": f"{row.cells:,}",
        "nodes": row.operators,
    }
