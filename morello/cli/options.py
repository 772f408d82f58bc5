"""Options and arguments that several sub-commands take, and the types of their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from morello.cli.session import Session
from morello.errors import UsageError
from morello.runtime.target_choice import NATIVE
from morello.search.planning.budget import Budget

Command = TypeVar("Command", bound=Callable[..., object])

_DEFINE = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>[+-]?\d+)", re.ASCII)
_LONGEST_VALUE = 30
"""Characters: more than any size that can be meant, and quick to convert."""


def _defines(
    context: click.Context, parameter: click.Parameter, values: Sequence[str]
) -> dict[str, int]:
    """Parse all ``-D``. Whether the integers make sense is for the spec to say."""
    defines: dict[str, int] = {}
    for value in values:
        found = _DEFINE.fullmatch(value.strip())
        if found is None:
            message = f"'{value}' is not of the form NAME=INTEGER, such as M=100"
            raise click.BadParameter(message, context, parameter)
        if len(found["value"]) > _LONGEST_VALUE:
            message = f"the value of '{found['name']}' has more than {_LONGEST_VALUE} digits"
            raise click.BadParameter(message, context, parameter)
        if found["name"] in defines:
            message = f"'{found['name']}' is set more than once"
            raise click.BadParameter(message, context, parameter)
        defines[found["name"]] = int(found["value"])
    return defines


def _in_session(field: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    """Keeps an option's value in the session, for whatever reads it there."""

    def keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
        setattr(context.ensure_object(Session), field, value)

    return keep


json_option = click.option(
    "--json",
    is_flag=True,
    expose_value=False,
    is_eager=True,  # a document is owed even if another option is wrong
    callback=_in_session("json"),
    help="Print one JSON document.",
)


def _budget(context: click.Context, parameter: click.Parameter, value: str | None) -> Budget | None:
    try:
        return None if value is None else Budget.parse(value)
    except UsageError as error:
        message = f"{error} ({error.help})" if error.help else str(error)
        raise click.BadParameter(message, context, parameter) from error


budget_option = click.option(
    "--budget",
    metavar="AMOUNT",
    callback=_budget,
    help="How much to search: '2e6 specs', '10 s', '500 MiB'; past it, the search is coarser.",
)


_rules_option = click.option(
    "-r",
    "--rules",
    metavar="PATH",
    multiple=True,
    expose_value=False,
    callback=_in_session("rules"),
    help="More operators and rules: a .mrules file, or a directory of them. May be repeated.",
)

_kernels_option = click.option(
    "-k",
    "--kernels",
    metavar="PATH",
    multiple=True,
    expose_value=False,
    callback=_in_session("kernels"),
    help="More kernels and targets: a .mtarget file, or a directory of them. May be repeated.",
)


name_filter = click.argument("text", required=False, metavar="[TEXT]")
"""Lists are long: `tables.named_like` keeps what has this in its name."""


def targets_option(described: str) -> Callable[[Command], Command]:
    """Any number of targets, with the help that says what holds where none is named."""
    return click.option(
        "-t",
        "--target",
        "targets",
        metavar="NAME",
        multiple=True,
        help=described,
    )


measured_target_option = click.option(
    "-t", "--target", default=NATIVE, metavar="NAME", help="Target; default: this machine's best."
)


def local_options(command: Command) -> Command:
    """The options that name definitions of the user; `request.definitions_for` reads them."""
    return _rules_option(_kernels_option(command))


_cc_option = click.option(
    "--cc",
    metavar="COMMAND",
    expose_value=False,
    callback=_in_session("cc"),
    help="The C compiler, such as 'aarch64-linux-gnu-gcc'; default: MORELLO_CC, then CC.",
)

_run_option = click.option(
    "--run",
    metavar="COMMAND",
    expose_value=False,
    callback=_in_session("runner"),
    help="What runs compiled programs, such as 'qemu-aarch64 -L /usr/aarch64-linux-gnu'; "
    "default: MORELLO_RUNNER.",
)

time_under_runner_option = click.option(
    "--time-under-runner",
    is_flag=True,
    expose_value=False,
    callback=_in_session("time_under_runner"),
    help="Time programs under a runner, too; an emulator's times say nothing of a processor.",
)


def machine_options(command: Command) -> Command:
    """The options that say where compiled code is built and run; `Session.machine` has them."""
    return _cc_option(_run_option(command))


define_option = click.option(
    "-D",
    "--define",
    "defines",
    metavar="NAME=INTEGER",
    multiple=True,
    callback=_defines,
    help="Set a parameter of the spec. May be repeated.",
)


memo_option = click.option(
    "--memo", metavar="PATH", help="The memo's file, instead of the user's own."
)

no_memo_option = click.option(
    "--no-memo", is_flag=True, help="Solve everything anew, and keep nothing on disk."
)


RESOURCE = "measure"
"""What workers that measure are begun with, unless the user says otherwise."""


def workers_option(described: str) -> Callable[[Command], Command]:
    """A scheduler, and which of its workers measure."""

    def both(command: Command) -> Command:
        return dask(on(command))

    dask = click.option("--dask", "address", metavar="ADDRESS", help=described)
    on = click.option(
        "--on",
        "resource",
        metavar="NAME",
        default=RESOURCE,
        show_default=True,
        help="With --dask: the resource of workers that measure, one call at a time.",
    )
    return both


def examples(*lines: str) -> str:
    """The end of a command's help: one example a line, not wrapped."""
    return "\n".join(("\b", "Examples:", *(f"  {line}" for line in lines)))


def spec_options(command: Command) -> Command:
    """The argument FILE and the options that choose what of it is compiled for which target."""
    decorators = (
        click.argument("file", metavar="FILE"),
        click.option(
            "-t",
            "--target",
            metavar="NAME",
            help="Target, or native: the best for this machine; default: what FILE says.",
        ),
        define_option,
        click.option("--spec", metavar="NAME", help="Which spec of FILE, if it has several."),
        local_options,
        budget_option,
        memo_option,
        no_memo_option,
    )
    for decorator in reversed(decorators):
        command = decorator(command)
    return command
