"""What may be done to a program after the search, which no cost counts.

Whether it pays differs between processors, so a target says which of these its programs have.
"""

from __future__ import annotations

FETCH_TILES = "fetch_tiles"
GAP_PANELS = "gap_panels"
SHARE_ROWS = "share_rows"

PASSES = {
    FETCH_TILES: "While loops work on a tile, the next one is fetched, if no cache holds them all.",
    GAP_PANELS: "Panels that are an even number of pages long lie a page apart, so that they do "
    "not alias in caches.",
    SHARE_ROWS: "Rows that are stored past the caches by several kernels share one loop.",
}
"""By name, a sentence."""
