"""What ``morello check --execute`` did: which rules and kernels were executed, on which shapes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from morello.cli.session import Session
from morello.cli.tables import Row, place_of, show_table
from morello.report.documents import Document
from morello.verify.declared import Verdict
from morello.verify.tried import Tried

COLUMNS = ("executed", "result", "instances", "shapes", "on", "types", "sizes")

SHOWN = 3
"""Operations and lists of types that are shown of each; the JSON document has all shapes."""

MOST_SIZES = 12
"""Sizes that are shown one by one."""


def show_executed(session: Session, verdicts: Sequence[Verdict]) -> None:
    """A table with a line for each rule and kernel."""
    show_table(session, "executed", COLUMNS, [_row(verdict) for verdict in verdicts])


def unexecuted(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """What was not executed, in a sentence for each reason."""
    by_reason: dict[str, list[str]] = {}
    for verdict in verdicts:
        if verdict.untried:
            by_reason.setdefault(verdict.untried, []).append(verdict.what)
    for reason, names in by_reason.items():
        yield f"{_some(names)} {'was' if len(names) == 1 else 'were'} not executed: {reason}"


def executed_json(verdicts: Iterable[Verdict]) -> list[Document]:
    """The same for tools, with every shape."""
    return [
        {
            "kind": verdict.kind,
            "name": verdict.name,
            "file": verdict.span.source.name,
            "line": verdict.span.line,
            "result": _result(verdict),
            "why": verdict.untried,
            "instances": verdict.instances,
            "shapes": [
                {
                    "target": shape.target,
                    "operation": shape.operation,
                    "dtypes": list(shape.dtypes),
                    "sizes": dict(shape.sizes),
                    "instances": shape.instances,
                }
                for shape in verdict.tried
            ],
        }
        for verdict in verdicts
    ]


def _row(verdict: Verdict) -> Row:
    tried = verdict.tried
    return {
        "executed": f"{verdict.what} ({place_of(verdict.span)})",
        "result": _result(verdict),
        "instances": verdict.instances,
        "shapes": len({(shape.operation, shape.sizes) for shape in tried}),
        "on": _some(dict.fromkeys(shape.operation for shape in tried)),
        "types": _some(dict.fromkeys(" ".join(shape.dtypes) for shape in tried)),
        "sizes": _sizes(tried),
    }


def _result(verdict: Verdict) -> str:
    if verdict.error is not None:
        return "wrong"
    return "not executed" if verdict.untried else "equal"


def _some(texts: Iterable[str]) -> str:
    """The first ones, and how many there are besides."""
    found = list(texts)
    more = len(found) - SHOWN
    return ", ".join([*found[:SHOWN], *([f"{more} more"] if more > 0 else [])])


def _sizes(tried: Sequence[Tried]) -> str:
    """Sizes of each dimension, where all have the same; else of all dimensions together."""
    dims = {tuple(name for name, _ in shape.sizes) for shape in tried}
    sizes: dict[str, set[int]] = {}
    for shape in tried:
        for name, size in shape.sizes:
            sizes.setdefault(name if len(dims) == 1 else "", set()).add(size)
    return "; ".join(f"{name} {_listed(sorted(some))}".strip() for name, some in sizes.items())


def _listed(sizes: Sequence[int]) -> str:
    if len(sizes) > MOST_SIZES:
        return f"{sizes[0]} to {sizes[-1]}"
    return " ".join(map(str, sizes))
