"""Pictures in files, by matplotlib, which comes with the extra ``pictures``.

What is painted alike gives the same file, byte by byte, as long as matplotlib is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import BytesIO

from matplotlib import rc_context
from matplotlib.figure import Figure

COLOURS = (
    "#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948",
    "#b07aa1", "#9c755f", "#a0cbe8", "#ffbe7d", "#8cd17d", "#ff9d9a",
)  # fmt: skip

_WIDTH, _HEIGHT = 9.0, 4.5  # inches
_STYLE = {"svg.fonttype": "none", "svg.hashsalt": "morello", "hatch.linewidth": 0.4, "font.size": 8}


def picture(paint: Callable[[Figure], None], kind: str, creator: str) -> bytes:
    """The file of what is painted.

    Args:
        paint: Paints on an empty figure.
        kind: ``svg`` or ``png``.
        creator: The command, which the file names.
    """
    metadata: Mapping[str, Mapping[str, str | None]] = {
        "svg": {"Date": None, "Creator": creator},
        "png": {"Software": creator},
    }
    with rc_context(_STYLE):  # type: ignore[arg-type]
        figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
        paint(figure)
        buffer = BytesIO()
        figure.savefig(buffer, format=kind, metadata=metadata[kind], dpi=150)
    return buffer.getvalue()
