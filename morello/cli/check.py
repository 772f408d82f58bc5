"""``morello check``: every diagnostic of every file, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from morello.cli.options import define_option, examples, json_option, local_options
from morello.cli.request import STDIN, definitions_for, read_source
from morello.cli.session import Session, error_json
from morello.definitions import Definitions, spec_errors
from morello.errors import MorelloError
from morello.language.diagnostics import Diagnostic, DiagnosticsError
from morello.language.parse import parse_spec
from morello.language.source import Source
from morello.plugins import DEFINITION_SUFFIXES
from morello.verify.declared import Verdict, verify_declared

SPEC_SUFFIX = ".mspec"


class _Findings:
    """Errors of all files. Diagnostics are sorted by place in the end; others come first."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.others: list[MorelloError] = []

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Keep the error that the block ends with, if any."""
        try:
            yield
        except DiagnosticsError as error:
            self.diagnostics += error.diagnostics
        except MorelloError as error:
            self.others.append(error)

    def errors(self) -> list[MorelloError]:
        """All of them, without duplicates."""
        sorted_ones = [DiagnosticsError(self.diagnostics)] if self.diagnostics else []
        return [*self.others, *sorted_ones]

    @property
    def count(self) -> int:
        return len(self.others) + len(set(self.diagnostics))


@click.command(
    epilog=examples(
        "morello check matmul.mspec",
        "morello check rules/*.mrules targets/*/*.mtarget examples/*.mspec",
        "morello check --json mine.mrules",
        "morello check --execute mine.mrules mine.mtarget",
        "morello check model.mspec --rules mine.mrules",
    )
)
@click.argument("files", metavar="FILES...", nargs=-1, required=True)
@click.option(
    "--execute",
    is_flag=True,
    help="Also execute the rules and kernels of the files, and compare with the reference.",
)
@define_option
@local_options
@json_option
@click.pass_context
def check(
    context: click.Context, files: Sequence[str], execute: bool, defines: Mapping[str, int]
) -> None:
    """Report every error in files.

    Definitions are checked together with those that are installed or named by options, specs
    against all of them. A file - is a spec on the standard input. The exit status is 1 if there is
    any error.
    """
    session: Session = context.obj
    findings = _Findings()
    sources = list(_read(files, findings))
    definitions = _check(session, sources, defines, findings)
    if execute and definitions is not None and not findings.count:
        _execute(session, definitions, sources, findings)
    for error in findings.errors():
        session.report(error, closing_line=False)
    if findings.count:
        session.closing_line(findings.count)
    else:
        session.say(f"checked {len(files)} file{'' if len(files) == 1 else 's'}: no errors")
    if session.json:
        errors = [item for error in findings.errors() for item in error_json(error)]
        session.document({"files": list(files), "errors": errors})
    context.exit(1 if findings.count else 0)


def _read(files: Sequence[str], findings: _Findings) -> Iterator[Source]:
    known = (SPEC_SUFFIX, *DEFINITION_SUFFIXES)
    for file in files:
        with findings.collect():
            if file != STDIN and Path(file).suffix not in known:
                raise MorelloError(
                    f"'{file}' is of no kind that can be checked",
                    help=f"names end in one of: {', '.join(known)}",
                )
            yield read_source(file)


def _check(
    session: Session, sources: Sequence[Source], defines: Mapping[str, int], findings: _Findings
) -> Definitions | None:
    """Check what could be read. Without sound definitions, specs are only parsed."""
    extra = [source for source in sources if source.name.endswith(DEFINITION_SUFFIXES)]
    definitions: Definitions | None = None
    with findings.collect():
        definitions = definitions_for(session, extra)
    for source in sources:
        if source in extra:
            continue
        with findings.collect():
            file = parse_spec(source)
            if definitions is not None:
                findings.diagnostics += spec_errors(file, definitions, defines)
    return definitions


def _execute(
    session: Session, definitions: Definitions, sources: Sequence[Source], findings: _Findings
) -> None:
    """Both sides of the rules, and the kernels, on small sizes."""
    verdicts: list[Verdict] = []
    with session.err.status("executing rules and kernels"), findings.collect():
        verdicts += verify_declared(definitions, sources)
    for verdict in verdicts:
        if verdict.error is not None:
            findings.others.append(verdict.error)
        if verdict.untried:
            session.warn(f"{verdict.what} was not executed: {verdict.untried}")
    executed = [v for v in verdicts if not v.untried]
    instances = sum(v.instances for v in executed)
    if not findings.count:
        session.say(f"executed {len(executed)} rules and kernels on {instances} instances")
