"""``morello learn train`` and ``evaluate``: a model of a corpus, and what it is worth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from morello.cli.learn_corpus import default_corpus, empty
from morello.cli.options import examples, json_option
from morello.cli.pictures import drawing, picture_path
from morello.cli.progress import ProgressBar
from morello.cli.session import Session
from morello.cli.tables import show_table
from morello.errors import MorelloError, UsageError
from morello.learning.corpus import Group, groups_in
from morello.learning.evaluation import SPLITS, SURE, Evaluation
from morello.learning.evaluation import evaluate as evaluate_splits
from morello.learning.training import LEARNERS, installed_learners
from morello.learning.training import train as train_model
from morello.ranking.models import model_path
from morello.records import replace
from morello.resources import processor_model, write_whole

MACHINE = "machine"
"""The split by processor, which alone has goals of several."""

COLUMNS = (
    "method",
    "tau",
    "first",
    "median",
    "worst",
    "five",
    "eight",
    "eight, worst",
    "error",
    "worse",
    "better",
    "fusion",
    "tiles",
)

corpus_argument = click.argument(
    "directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path)
)
learner_option = click.option(
    "--learner",
    "learners",
    multiple=True,
    type=click.Choice(list(LEARNERS)),
    help="Boosted trees, or graph networks, which take minutes. May be repeated; default: those "
    "whose library is installed.",
)
target_option = click.option(
    "-t", "--target", metavar="NAME", help="Of which target; default: that with the most goals."
)


@click.command(epilog=examples("morello learn train", "morello learn train corpus/ -o mine.npz"))
@corpus_argument
@target_option
@learner_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Where to keep it, instead of your own place.",
)
@click.option("--force", is_flag=True, help="Keep it even if it is no better than the cost model.")
@json_option
@click.pass_obj
def train(
    session: Session,
    /,
    directory: Path | None,
    target: str | None,
    learners: tuple[str, ...],
    output: Path | None,
    force: bool,
) -> None:
    """Train a model of a corpus.

    It is judged first: trained on some goals, it chooses among the programs of the others. Of
    several learners the better one is kept. What is not better than the cost model for sure is not.
    """
    groups = _of_a_processor(session, _groups(directory or default_corpus(), target))
    path = output or model_path(groups[0].target)
    if path is None:
        raise UsageError("models are switched off", help="name a file with -o")
    if output is None and groups[0].processor != processor_model():
        raise UsageError(
            f"the corpus was measured on another processor: {groups[0].processor}",
            help="name a file with -o",
        )
    if not path.name or path.is_dir():
        raise UsageError(f"'{path}' is a directory", help="name a file in it")
    known = learners or installed_learners()
    with ProgressBar(lambda: session.err) as bar:
        found = evaluate_splits(groups, "goal", known, bar)
    learner = min(known, key=lambda name: found.mean(name + SURE, "first"))
    sure = learner + SURE
    low, high = found.gained(sure)
    if low <= 0 and not force:
        raise MorelloError(
            f"the model is not better than the cost model for sure: by {low:.1%} to {high:.1%}, on "
            f"{len(found.goals)} goals that it had not seen",
            help="collect more goals with 'morello learn collect', or keep it anyway with --force",
        )
    model = train_model(groups, learner)
    policy = {name: round(value, 4) for name, value in found.row(sure).items()}
    model = replace(model, about=replace(model.about, evaluation=policy))
    _write(path, model.bytes)
    if session.json:
        document = {"path": str(path), "learner": learner, "model": model.digest}
        session.document({**document, "evaluation": policy})
    worth = f"faster by {low:.1%} to {high:.1%} of the fastest program's time"
    worth = worth if low > 0 else f"not {worth} for sure"
    seen = f"{model.about.programs} programs of {model.about.goals} goals"
    session.say(f"{seen}, {learner}: what it chooses is {worth}")
    session.say(f"wrote {path}")


def _write(path: Path, contents: bytes, option: str = "-o") -> None:
    try:
        write_whole(path, contents)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise MorelloError(
            f"cannot write '{path}': {reason}", help=f"name another with {option}"
        ) from error


@click.command(
    epilog=examples("morello learn evaluate", "morello learn evaluate corpus/ --split operator")
)
@corpus_argument
@target_option
@learner_option
@click.option(
    "--split",
    "splits",
    multiple=True,
    type=click.Choice(list(SPLITS)),
    default=["goal"],
    show_default=True,
    help="What a model does not know: goals that are held out, goals at random, whole operators, "
    "the larger half, a machine. May be repeated.",
)
@click.option(
    "--picture",
    metavar="FILE",
    help="Also draw how far first choices are from the fastest programs: a .svg or .png file.",
)
@click.option("--force", is_flag=True, help="Overwrite FILE of --picture.")
@json_option
@click.pass_obj
def evaluate(
    session: Session,
    /,
    directory: Path | None,
    target: str | None,
    learners: tuple[str, ...],
    splits: tuple[str, ...],
    picture: str | None,
    force: bool,
) -> None:
    """Say how well a model ranks what it has not seen.

    Beside it: the cost model as it is (affine) and with its coefficients fitted anew (refit), the
    model where it is sure, and one run of the measurement (ceiling). "first" is how much slower the
    first choice is than the fastest program, in the mean; "five" the best of the first five;
    "eight" what measuring eight in rounds finds; "worse" and "better" are the shares of goals whose
    choice is 2% slower or faster than the cost model's; "fusion" is how often it is right about
    which of two programs is faster that fuse more and less, where that is 5%; "tiles" is "first"
    among programs of the same rules and kernels, with other sizes of tiles.
    """
    path = None if picture is None else picture_path(picture, force=force, option="--picture")
    draw = None if path is None else drawing(_draw)
    every = _groups(directory or default_corpus(), target)
    alone = _of_a_processor(session, every) if {*splits} - {MACHINE} else []
    known = learners or installed_learners()
    with ProgressBar(lambda: session.err) as bar:
        found = [evaluate_splits(every if s == MACHINE else alone, s, known, bar) for s in splits]
    if path is not None and draw is not None:
        _write(path, draw(found, path.suffix[1:]), "--picture")
        session.say(f"wrote {path}")
    if session.json:
        session.document({"splits": [_document(one) for one in found]})
        return
    for one in found:
        group = one.goals[0].group
        where = "" if one.split == MACHINE else f" on {group.processor}"
        session.say(f"by {one.split}: {len(one.goals)} goals, {group.target}{where}")
        show_table(session, "methods", COLUMNS, [_row(one, method) for method in one.judged])


def _draw() -> Callable[[Sequence[Evaluation], str], bytes]:
    from morello.learning.drawing import draw  # noqa: PLC0415

    return draw


def _row(found: Evaluation, method: str) -> dict[str, object]:
    row = found.row(method)
    shown: dict[str, object] = {"method": method, "tau": f"{row['tau']:.2f}"}
    return shown | {name: f"{value:.1%}" for name, value in row.items() if name != "tau"}


def _document(found: Evaluation) -> dict[str, object]:
    fields = ("tau", "first", "five", "eight", "error")
    methods = {
        m: {
            **found.row(m),
            "intervals": {what: list(found.interval(m, what)) for what in fields},
            "gained": list(found.gained(m)),
        }
        for m in found.judged
    }
    return {"split": found.split, "goals": len(found.goals), "methods": methods}


def _groups(directory: Path, target: str | None) -> list[Group]:
    """The groups of one target, each once."""
    groups = list({group.key: group for group in groups_in(directory)}.values())
    if not groups:
        raise empty(directory)
    known = Counter(group.target for group in groups)
    chosen = target or known.most_common(1)[0][0]
    if chosen not in known:
        told = ", ".join(sorted(known))
        raise MorelloError(f"'{directory}' has no goals for '{chosen}'", help=f"it has: {told}")
    return [group for group in groups if group.target == chosen]


def _of_a_processor(session: Session, groups: Sequence[Group]) -> list[Group]:
    """Those of this processor, or else of that which most are of."""
    processors = Counter(group.processor for group in groups)
    own = processor_model()
    processor = own if own in processors else processors.most_common(1)[0][0]
    kept = [group for group in groups if group.processor == processor]
    if len(kept) < len(groups):
        others = len(groups) - len(kept)
        session.warn(f"{others} goals that another processor measured are left out")
    return kept
