"""``morello new``: a skeleton of a rule, a kernel, a target or a plugin, with its test."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from morello.cli.options import examples, json_option, local_options
from morello.cli.outputs import write_together
from morello.cli.request import definitions_for
from morello.cli.session import Session
from morello.cli.skeletons import KINDS, Skeleton, skeleton
from morello.definitions import Definitions
from morello.errors import MorelloError, UsageError
from morello.language.diagnostics import DiagnosticsError
from morello.language.source import Source
from morello.plugins import DEFINITION_SUFFIXES


@click.command(
    epilog=examples(
        "morello new rule split_rows",
        "morello new kernel add_rows -o kernels/",
        "morello new target mine.small",
        "morello new plugin my-rules",
    )
)
@click.argument("kind", metavar="KIND", type=click.Choice(KINDS))
@click.argument("name", metavar="NAME")
@click.option("-o", "--output", metavar="PATH", default=".", help="A directory that exists.")
@local_options
@json_option
@click.pass_obj
def new(session: Session, /, kind: str, name: str, output: str) -> None:
    """Write a skeleton of a rule, kernel, target or plugin.

    KIND says of which. It works as it is: it passes 'morello check' and the test that is written
    with it. The commands to go on with are printed. Nothing is ever overwritten.
    """
    made = skeleton(kind, name)
    directory = Path(output)
    if not directory.is_dir():
        raise MorelloError(f"there is no directory '{output}'", help="create it first")
    _refuse_existing(made, directory)
    _check(session, kind, name, made)
    paths = {directory / path: text for path, text in made.files.items()}
    for parent in sorted({path.parent for path in paths}):
        parent.mkdir(parents=True, exist_ok=True)
    write_together(paths)
    commands = list(made.commands) if output == "." else [f"cd {output}", *made.commands]
    if session.json:
        session.document({"files": [str(path) for path in paths], "commands": commands})
    session.say(f"wrote {', '.join(map(str, paths))}")
    session.say("next:")
    for command in commands:
        session.say(f"  {command}")


def _refuse_existing(made: Skeleton, directory: Path) -> None:
    for path in [made.directory] if made.directory else made.files:
        if (directory / path).exists() or (directory / path).is_symlink():
            raise MorelloError(
                f"'{directory / path}' exists already", help="choose another name, or place with -o"
            )


def _check(session: Session, kind: str, name: str, made: Skeleton) -> None:
    """The name is new, and the definitions are sound with it."""
    definitions = definitions_for(session)
    if name in _known(kind, definitions):
        raise MorelloError(f"there is a {kind} '{name}' already", help="choose another name")
    if made.directory and find_spec(made.directory) is not None:
        raise MorelloError(
            f"there is a Python package '{made.directory}' already", help="choose another name"
        )
    sources = [
        Source(Path(path).name, text)
        for path, text in made.files.items()
        if path.endswith(DEFINITION_SUFFIXES)
    ]
    try:
        definitions_for(session, sources)
    except DiagnosticsError as error:
        first = error.diagnostics[0]
        raise UsageError(
            f"'{name}' cannot be the name of a {kind}: {first.message}", help="choose another name"
        ) from error


def _known(kind: str, definitions: Definitions) -> set[str]:
    match kind:
        case "rule":
            return {rule.name for rule in definitions.rules}
        case "kernel":
            return {k.name for target in definitions.targets.values() for k in target.kernels}
        case "target":
            return set(definitions.targets)
        case _:
            return set()
