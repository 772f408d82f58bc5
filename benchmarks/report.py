"""Tables from the record of `benchmarks.matmul`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp, log
from typing import Any

from benchmarks.contenders import OWN, OWN_PACKED, limits

Record = dict[str, Any]

OURS = {"peer": OWN, "packed": OWN_PACKED}
"""What a role of peers is compared with."""

HEAD = (
    "size (M x K x N)",
    "time",
    "half of the runs",
    "GFLOP/s",
    "of the limit",
    "best peer",
    "against it",
    "B packed ahead",
    "of the limit",
    "best with B packed ahead",
    "against it",
)


MANY = 10
"""From how many cases on a summary says how they are spread."""


def table(document: Record, mode: str) -> str:
    """The compiled specs' times, against the limits and the best peers, as a Markdown table.

    "against it" is the peer's time over ours in the same turn: above 1, ours is faster. Where B is
    packed ahead, by theirs and by ours: the ratio of both to ours as it is. The last rows sum up:
    geometric means, and, of ten or more, the tenth percentiles and the smallest.
    """
    rows = [_row(document, record, mode) for record in document["cases"]]
    last = [
        [name, *[""] * 5, cells[0], "", "", "", cells[1]]
        for name, cells in _summary(list(_ratios(document, mode)))
    ]
    aligned = ["---", *["---:"] * 4, "---", "---:", "---:", "---:", "---", "---:"]
    return _markdown([HEAD, aligned, *rows, *last])


def _row(document: Record, record: Record, mode: str) -> list[str]:
    found = record[mode]
    own = found.get(OWN)
    size = size_text(record)
    if own is None:
        return [size, "failed", *[""] * 9]
    low, high = own["quartiles"]
    row = [size, _time(own["seconds"]), f"{_time(low)} to {_time(high)}", f"{own['gflops']:.1f}"]
    row.append(_share_of_limit(document, record, mode, OWN))
    row += _against(document, found, "peer")
    packed = found.get(OWN_PACKED)
    row += [f"{packed['gflops']:.1f}" if packed else ""]
    row += [_share_of_limit(document, record, mode, OWN_PACKED)]
    return row + _against(document, found, "packed")


def _against(document: Record, found: Record, role: str) -> list[str]:
    """The best of a role, and its time over ours in that role."""
    name, ratio = _best(document, found, role), _ratio(document, found, role)
    return ["" if name is None else name, "" if ratio is None else f"{ratio:.2f}"]


def _ratio(document: Record, found: Record, role: str) -> float | None:
    """Time of the best of a role over ours in that role, if both were measured."""
    name, own = _best(document, found, role), found.get(OURS[role])
    return None if name is None or own is None else found[name]["ratio"] / own["ratio"]


def _share_of_limit(document: Record, record: Record, mode: str, own: str) -> str:
    """Of medians: those of a limit and of what it limits may be of turns in another process.

    Blank where a limit was not measured that could be the slower one: arithmetic of matrices.
    """
    if own not in record[mode]:
        return ""
    roles = {name: about["role"] for name, about in document["contenders"].items()}
    every = {name for name, role in roles.items() if role in limits(roles[own])}
    found = {name: r["seconds"] for name, r in record[mode].items() if name in every}
    known = found and (record["sizes"]["M"] == 1 or set(found) == every)
    return f"{max(found.values()) / record[mode][own]['seconds']:.0%}" if known else ""


def rates(document: Record, mode: str) -> str:
    """GFLOP/s of every contender, as a Markdown table. Of ``reading``: as if it were a product."""
    names = [n for n in document["contenders"] if any(n in r[mode] for r in document["cases"])]
    rows = [["size (M x K x N)", *names], ["---", *["---:"] * len(names)]]
    for record in document["cases"]:
        found = record[mode]
        cells = [f"{found[name]['gflops']:.1f}" if name in found else "" for name in names]
        rows.append([size_text(record), *cells])
    return _markdown(rows)


def report(document: Record) -> str:
    """Everything, for a terminal."""
    machine = document["environment"]
    threads = document["threads"]
    lines = [
        f"{machine['processor']}, {machine['compiler']}, {document['target']}, {threads} threads"
    ]
    for mode in document["modes"] if document["cases"] else ():
        lines += ["", f"{mode}:", "", table(document, mode), "", rates(document, mode)]
    return "\n".join(lines)


def contenders_text(document: Record) -> str:
    """Who took part, with the version that each told of itself, and who did not and why."""
    versions: dict[str, list[str]] = {}
    for name, entry in document["contenders"].items():
        if "about" in entry:
            versions.setdefault(entry["about"], []).append(name)
    lines = [f"* {', '.join(names)}: {about}" for about, names in versions.items()]
    for name, reason in document["left_out"].items():
        lines.append(f"* {name}: left out; {reason.splitlines()[0]}")
    return "\n".join(lines)


def size_text(record: Record) -> str:
    """A case as tables write it."""
    text: str = record["case"]
    return text.replace(":", " ").replace("x", " x ")


# ------------------------------------------------------------------------------- parts


def _with_role(document: Record, found: Record, role: str) -> Record:
    roles = document["contenders"]
    return {name: r for name, r in found.items() if roles[name]["role"] == role}


def _best(document: Record, found: Record, role: str) -> str | None:
    """Who of a role was fastest against ours, turn by turn."""
    those = _with_role(document, found, role)
    return min(those, key=lambda name: those[name]["ratio"], default=None)


def _ratios(document: Record, mode: str) -> Iterator[list[float]]:
    """For peers, and for those that packed B ahead: the best one's time over ours in each case."""
    for role in OURS:
        done = [r[mode] for r in document["cases"] if OWN in r[mode]]
        ratios = [_ratio(document, found, role) for found in done]
        yield [ratio for ratio in ratios if ratio is not None]


def _summary(columns: Sequence[Sequence[float]]) -> Iterator[tuple[str, list[str]]]:
    yield "geometric mean", [_geometric_mean(column) for column in columns]
    if max(map(len, columns), default=0) >= MANY:
        tenths = [sorted(column)[len(column) // 10] if column else None for column in columns]
        least = [min(column, default=None) for column in columns]
        for name, found in (("tenth percentile", tenths), ("smallest", least)):
            yield name, ["" if value is None else f"{value:.2f}" for value in found]


def _geometric_mean(values: Sequence[float]) -> str:
    return f"{exp(sum(map(log, values)) / len(values)):.2f}" if values else ""


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _time(seconds: float) -> str:
    for unit, scale in (("ns", 1e9), ("us", 1e6)):
        if seconds * scale < 1000:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e3:.3g} ms"
