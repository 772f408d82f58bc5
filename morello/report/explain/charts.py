"""Where the marks of the page's two charts are, in the units of their view boxes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import atan2, ceil, degrees, floor, log2

from morello.report.documents import Part

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 16, 52
"""Margins, for what stands at the axes."""

VALUES = 60
"""More room to the right of the roofline, for values."""


MOST_TICKS = 12
ROOFS = 6
"""Lines of a look of their own."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
PAINTED = 12
"""Choices with a colour of their own."""

CELL_WIDTH, CELL_HEIGHT = 16.0, 13.0
"""Where a rectangle is at least as large, its letter stands in it."""


class _Log:
    """A logarithmic axis between two values, on so many units."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.low, self.high = floor(log2(low)), ceil(log2(high))
        self.start, self.end = start, end

    def __call__(self, value: float) -> float:
        part = (log2(value) - self.low) / (self.high - self.low)
        return round(self.start + part * (self.end - self.start), 1)

    @property
    def ticks(self) -> list[Part]:
        step = -(-(self.high - self.low) // MOST_TICKS)
        return [
            {"at": self(2.0**power), "text": _power(power)}
            for power in range(self.low, self.high + 1, step)
        ]


def _power(power: int) -> str:
    return f"{2**power:,}" if power >= 0 else f"1/{2**-power:,}"


def roofline_chart(found: Part) -> Part | None:
    """Roofs and points, if there is any arithmetic and a limit for it.

    Both axes are logarithmic: operations a byte to the right, operations a cycle upwards.
    """
    peak, done = found["arithmetic"]["roof"], found["operations_per_cycle"]
    rows = [r for r in found["levels"] if r["intensity"] and r["bytes_per_cycle"]]
    if not peak or not done or not rows:
        return None
    ridges = [peak / row["bytes_per_cycle"] for row in rows]
    across = [row["intensity"] for row in rows] + ridges
    x = _Log(min(across) / 2, max(across) * 2, LEFT, WIDTH - VALUES)
    y = _Log(min(done, peak) / 4, max(done, peak) * 1.5, HEIGHT - BOTTOM, TOP)
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "plot": {
            "x": LEFT,
            "y": TOP,
            "width": WIDTH - LEFT - VALUES,
            "height": HEIGHT - TOP - BOTTOM,
        },
        "x": x.ticks,
        "y": y.ticks,
        "peak": {"y": y(peak), "x": x(min(ridges)), "value": peak},
        "done": y(done),
        "roofs": _roofs(rows, peak, x, y),
        "points": _points(rows, done, x, y),
    }


def _roofs(rows: Sequence[Part], peak: float, x: _Log, y: _Log) -> list[Part]:
    """The slope of each level, as far as it is on the chart, with a place for its name.

    The name of the fastest stands to its left, all others to the right of theirs, in turn lower.
    """
    fastest = sorted(rows, key=lambda row: -row["bytes_per_cycle"])
    found: list[Part] = []
    for place, row in enumerate(rows):
        rate, turn = row["bytes_per_cycle"], fastest.index(row)
        low = max(2.0**x.low, 2.0**y.low / rate)
        left, right = (x(low), y(low * rate)), (x(max(peak / rate, low)), y(peak))
        at = 0.1 + 0.12 * (turn % 2)
        across, up = right[0] - left[0], right[1] - left[1]
        found.append(
            {
                "level": row["level"],
                "from": left,
                "to": right,
                "angle": round(degrees(atan2(up, across)), 1),
                "label": (round(left[0] + at * across, 1), round(left[1] + at * up, 1)),
                "beside": 16 if turn else -7,
                "bytes_per_cycle": rate,
                "class": f"r{place % ROOFS}",
            }
        )
    return found


def _points(rows: Sequence[Part], done: float, x: _Log, y: _Log) -> list[Part]:
    """What the program does, at its intensity of each level; names in turn at three heights."""
    ordered = sorted(enumerate(rows), key=lambda pair: pair[1]["intensity"])
    return [
        {
            "level": row["level"],
            "x": x(row["intensity"]),
            "y": y(done),
            "roof": y(row["roof"]),
            "label": round(y(done) + 22 + 15 * (turn % 3), 1),
            "class": f"r{place % ROOFS}",
        }
        for turn, (place, row) in enumerate(ordered)
    ]


# ------------------------------------------------------------------------- boxes


def boxes_chart(found: Part) -> Part:
    """Rectangles of a slice, with the letter of their choice where there is room for it."""
    columns, up = (len(axis["values"]) for axis in found["axes"])
    width, height = _extent(columns, 600.0), _extent(up, 320.0)
    across, upward = width / columns, height / up
    letters = [_letter(place) for place in range(len(found["choices"]))]
    rectangles = []
    for place, (left, down, wide, tall, choice) in enumerate(found["rectangles"]):
        seen = (left, down, wide, tall) if place else _seen(found["rectangles"])
        room = seen[2] * across >= CELL_WIDTH and seen[3] * upward >= CELL_HEIGHT
        rectangles.append(
            {
                "x": round(LEFT + left * across, 1),
                "y": round(TOP + (up - down - tall) * upward, 1),
                "width": round(wide * across, 1),
                "height": round(tall * upward, 1),
                "class": paint(found["choices"][choice], choice),
                "letter": letters[choice] if room else "",
                "letter_x": round(LEFT + (seen[0] + seen[2] / 2) * across, 1),
                "letter_y": round(TOP + (up - seen[1] - seen[3] / 2) * upward + 4, 1),
            }
        )
    here = found["here"]
    return {
        "width": round(LEFT + width + RIGHT),
        "height": round(TOP + height + BOTTOM),
        "plot": {"x": LEFT, "y": TOP, "width": round(width, 1), "height": round(height, 1)},
        "rectangles": rectangles,
        "x": _ticks(found["axes"][0]["values"], lambda n: LEFT + (n + 0.5) * across, across),
        "y": _ticks(
            found["axes"][1]["values"], lambda n: TOP + height - (n + 0.5) * upward, upward
        ),
        "here": None
        if None in here
        else {
            "x": round(LEFT + (here[0] + 0.5) * across, 1),
            "y": round(TOP + height - (here[1] + 0.5) * upward, 1),
        },
        "letters": letters,
    }


def _seen(rectangles: Sequence[Sequence[int]]) -> tuple[int, int, int, int]:
    """The largest square of the first rectangle that no other one hides, for its letter."""
    (_, _, columns, rows, _), *others = rectangles
    hidden = [[False] * columns for _ in range(rows)]
    for left, down, wide, tall, _ in others:
        for row in hidden[down : down + tall]:
            row[left : left + wide] = [True] * wide
    side = [[0] * columns for _ in range(rows)]
    best = (0, 0, 0)
    for y, row in enumerate(hidden):
        for x, covered in enumerate(row):
            if not covered:
                near = [side[y - 1][x], side[y][x - 1], side[y - 1][x - 1]] if x and y else [0]
                side[y][x] = min(near) + 1
                best = max(best, (side[y][x], -y, -x))
    size = best[0]
    return (-best[2] - size + 1, -best[1] - size + 1, size, size)


def paint(choice: Part, place: int) -> str:
    """The class of a choice: nothing, one of its own, or that of all others."""
    if choice["step"] is None:
        return "none"
    return f"b{place}" if place < PAINTED else "rest"


def _letter(place: int) -> str:
    """A to Z, then AA, AB, ..."""
    more, last = divmod(place, len(LETTERS))
    return (_letter(more - 1) if more else "") + LETTERS[last]


def _extent(cells: int, most: float) -> float:
    return min(most, max(28.0 * cells, 120.0))


def _ticks(values: Sequence[str], place: Callable[[int], float], each: float) -> list[Part]:
    """Values that there is room for, evenly; the last is among them."""
    step = ceil(max(26.0 if len(max(values, key=len)) > 2 else 18.0, 1.0) / each)
    ranks: Iterable[int] = range(len(values) - 1, -1, -step)
    return [{"at": round(place(rank), 1), "text": values[rank]} for rank in sorted(ranks)]
