"""The command ``morello``: the group of sub-commands, and what becomes of errors.

Exit status: 0 when it worked, 1 for an error, 2 for a wrong use, 130 when interrupted, 143 when
terminated.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

import click

from morello import __version__
from morello.cli.session import Session, error_json
from morello.errors import MorelloError, UsageError
from morello.startup.commands import SUMMARIES
from morello.startup.entry_points import points_of_others
from morello.startup.process import INTERRUPTED, Terminated

if TYPE_CHECKING:
    from morello.report.documents import Document

_JSON = "--json"
_PLUGIN_COMMANDS = f"{__name__}.plugin_commands"
"""Key in a context's ``meta``: the commands of plugins, once they were asked for."""
_MISUSE_AS_JSON = f"{__name__}.misuse_as_json"
"""Key in a context's ``meta``: whether ``--json`` is among the arguments, right or wrong."""


class _Later(click.Command):
    """Stands for a sub-command in the list of them, which needs no more than its name."""

    def load(self) -> click.Command:
        """The sub-command itself. Only the one that is called is imported."""
        assert self.name is not None
        module = import_module(f"morello.cli.{self.name}{'_' * iskeyword(self.name)}")
        found = next(c for c in vars(module).values() if _is_command(c, self.name))
        assert isinstance(found, click.Command)
        return found


def _is_command(value: object, name: str | None) -> bool:
    return isinstance(value, click.Command) and value.name == name


class _Group(click.Group):
    """A group whose sub-commands never end in a traceback that was not asked for.

    The commands of plugins are looked for where none of its own has the name, or all are listed.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *_plugin_commands(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        own = super().get_command(ctx, cmd_name)
        return own if own is not None else _plugin_commands(ctx).get(cmd_name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options = args[: args.index("--")] if "--" in args else args
        ctx.meta[_MISUSE_AS_JSON] = _JSON in options
        try:
            return super().parse_args(ctx, args)
        except click.ClickException as error:
            _document_misuse(ctx, error)
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if isinstance(command, _Later):
            command = command.load()
        _session(ctx).started()
        return name, command, rest

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            _document_misuse(ctx, error)
            raise
        except (click.exceptions.Exit, click.Abort):
            raise
        except Terminated as error:
            click.echo("terminated", err=True)
            raise click.exceptions.Exit(error.status) from None
        except (KeyboardInterrupt, EOFError):
            click.echo("interrupted", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
        except MorelloError as error:
            raise click.exceptions.Exit(_report(_session(ctx), error)) from error
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # the reader of our output has gone; click ends quietly
            status = _report(_session(ctx), _of_the_system(error))
            _drop_what_cannot_be_written()
            raise click.exceptions.Exit(status) from error
        except Exception as error:
            if _session(ctx).traceback:
                raise
            _report_unexpected(_session(ctx), error)
            raise click.exceptions.Exit(1) from error


def _plugin_commands(ctx: click.Context) -> Mapping[str, click.Command]:
    """The commands of plugins; warns of plugins that cannot be loaded."""
    if _PLUGIN_COMMANDS not in ctx.meta:
        ctx.meta[_PLUGIN_COMMANDS] = _load_commands(_session(ctx))
    commands: Mapping[str, click.Command] = ctx.meta[_PLUGIN_COMMANDS]
    return commands


def _load_commands(session: Session) -> Mapping[str, click.Command]:
    points = points_of_others()
    if not points:  # to load plugins takes longer than to show a list
        return {}
    from morello.plugins import load_plugins  # noqa: PLC0415

    found = load_plugins(points)
    for plugin in found.broken:
        session.warn(str(plugin))
    return found.commands


def _session(ctx: click.Context) -> Session:
    return ctx.ensure_object(Session)


def _report(session: Session, error: MorelloError) -> int:
    if session.traceback:
        session.err.print_exception()
    session.report(error)
    _document(session, error_json(error))
    return 2 if isinstance(error, UsageError) else 1


def _document_misuse(ctx: click.Context, error: click.ClickException) -> None:
    """A wrong use as JSON; the option may be where click did not get to reading it."""
    session = _session(ctx)
    session.json = session.json or ctx.meta[_MISUSE_AS_JSON]
    _document(session, [{"message": error.format_message(), "help": ""}])


def _report_unexpected(session: Session, error: Exception) -> None:
    text = " ".join(f"{type(error).__name__}: {error}".split())
    session.err.print(
        f"internal error: {text} (see where with 'morello --traceback ...', and report it)",
        soft_wrap=True,
    )
    _document(session, [{"message": f"internal error: {text}", "help": ""}])


def _document(session: Session, errors: list[Document]) -> None:
    """The errors as JSON, if it is asked for and can be written: that may be what failed."""
    if session.json:
        with suppress(OSError):
            session.document({"errors": errors})


def _drop_what_cannot_be_written() -> None:
    """Python would try again as it ends, complain, and exit with a status of its own."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _of_the_system(error: OSError) -> MorelloError:
    """A disk that is full, an output that is closed: what the system says, in our form."""
    reason = (error.strerror or str(error)).lower()
    if error.filename is None:
        return MorelloError(reason, help="is the disk, or what the output goes to, full?")
    return MorelloError(f"{reason}: '{error.filename}'")


@click.group(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="'morello COMMAND --help' shows the options of a command, with examples.",
)
@click.version_option(__version__, prog_name="morello")
@click.option("--traceback", is_flag=True, help="Show where in this program an error arose.")
@click.pass_context
def main(ctx: click.Context, traceback: bool) -> None:
    """Compile small specifications of tensor computations to fast, self-contained C."""
    _session(ctx).traceback = traceback


for _name, _summary in SUMMARIES.items():
    main.add_command(_Later(_name, short_help=_summary))
