"""``morello compile``: from a spec to a C file and a header."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from morello.arguments import AFFINE, LEARNED
from morello.cli.dask import with_dask
from morello.cli.measured import measured_document, measured_text, show_measurements
from morello.cli.options import (
    examples,
    json_option,
    machine_options,
    spec_options,
    time_under_runner_option,
    workers_option,
)
from morello.cli.outputs import (
    check_outputs,
    marked,
    measured_path,
    output_paths,
    write_together,
)
from morello.cli.request import (
    Request,
    compile_request_any_size,
    compile_request_for,
    local_sources,
    statistics_json,
    statistics_text,
    tune_request,
)
from morello.cli.session import Session
from morello.codegen.generate import MOST_DRAWN, MOST_PROGRAMS
from morello.errors import MorelloError, UsageError
from morello.kernel import Kernel, MultiTargetKernel
from morello.report.documents import Document

if TYPE_CHECKING:
    from morello.any_size import AnySizeKernel
    from morello.learning.tuning import Tuned
    from morello.runtime.contests import Contest
    from morello.verify.program import VerificationReport


UNNAMED = ".morello-unnamed"
"""Stands for a function's name that is not known yet: no file is called so."""


@click.command(
    "compile",
    epilog=examples(
        "morello compile matmul.mspec",
        "morello compile matmul.mspec -D M=100 -D N=64 -o build/ --verify",
        "morello compile matmul.mspec -t native --measure 8",
        "morello compile matmul.mspec -t native --measure 8 --from 256",
        "morello compile matmul.mspec -t NAME --measure 8 --dask tcp://10.0.0.1:8786",
        "morello compile matmul.mspec -t native --tune",
        "morello compile matmul.mspec -t NAME,NAME,NAME",
        "morello compile matmul.mspec -D M=8 --name matmul_8",
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
@click.option(
    "--name",
    metavar="NAME",
    help="Name of the C function, and of the files where -o names none; default: the spec's.",
)
@click.option(
    "--verify",
    is_flag=True,
    help="Run the program and compare it with the reference; of a large one, a sample.",
)
@click.option(
    "--measure",
    metavar="COUNT",
    type=click.IntRange(1, MOST_PROGRAMS),
    help="Build, verify and time this many of the cheapest programs; the fastest is written, and "
    "NAME.measured.json with what was measured.",
)
@click.option(
    "--from",
    "pool",
    metavar="COUNT",
    type=click.IntRange(1, MOST_DRAWN),
    help="Measure programs of different kinds, taken from this many plans that are drawn: what "
    "would be best if the costs of the target were wrong. What the first took says which are next.",
)
@click.option(
    "--rank",
    type=click.Choice([AFFINE, LEARNED]),
    help="What ranks programs: the costs of the target, or what was learned on this machine.",
)
@click.option(
    "--tune",
    is_flag=True,
    help="Measure programs of different kinds, with the help of a learned model if there is one, "
    "and take the fastest. It is kept beside the memo, and taken at once the next time.",
)
@click.option("--again", is_flag=True, help="With --tune: measure what is known already.")
@machine_options
@time_under_runner_option
@workers_option("Have a worker of a scheduler measure, on the processor that counts.")
@click.option("--annotate", is_flag=True, help="Name the file and line of each rule in the C code.")
@click.option("--force", is_flag=True, help="Overwrite files that were not generated.")
@json_option
@click.pass_obj
def compile_(
    session: Session,
    /,
    output: str | None,
    name: str | None,
    verify: bool,
    measure: int | None,
    pool: int | None,
    rank: str | None,
    tune: bool,
    again: bool,
    address: str | None,
    resource: str,
    annotate: bool,
    force: bool,
    **request: Any,
) -> None:
    """Compile a spec to NAME.c and NAME.h.

    FILE is a .mspec file, or - for the standard input. Nothing is written unless all went well,
    and no file is overwritten that this program did not generate.

    A spec with a size that calls bring, such as M <= 512, gives one function for all its values.

    Several targets, with commas between them, give one function, which looks once at the processor
    and calls the best of them.
    """
    _check_options(tune=tune, again=again, measure=measure, pool=pool, rank=rank, address=address)

    def check_places(expected: str | None) -> list[Path]:
        """The files of a function of this name; an unknown name still has a directory."""
        places = [*output_paths(expected or UNNAMED, output)]
        if measure is not None:
            places.append(measured_path(places[0]))
        check_outputs(places, force=force)
        return places

    asked = Request(**request)
    targets = asked.target.split(",") if asked.target else []
    if len(targets) > 1:
        if measure is not None:
            raise UsageError("--measure is for one target", help="name one: -t native")
        if rank is not None or tune:
            option = "--tune" if tune else "--rank"
            raise UsageError(f"{option} is for one target", help="name one: -t native")
        several = compile_request_for(
            session, asked, targets, annotate=annotate, name=name, before=check_places
        )
        _write_several(session, several, check_places(several.name), verify=verify)
        return
    tuned = None
    if tune:
        tuned = tune_request(
            session, asked, annotate=annotate, name=name, again=again, before=check_places
        )
        kernel = tuned.kernel
    else:
        with _contest(session, address, resource) as contest:
            found = compile_request_any_size(
                session,
                asked,
                annotate=annotate,
                measure=measure,
                pool=pool,
                rank=rank,
                contest=contest,
                name=name,
                before=check_places,
            )
        if not isinstance(found, Kernel):
            _write_any_size(session, found, check_places(found.name), verify=verify)
            return
        kernel = found
    places = check_places(kernel.name)  # what writes C may have changed the name
    contents = [marked(kernel.source), marked(kernel.header)]
    measured = measured_document(kernel) if measure is not None else None
    if measured is not None:
        contents.append(measured_text(measured))
    texts = dict(zip(places, contents, strict=True))
    if verify and measured is None:  # what was measured was verified
        kernel.verify()  # a program that is wrong is not written
    write_together(texts)
    known = _known(kernel, kernel.verification)
    if session.json:
        _document(session, kernel, list(texts), known, measured, tuned)
        return
    if measure is not None:
        show_measurements(session, kernel, measure)
    _summary(session, kernel, list(texts), known)
    if tuned is not None:
        session.say(_gain(tuned))


def _gain(tuned: Tuned) -> str:
    """What tuning has gained, in a line."""
    known = "as is known" if tuned.known else "and that is kept"
    return (
        f"tuned: {tuned.gain:.2f} times as fast as the first choice, "
        f"the fastest of {tuned.programs} programs, {known}"
    )


def _check_options(
    *,
    tune: bool,
    again: bool,
    measure: int | None,
    pool: int | None,
    rank: str | None,
    address: str | None,
) -> None:
    """Refuse options that make no sense together.

    Raises:
        UsageError: These make none.
    """
    if pool is not None and measure is None and rank != LEARNED:
        raise UsageError("--from needs --measure", help="say how many to time: --measure 8")

    given = {"--measure": measure, "--from": pool, "--rank": rank, "--dask": address}
    chosen = next((option for option, value in given.items() if value is not None), None)
    if tune and chosen is not None:
        raise UsageError(f"--tune chooses by itself what {chosen} says", help="leave one out")
    if again and not tune:
        raise UsageError("--again is for --tune", help="add --tune")
    if address is not None and measure is None:
        raise UsageError("--dask needs --measure", help="say how many to time: --measure 8")


@contextmanager
def _contest(
    session: Session, address: str | None, resource: str
) -> Iterator[Contest[VerificationReport] | None]:
    """Who measures, where it is not this machine."""
    if address is None:
        yield None
        return
    if session.machine is not None:
        raise UsageError(
            "a worker has its own compiler and runs programs itself",
            help="leave out the options that name a compiler or a runner, or --dask",
        )
    remote = with_dask("morello.learning.contest")
    with closing(remote.Scheduler(address, resource)) as scheduler:
        yield remote.WorkerContest(scheduler, resource, local_sources(session))


class _Known(Struct, frozen=True):
    """What is known of a program that was written. ``reason``: of what was not verified, why."""

    report: VerificationReport | None
    reason: str | None = None

    def __str__(self) -> str:
        if self.report is None:
            return f"not verified: {self.reason}"
        return f"verified: {self.report}"

    def to_json(self) -> Document:
        """For tools; elements are counted over all kinds of inputs."""
        if self.report is None:
            return {"verified": False, "verification": {"reason": self.reason}}
        report = self.report
        details: Document = {"kinds": list(report.kinds), "elements": report.total}
        details |= {"compared": report.elements, "sample": report.sampled}
        return {"verified": True, "verification": details}


def _known(kernel: Kernel, report: VerificationReport | None, *, tried: bool = False) -> _Known:
    """What the verification found, or what it takes to have one.

    ``tried``: it was asked for, and left out what its machine cannot run.
    """
    if report is not None:
        return _Known(report)
    source, advice = kernel.c_source, "add --verify to run it against the reference"
    try:
        machine = kernel.machine
        if not machine.is_here and not tried:
            return _Known(None, f"{advice} under {machine}")
        lacking = machine.lacks(source.flags, source.features)
    except MorelloError:  # nobody to ask
        lacking = []
    if lacking:
        names, who = ", ".join(lacking), "this processor" if machine.is_here else str(machine)
        advice = f"{who} lacks {names}; add --verify on one that has them, or --run"
    return _Known(None, advice)


def _document(
    session: Session,
    kernel: Kernel,
    paths: Sequence[Path],
    known: _Known,
    measured: Document | None,
    tuned: Tuned | None,
) -> None:
    document: Document = {
        "name": kernel.name,
        "target": kernel.program.target.name,
        "files": [str(path) for path in paths],
        "cycles": kernel.cost,
        **known.to_json(),
        **statistics_json(kernel),
    }
    if kernel.ranking is not None:
        document["ranking"] = kernel.ranking.to_json()
    if tuned is not None:
        told = {"gain": tuned.gain, "programs": tuned.programs, "known": tuned.known}
        document["tuned"] = told
    session.document(document if measured is None else {**document, "measured": measured})


def _summary(session: Session, kernel: Kernel, paths: Sequence[Path], known: _Known) -> None:
    *first, last = map(str, paths)
    session.say(f"wrote {', '.join(first)} and {last}")
    session.say(f"predicted: {kernel.cost:,.0f} cycles on {kernel.program.target.name}")
    session.say(statistics_text(kernel))
    if kernel.ranking is not None:
        session.say(f"the model {kernel.ranking.digest}: {kernel.ranking}")
    session.say(str(known))


def _write_any_size(
    session: Session, kernel: AnySizeKernel, paths: Sequence[Path], *, verify: bool
) -> None:
    """Verify and write a function for any size, and say what it is made of."""
    found = kernel.verify() if verify else {}  # a program that is wrong is not written
    contents = (marked(kernel.source), marked(kernel.header))
    write_together(dict(zip(paths, contents, strict=True)))
    size, blocks = kernel.size, kernel.kernels
    if session.json:
        rows = [{"size": n, "cycles": k.cost, **statistics_json(k)} for n, k in blocks.items()]
        document: Document = {
            "name": kernel.name,
            "files": [str(path) for path in paths],
            "size": {"name": size.name, "limit": size.limit},
            "blocks": rows,
            "loss": kernel.loss,
            "verified": list(found),
        }
        session.document(document)
        return
    *first, last = map(str, paths)
    session.say(f"wrote {', '.join(first)} and {last}, for {size.name} from 1 to {size.limit}")
    for n, own in blocks.items():
        session.say(f"blocks of {n}: {own.cost:,.0f} cycles predicted; {statistics_text(own)}")
    session.say(
        f"predicted: {kernel.loss:.1%} more cycles than with blocks of all sizes that were "
        f"searched, in the mean of all {size.name}"
    )
    listed = ", ".join(map(str, found))
    session.say(
        f"verified: equal to the reference where {size.name} is {listed}"
        if found
        else "not verified: add --verify to run it against the reference"
    )


def _write_several(
    session: Session, several: MultiTargetKernel, paths: Sequence[Path], *, verify: bool
) -> None:
    """Verify and write what is for several targets, and say what is known of each."""
    if verify:
        several.verify()  # a program that is wrong is not written
    contents = (marked(several.source), marked(several.header))
    write_together(dict(zip(paths, contents, strict=True)))
    known = {
        target: _known(kernel, several.verification.get(target), tried=verify)
        for target, kernel in several.kernels.items()
    }
    if session.json:
        rows = [
            {"target": n, "cycles": k.cost, **known[n].to_json(), **statistics_json(k)}
            for n, k in several.kernels.items()
        ]
        files = [str(path) for path in paths]
        session.document({"name": several.name, "files": files, "targets": rows})
        return
    *first, last = map(str, paths)
    session.say(f"wrote {', '.join(first)} and {last}, for the best that the processor can run of:")
    for name, kernel in several.kernels.items():
        session.say(f"{name}: {kernel.cost:,.0f} cycles predicted; {statistics_text(kernel)}")
        session.say(f"  {known[name]}")
