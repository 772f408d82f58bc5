"""The command ``morello``: the group of sub-commands, and what becomes of errors.

Exit status: 0 when it worked, 1 for an error, 2 for a wrong use, 130 when interrupted.
"""

from __future__ import annotations

import errno
from contextlib import suppress
from typing import Any

import click

from morello import __version__
from morello.cli.bench import bench
from morello.cli.check import check
from morello.cli.compile import compile_
from morello.cli.explain import explain
from morello.cli.kernels import kernels
from morello.cli.operators import operators
from morello.cli.rules import rules
from morello.cli.session import Session, error_json
from morello.cli.targets import targets
from morello.errors import MorelloError, UsageError

INTERRUPTED = 130


class _Group(click.Group):
    """A group whose sub-commands never end in a traceback that was not asked for."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            _document(_session(ctx), [{"message": error.format_message(), "help": ""}])
            raise
        except (click.exceptions.Exit, click.Abort):
            raise
        except (KeyboardInterrupt, EOFError):
            _session(ctx).err.print("interrupted")
            raise click.exceptions.Exit(INTERRUPTED) from None
        except MorelloError as error:
            raise click.exceptions.Exit(_report(_session(ctx), error)) from error
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # the reader of our output has gone; click ends quietly
            raise click.exceptions.Exit(_report(_session(ctx), _of_the_system(error))) from error
        except Exception as error:
            if _session(ctx).traceback:
                raise
            _report_unexpected(_session(ctx), error)
            raise click.exceptions.Exit(1) from error


def _session(ctx: click.Context) -> Session:
    return ctx.ensure_object(Session)


def _report(session: Session, error: MorelloError) -> int:
    if session.traceback:
        session.err.print_exception()
    session.report(error)
    _document(session, error_json(error))
    return 2 if isinstance(error, UsageError) else 1


def _report_unexpected(session: Session, error: Exception) -> None:
    text = " ".join(f"{type(error).__name__}: {error}".split())
    session.err.print(
        f"internal error: {text} (see where with 'morello --traceback ...', and report it)",
        soft_wrap=True,
    )
    _document(session, [{"message": f"internal error: {text}", "help": ""}])


def _document(session: Session, errors: list[dict[str, Any]]) -> None:
    """The errors as JSON, if it is asked for and can be written: that may be what failed."""
    if session.json:
        with suppress(OSError):
            session.document({"errors": errors})


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


for _command in (compile_, check, explain, bench, rules, operators, targets, kernels):
    main.add_command(_command)
