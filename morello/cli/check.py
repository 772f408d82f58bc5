"""``morello check``: every diagnostic of every file; on request what rules and kernels do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from morello.checking.kinds import counted
from morello.cli.executed import executed_json, show_executed, unexecuted
from morello.cli.options import (
    budget_option,
    define_option,
    examples,
    json_option,
    local_options,
    machine_options,
    memo_option,
    no_memo_option,
    targets_option,
)
from morello.cli.request import STDIN, definitions_for, read_source
from morello.cli.session import Session, diagnostic_json, error_json
from morello.cli.use import Wanted, count_uses
from morello.cli.used import show_used, used_json
from morello.definitions import Definitions, spec_errors
from morello.errors import MorelloError, UsageError
from morello.language.diagnostics import Diagnostic, DiagnosticsError
from morello.language.parse import parse_spec
from morello.language.source import Source
from morello.plugins import DEFINITION_SUFFIXES
from morello.report.documents import Document
from morello.verify.declared import Verdict, verify_declared

SPEC_SUFFIX = ".mspec"

ALLOWED = "nobody knows whether it is right; '--allow-unexecuted' accepts that"


class _Findings:
    """Errors of all files. Diagnostics are sorted by place in the end; others come first."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.others: list[MorelloError] = []
        self.help = ""

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Keep the error that the block ends with, if any."""
        try:
            yield
        except DiagnosticsError as error:
            self.diagnostics += error.diagnostics
            self.help = self.help or error.help
        except MorelloError as error:
            self.others.append(error)

    def errors(self) -> list[MorelloError]:
        """All of them, without duplicates."""
        if not self.diagnostics:
            return self.others
        return [*self.others, DiagnosticsError(self.diagnostics, help=self.help)]

    @property
    def count(self) -> int:
        return len(self.others) + len(set(self.diagnostics))


@click.command(
    epilog=examples(
        "morello check matmul.mspec",
        "morello check rules/*.mrules targets/*/*.mtarget examples/*.mspec",
        "morello check --json mine.mrules",
        "morello check --execute mine.mrules mine.mtarget",
        "morello check --use mine.mrules mine.mspec",
        "morello check --use mine.mtarget",
        "morello check --use examples/*.mspec -t NAME -t OTHER --budget '2 s'",
        "morello check model.mspec --rules mine.mrules",
    )
)
@click.argument("files", metavar="FILES...", nargs=-1, required=True)
@click.option(
    "--execute",
    is_flag=True,
    help="Also execute the rules and kernels of the files, and compare with the reference.",
)
@click.option(
    "--allow-unexecuted",
    is_flag=True,
    help="For --execute: what cannot be executed here is a warning, and no error.",
)
@click.option(
    "--use",
    is_flag=True,
    help="Also compile the specs of the files, or the plugins' for calibration if there are none; "
    "count where the rules and kernels of the files, or all if there are none, fire and win.",
)
@targets_option(
    "For --use: a target, or native. May be repeated. Default: what the specs say, "
    "then what the kernels are for, then native."
)
@define_option
@local_options
@machine_options
@budget_option
@memo_option
@no_memo_option
@json_option
@click.pass_context
def check(
    context: click.Context,
    /,
    files: Sequence[str],
    execute: bool,
    allow_unexecuted: bool,
    use: bool,
    **options: Any,
) -> None:
    """Report every error in files.

    Definitions are checked together with those that are installed or named by options, specs
    against all of them. A file - is a spec on the standard input. The exit status is 1 if there is
    any error.

    With --execute, what a rule or kernel does is compared with what it is to do, and the shapes
    that were tried are shown. What was not executed is an error too: no size that was tried passes
    its guards, the machine lacks its instructions and no runner is named, there is no C compiler
    for it, or that refuses it. With --use, specs
    are compiled: a rule or kernel fires in a spec if it applies somewhere in its search, and wins
    if the program has it. What is of no use is a note, and no error.
    """
    session: Session = context.obj
    wanted = Wanted(**options)
    if not use and (wanted.targets or wanted.budget or wanted.memo or wanted.no_memo):
        raise UsageError(
            "nothing is to be compiled: --target, --budget, --memo and --no-memo belong to --use",
            help="add --use, or leave them out",
        )
    if allow_unexecuted and not execute:
        raise UsageError(
            "nothing is to be executed: --allow-unexecuted belongs to --execute",
            help="add --execute, or leave it out",
        )
    findings = _Findings()
    sources = list(_read(files, findings))
    definitions = _check(session, sources, wanted.defines, findings)
    document: Document = {}
    if execute and definitions is not None and not findings.count:
        document |= _execute(session, definitions, sources, findings, allow=allow_unexecuted)
    if use and definitions is not None and not findings.count:
        document |= _use(session, definitions, sources, wanted, findings)
    for error in findings.errors():
        session.report(error, closing_line=False)
    if findings.count:
        session.closing_line(findings.count)
    else:
        told = document.get("notes")
        noted = len(told) if isinstance(told, list) else 0
        notes = f", {noted} note{'' if noted == 1 else 's'}" if noted else ""
        session.say(f"checked {len(files)} file{'' if len(files) == 1 else 's'}: no errors{notes}")
    if session.json:
        errors = [item for error in findings.errors() for item in error_json(error)]
        old = [] if definitions is None else [diagnostic_json(w) for w in definitions.warnings]
        session.document({"files": list(files), "errors": errors, "warnings": old, **document})
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
    session: Session,
    definitions: Definitions,
    sources: Sequence[Source],
    findings: _Findings,
    *,
    allow: bool,
) -> Document:
    """Both sides of the rules, and the kernels, on small sizes; what of it is for tools."""
    verdicts: list[Verdict] = []
    with session.err.status("executing rules and kernels") as status, findings.collect():
        for verdict in verify_declared(definitions, sources, session.machine):
            verdicts.append(verdict)
            status.update(f"executing rules and kernels: {len(verdicts)} done, {verdict.what}")
    for verdict in verdicts:
        if verdict.error is not None:
            findings.others.append(verdict.error)
    for message in unexecuted(verdicts):
        if allow:
            session.warn(message)
        else:
            findings.others.append(MorelloError(message, help=ALLOWED))
    if verdicts and not session.json:
        show_executed(session, verdicts)
    executed = [v for v in verdicts if not v.untried]
    instances = sum(v.instances for v in executed)
    if not findings.count:
        kinds = [verdict.kind for verdict in executed]
        what = [counted(kinds.count(kind), kind) for kind in ("rule", "kernel") if kind in kinds]
        named = " and ".join(what) or "nothing"
        session.say(f"executed {named} on {counted(instances, 'instance')}")
    return {"executed": executed_json(verdicts), "allow_unexecuted": allow}


def _use(
    session: Session,
    definitions: Definitions,
    sources: Sequence[Source],
    wanted: Wanted,
    findings: _Findings,
) -> Document:
    """Where rules and kernels fire and win; what of it is for tools."""
    with findings.collect():
        used = count_uses(session, definitions, sources, wanted)
        if not session.json:
            show_used(session, used)
        return {"use": used_json(used), "notes": [diagnostic_json(note) for note in used.notes]}
    return {}
