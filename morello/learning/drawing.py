"""How far first choices are from the fastest programs, as a picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from morello.learning.evaluation import Evaluation
from morello.report.pictures import COLOURS, picture

WIDEST = 0.2
"""Regret that is shown: most goals have less."""


def draw(found: Sequence[Evaluation], kind: str) -> bytes:
    """For each split and method, the share of goals whose first choice is off by at most so much.

    Args:
        found: Evaluations, one beside the other.
        kind: ``svg`` or ``png``.
    """

    def paint(figure: Figure) -> None:
        panels = figure.subplots(1, len(found), sharey=True, squeeze=False)[0]
        for axes, one in zip(panels, found, strict=True):
            for (method, judged), colour in zip(one.judged.items(), COLOURS, strict=False):
                regrets = np.sort([goal.first for goal in judged])
                shares = np.arange(1, len(regrets) + 1) / len(regrets)
                axes.step(regrets, shares, where="post", color=colour, label=method)
            axes.set_xlim(0, WIDEST)
            axes.set_ylim(0, 1)
            axes.xaxis.set_major_formatter(PercentFormatter(1.0))
            axes.yaxis.set_major_formatter(PercentFormatter(1.0))
            axes.set_xlabel("slower than the fastest program by at most")
            axes.set_title(f"by {one.split}: {len(one.goals)} goals", loc="left", fontsize=8)
            axes.grid(alpha=0.3)
        panels[0].set_ylabel("first choices")
        panels[-1].legend(loc="lower right")

    return picture(paint, kind, "morello learn evaluate")
