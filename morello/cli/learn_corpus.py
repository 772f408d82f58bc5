"""``morello learn collect``, ``merge`` and ``check``: a corpus is filled, united, tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TypeVar

import click
from platformdirs import user_data_path

from morello.checking.goal_list import ListedGoal
from morello.cli.dask import with_dask
from morello.cli.goals import goals_of_lists, goals_of_plugins
from morello.cli.options import (
    examples,
    json_option,
    local_options,
    measured_target_option,
    workers_option,
)
from morello.cli.progress import ProgressBar
from morello.cli.request import chosen_target, definitions_for, local_sources
from morello.cli.session import Session
from morello.definitions import Definitions
from morello.errors import MorelloError
from morello.filling.work import setting_of
from morello.learning.collect import PROGRAMS, Collected
from morello.learning.collect import collect as collect_programs
from morello.learning.corpus import Group, groups_in, write_group
from morello.learning.dataset import FEWEST
from morello.learning.merging import Replayed, refreshed, replayed
from morello.learning.merging import merge as merge_corpora
from morello.search.search import Progress

Command = TypeVar("Command", bound=Callable[..., object])


def default_corpus() -> Path:
    """Where a user's own corpus is."""
    return user_data_path("morello", appauthor=False) / "corpus"


def corpus_option(described: str) -> Callable[[Command], Command]:
    """The directory of a corpus."""
    return click.option(
        "-o",
        "--output",
        "directory",
        metavar="DIR",
        type=click.Path(path_type=Path),
        default=default_corpus,
        help=f"{described}; default: a directory of yours.",
    )


def empty(directory: Path) -> MorelloError:
    """A corpus has no groups."""
    help = "'morello learn collect' fills it"
    return MorelloError(f"there is nothing in '{directory}'", help=help)


@click.command(
    epilog=examples(
        "morello learn collect --minutes 60",
        "morello learn collect goals.toml -t NAME -o corpus/",
        "morello learn collect -t NAME --dask tcp://10.0.0.1:8786 --on measure",
    )
)
@click.argument("lists", metavar="[GOALS.toml]...", nargs=-1)
@measured_target_option
@corpus_option("Where the corpus is kept")
@click.option(
    "--minutes",
    type=click.FloatRange(min=0),
    help="Begin no other goal after so long; default: all.",
)
@click.option(
    "--programs",
    type=click.IntRange(2, 1000),
    default=PROGRAMS,
    show_default=True,
    help="How many of a goal to measure, at most.",
)
@click.option("--busy", is_flag=True, help="Measure even while the machine does other work.")
@click.option(
    "--no-verify",
    "verify",
    is_flag=True,
    flag_value=False,
    default=True,
    help="Measure programs without comparing them with the reference.",
)
@workers_option("Have workers of a scheduler measure.")
@local_options
@json_option
@click.pass_obj
def collect(
    session: Session,
    /,
    lists: Sequence[str],
    target: str,
    directory: Path,
    minutes: float | None,
    programs: int,
    busy: bool,
    verify: bool,
    address: str | None,
    resource: str,
) -> None:
    """Measure programs of many goals, and keep them.

    Goals are those of lists, or of the plugins where none is named. Each takes some ten seconds.
    What is there already is passed over, so that this can be interrupted and goes on later. Let the
    machine rest meanwhile.
    """
    definitions = definitions_for(session)
    chosen = chosen_target(definitions, target)
    goals = [g for g in _goals(definitions, lists) if not g.targets or chosen.name in g.targets]
    if not goals:
        help = "name a list of goals; those with 'targets' are for these alone"
        raise MorelloError(f"there are no goals for '{chosen.name}'", help=help)
    kept = refused = measured = 0
    seconds = None if minutes is None else 60 * minutes
    with ProgressBar(lambda: session.err) as progress, ExitStack() as stack:
        if address is None:
            each = collect_programs(
                definitions,
                chosen,
                goals,
                directory,
                progress,
                programs=programs,
                seconds=seconds,
                busy=busy,
                verify=verify,
            )
        else:
            remote = with_dask("morello.learning.remote")
            scheduler = stack.enter_context(closing(remote.Scheduler(address, resource)))
            setting = setting_of(definitions, local_sources(session), [chosen.name])
            batch = remote.Batch(
                setting, chosen.name, tuple(goals), frozenset(), programs, busy, verify
            )
            each = remote.collect_by_workers(scheduler, batch, directory, progress, seconds)
        for found in each:
            if found.group is None:
                refused += 1
                session.warn(f"{found.goal} is left out: {found.refused}")
            else:
                kept += 1
                measured += len(found.group.programs)
                session.say(_line(found))
    if session.json:
        session.document(
            {"corpus": str(directory), "goals": kept, "programs": measured, "left_out": refused}
        )
    session.say(f"{measured} programs of {kept} goals are new in {directory}")


def _goals(definitions: Definitions, lists: Sequence[str]) -> list[ListedGoal]:
    """The goals of lists that are named, else of those of the plugins."""
    return list(goals_of_lists(definitions, lists)) if lists else goals_of_plugins(definitions)


def _line(found: Collected) -> str:
    """A goal in one line: how much faster than the search's choice its fastest program is."""
    assert found.group is not None
    cycles = [program.cycles for program in found.group.programs]
    gain = cycles[0] / min(cycles) - 1
    return f"{found.goal}: {len(cycles)} programs, the fastest {gain:.1%} faster than the choice"


@click.command(epilog=examples("morello learn merge laptop/ server/ -o all/"))
@click.argument(
    "corpora", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@corpus_option("Where they are put together")
@json_option
@click.pass_obj
def merge(session: Session, /, corpora: Sequence[Path], directory: Path) -> None:
    """Put several corpora together.

    A goal that was measured in both, on the same machine, has the runs of both.
    """
    found = merge_corpora(corpora, directory)
    if session.json:
        session.document({"new": found.new, "longer": found.longer, "left_out": found.left_out})
    session.say(f"{found.new} goals are new, {found.longer} have more runs")
    if found.left_out:
        session.warn(f"{found.left_out} goals were left out: their programs are others")


@click.command(epilog=examples("morello learn check", "morello learn check corpus/"))
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--update",
    is_flag=True,
    help="Keep predictions and features as they are now; leave out programs that are not the same.",
)
@local_options
@json_option
@click.pass_obj
def check(session: Session, /, directory: Path | None, update: bool) -> None:
    """Make every program of a corpus again, and compare.

    Programs that are not the same any more were written with other rules, kernels or costs. What
    they took is still true.
    """
    definitions = definitions_for(session)
    place = directory or default_corpus()
    groups = list(groups_in(place))
    if not groups:
        raise empty(place)
    counts: Counter[str] = Counter()
    with ProgressBar(lambda: session.err) as progress:
        for number, group in enumerate(groups):
            progress(Progress(number, len(groups), str(group)))
            try:
                found = list(replayed(definitions, group))
            except MorelloError as error:  # of a plugin that is not here
                session.warn(f"{group} is left as it is: {error}")
                counts["other"] += len(group.programs)
                continue
            counts += _counted(session, group, found)
            if update:
                target = definitions.targets[group.target]
                coefficients = {n: c.value for n, c in target.every_coefficient.items()}
                _update(session, place, group, refreshed(group, found, coefficients))
    same, total = counts["same"], counts.total()
    if session.json:
        session.document({"goals": len(groups), "programs": total, "same": same})
    session.say(f"{same} of {total} programs of {len(groups)} goals are made again, the same")
    if same < total and not update:
        raise click.exceptions.Exit(1)


def _update(session: Session, place: Path, before: Group, now: Group) -> None:
    """Write a group anew; one of which too little is left is measured again some time."""
    if len(now.programs) < min(FEWEST, len(before.programs)):
        (place / before.file).unlink(missing_ok=True)
        session.warn(f"{before} is removed: 'morello learn collect' measures it again")
    else:
        write_group(place, now)


def _counted(session: Session, group: Group, found: Sequence[Replayed]) -> Counter[str]:
    refused = next((one.refused for one in found if one.refused is not None), None)
    others = sum(not one.same for one in found)
    if refused is not None:
        session.warn(f"{group}: {others} of {len(found)} programs differ: {refused}")
    elif others:
        session.warn(f"{group}: {others} of {len(found)} programs have other C code")
    return Counter(same=len(found) - others, other=others)
