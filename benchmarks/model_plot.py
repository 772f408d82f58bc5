"""The picture of the record of `benchmarks.model`. It needs matplotlib: the extra ``pictures``.

The same record gives the same file, byte by byte, as long as matplotlib is the same.
"""

from __future__ import annotations

from math import ceil
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.model_report import spearman
from benchmarks.plot import STYLE
from benchmarks.report import size_text

Record = dict[str, Any]

COLUMNS = 5
SIDE = 2.1  # inches, of one panel


def draw(document: Record, path: Path) -> None:
    """Draw measured over predicted cycles of every program, a panel for each product.

    Both are relative to the program that is best by prediction: it is at (1, 1). Programs below the
    line through it are faster.

    Args:
        document: The record.
        path: The file; its suffix is the format.
    """
    records = document["cases"]
    rows = ceil(len(records) / COLUMNS)
    with rc_context(STYLE):  # type: ignore[arg-type]
        figure = Figure(figsize=(SIDE * COLUMNS, SIDE * rows), layout="constrained")
        panels = figure.subplots(rows, COLUMNS, squeeze=False).flat
        for axes, record in zip(panels, records, strict=False):
            _panel(axes, record)
        for axes in list(panels)[len(records) :]:
            axes.set_axis_off()
        figure.supxlabel("predicted, over that of the first choice")
        figure.supylabel("measured")
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower right", ncols=2, frameon=False)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else {})


def _panel(axes: Axes, record: Record) -> None:
    programs = record["programs"]
    first = next(p for p in programs if p["place"] == 1)
    for best, label, style in ((True, "best by prediction", "o"), (False, "drawn", "x")):
        those = [p for p in programs if (p["place"] is not None) == best]
        predicted = [p["predicted"] / first["predicted"] for p in those]
        measured = [p["cycles"] / first["cycles"] for p in those]
        axes.scatter(predicted, measured, s=12, marker=style, linewidths=0.8, label=label)
    axes.axhline(1, color="grey", linewidth=0.6)
    axes.set_title(size_text(record), fontsize=8)
    axes.annotate(
        f"Spearman {spearman([record]):.2f}", (0.04, 0.9), xycoords="axes fraction", fontsize=7
    )
    axes.margins(0.08, 0.15)
