"""``morello explain``: the plan of a spec and what it costs, or what refused it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import click

from morello.arguments import AFFINE, LEARNED
from morello.cli.explain_text import show_explanation, show_ranking, show_reasons
from morello.cli.memos import memo_with_pages
from morello.cli.options import examples, json_option, spec_options
from morello.cli.outputs import origin, refuse_foreign, write_together
from morello.cli.request import Request, compile_request, statistics_json, statistics_text
from morello.cli.session import Session
from morello.cli.tables import Row
from morello.codegen.goals import title
from morello.errors import MorelloError, UsageError
from morello.kernel import Kernel
from morello.memo.memo import Memo
from morello.memo.pages import Pages
from morello.report.alternatives import Beginning, Why
from morello.report.documents import Part
from morello.report.explain.document import Explanation

MAIN_COSTS = 3
"""Coefficients that are shown of each alternative; the JSON document has all."""


@click.command(
    epilog=examples(
        "morello explain matmul.mspec -D M=100",
        "morello explain matmul.mspec --why 3",
        "morello explain matmul.mspec --html matmul.html",
        "morello explain matmul.mspec --target NAME --json",
    )
)
@spec_options
@click.option(
    "--why",
    metavar="LINE",
    type=click.IntRange(min=1),
    default=1,
    help="Line of the plan whose alternatives and refusals are shown; the first by default.",
)
@click.option(
    "--html",
    metavar="FILE",
    help="Write a page instead: the tree, costs, memory, limits, decisions, boxes of the memo.",
)
@click.option("--force", is_flag=True, help="Overwrite FILE of --html, whoever wrote it.")
@click.option(
    "--rank",
    type=click.Choice([AFFINE, LEARNED]),
    help="With 'learned', also show how this machine's model ranks plans, and what moved it. The "
    "plan is the one that it chooses.",
)
@json_option
@click.pass_obj
def explain(
    session: Session,
    /,
    why: int,
    html: str | None,
    force: bool,
    rank: str | None,
    **request: Any,
) -> None:
    """Show the plan of a spec, its costs and its alternatives.

    Each line of the plan: its predicted cycles in a whole call, their share, the share that it has
    without those below it and what most of that is, the memory in use of each level with a
    limit, and how much the next best first step would cost. Then cycles by coefficient, the
    limits of the target, and of one line all that could be done instead and what refused.

    Where nothing implements the spec, the guards and limits that refused are shown instead, with
    their numbers.

    The page of --html is one file that needs no other and no network. It has all that the JSON
    document has: of every decision the best alternatives and the refusals.

    A spec with several outputs has a tree for each computation, one after the other. In the JSON
    document these are the children of a node of the kind "sequence", and say what they compute.
    """
    path = None if html is None else _page_path(html, force)
    with _memo(session, request, pages=session.json or path is not None) as memo:
        kernel = compile_request(session, Request(**request), memo=memo, rank=rank)
        explanation = Explanation(kernel.name, title(kernel.goal), kernel.plan)
        line = _line(explanation, why)
        reasons = explanation.decision_of[line].why
        if not session.json and path is None:
            _show(session, kernel, explanation, reasons, line)
            return
        assert memo is not None
        assert memo.store is not None
        document = explanation.document(Pages(memo.store)) | statistics_json(kernel)
        if kernel.ranking is not None:
            document["ranking"] = kernel.ranking.to_json()
        if path is not None:
            _write(session, path, document, force)
        if session.json:
            session.document(document | _why(reasons))


def _line(explanation: Explanation, why: int) -> int:
    count = len(explanation.lines)
    if why > count:
        raise UsageError(
            f"there is no line {why}: the plan has {count}", help=f"choose 1 to {count}"
        )
    return why


def _memo(
    session: Session, request: dict[str, Any], *, pages: bool
) -> AbstractContextManager[Memo | None]:
    """The memo, if boxes are to be told of; otherwise the one that compiling opens."""
    if not pages:
        return nullcontext()
    return memo_with_pages(session, request["memo"], off=request["no_memo"])


# ------------------------------------------------------------------------- a page


def _page_path(text: str, force: bool) -> Path:
    path = Path(text)
    if not path.parent.is_dir():
        raise MorelloError(f"there is no directory '{path.parent}' to write to")
    if not force:
        refuse_foreign(path)
    return path


def _write(session: Session, path: Path, document: Part, force: bool) -> None:
    # Imported here: text needs no template.
    from morello.report.explain.page import page  # noqa: PLC0415

    if not force:
        refuse_foreign(path)  # once more: the search may have taken long
    text = page(document, origin())
    write_together({path: text})
    session.say(f"wrote {path}: {len(text.encode()) / 1024:,.0f} KiB")
    for sentence in document["left_out"]:
        session.say(f"left out: {sentence}")
    session.say(f"predicted: {document['cycles']:,.0f} cycles on {document['target']}")


# ------------------------------------------------------------------------- JSON and text


def _why(reasons: Why) -> dict[str, object]:
    return {
        "why": str(reasons.spec),
        "alternatives": _alternatives(reasons, reasons.beginnings),
        "refused": [str(r) for r in reasons.refused],
    }


def _show(
    session: Session, kernel: Kernel, explanation: Explanation, reasons: Why, line: int
) -> None:
    show_explanation(session, explanation)
    show_reasons(session, reasons, line, lambda found: _alternatives(reasons, found))
    if kernel.ranking is not None:
        show_ranking(session, kernel.ranking)
    session.say("")
    session.say(f"predicted: {kernel.cost:,.0f} cycles on {kernel.program.target.name}")
    session.say(statistics_text(kernel))
    if kernel.statistics.coarsening is not None:
        session.say(str(kernel.statistics.coarsening))


def _alternatives(reasons: Why, beginnings: Sequence[Beginning]) -> list[Row]:
    """First steps with the cost of the best program that begins so, the cheapest first."""
    least = reasons.beginnings[0].cycles
    rows: list[Row] = []
    for first in beginnings:
        costs = reasons.costs(first)
        total = sum(share.cycles for share in costs)
        main = [f"{s.cycles / total:.0%} {s.coefficient}" for s in costs[:MAIN_COSTS]]
        rows.append(
            {
                "step": first.option.name,
                "parameters": ", ".join(f"{n} = {v}" for n, v in first.option.parameters),
                "cycles": first.cycles,
                "ratio": first.cycles / least if least else 1.0,
                "mostly": ", ".join(main) if total else "",
                "costs": {share.coefficient: share.cycles for share in costs},
            }
        )
    return rows
