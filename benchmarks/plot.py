"""The picture of the record of `benchmarks.matmul`. It needs matplotlib: the extra ``bench``.

The same record gives the same file, byte by byte, as long as matplotlib is the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.contenders import OWN, limits
from benchmarks.report import size_text

Record = dict[str, Any]

STYLE = {"svg.fonttype": "none", "svg.hashsalt": "morello", "font.size": 8}
MARKERS = "osD^vP*XhdpH<>"
OWN_STYLE: Record = {"color": "black", "marker": "_", "s": 240, "linewidths": 2.5, "zorder": 3}
WIDTH, HEIGHT = 9.0, 3.6  # inches, of one mode


def draw(document: Record, path: Path) -> None:
    """Draw every contender's share of the limit, case by case, a panel for each mode.

    Args:
        document: The record.
        path: The file; its suffix is the format.
    """
    modes = document["modes"]
    with rc_context(STYLE):  # type: ignore[arg-type]
        figure = Figure(figsize=(WIDTH, HEIGHT * len(modes)), layout="constrained")
        for axes, mode in zip(figure.subplots(len(modes), squeeze=False)[:, 0], modes, strict=True):
            _panel(axes, document, mode)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right upper", frameon=False)
        metadata = {"Date": None} if path.suffix == ".svg" else {}
        figure.savefig(path, metadata=metadata)


def _panel(axes: Axes, document: Record, mode: str) -> None:
    cases = [record for record in document["cases"] if _limit(document, record, mode, OWN)]
    roles = {name: entry["role"] for name, entry in document["contenders"].items()}
    known = [name for name, role in roles.items() if not role.endswith("limit")]
    drawn = [name for name in known if any(name in record[mode] for record in cases)]
    for name in drawn:
        number = known.index(name)  # in every panel the same marker
        places = [i for i, record in enumerate(cases) if name in record[mode]]
        shares = [_share(document, cases[i], mode, name) for i in places]
        style: Record = {"marker": MARKERS[number % len(MARKERS)], "color": f"C{number}", "s": 14}
        axes.scatter(places, shares, label=name, **(OWN_STYLE if name == OWN else style))
    axes.axhline(1, color="grey", linewidth=0.8)
    axes.set_xticks(range(len(cases)), [size_text(r) for r in cases], rotation=30, ha="right")
    axes.set_ylim(bottom=0)
    threads = document["threads"]
    axes.set_title(f"{document['target']}, threads: {threads}, caches {mode}")
    axes.set_ylabel("share of the machine's limit")


def _limit(document: Record, record: Record, mode: str, name: str) -> float:
    """Seconds that any product of a contender's role takes; 0 where no limit was measured."""
    roles = {other: entry["role"] for other, entry in document["contenders"].items()}
    found = record[mode].items()
    return max((r["seconds"] for n, r in found if roles[n] in limits(roles[name])), default=0.0)


def _share(document: Record, record: Record, mode: str, name: str) -> float:
    seconds: float = record[mode][name]["seconds"]
    return _limit(document, record, mode, name) / seconds
