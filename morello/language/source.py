"""Source texts and the spans that point into them: the one span type of the project."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from msgspec import Struct


@dataclass(frozen=True)
class Source:
    """A named text. ``name`` is what diagnostics print, usually a path.

    ``origins``: of a text that a program has made, which place in the program a line comes from.
    """

    name: str
    text: str = field(repr=False)
    path: Path | None = field(default=None, repr=False, compare=False)
    origins: Mapping[int, str] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def line_starts(self) -> list[int]:
        """Offset of the first character of every line."""
        return [0, *(i + 1 for i, c in enumerate(self.text) if c == "\n")]

    def position(self, offset: int) -> tuple[int, int]:
        """1-based (line, column) of a character offset."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Text of a 1-based line, without its end."""
        if not 0 < number <= len(self.line_starts):
            return ""
        start = self.line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end].rstrip("\r")


class Span(Struct, frozen=True):
    """Half-open range of character offsets in one source."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        """1-based line of the first character."""
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        """1-based column of the first character."""
        return self.source.position(self.start)[1]

    def __str__(self) -> str:
        return f"{self.source.name}:{self.line}:{self.column}"
