"""The fenced blocks of the pages, and what their first lines promise.

By their first word, and what may follow it:

* ``sh``: commands, which are run in order; ``sh fails``: the last of them has to fail.
* ``text``, right after ``sh``: what the last of these commands prints; numbers may differ.
* ``LANGUAGE file NAME``: the commands that follow find it under that name.
* ``LANGUAGE from PATH``: it stands so in that file of the project.
* ``LANGUAGE good``: definitions or specs without an error. Other blocks of definitions are checked
  alike.
* ``LANGUAGE bad CODE``: with this error and no other; without a code, nobody but a reader sees it.
* ``python``: run, all of a page together; ``python plugin``: a module of a plugin; ``python
  hooks``: signatures.
* ``c``: a program that is built with what the commands wrote.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parents[2]

PAGES = [
    *(PROJECT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((PROJECT / "docs").glob("*.md")),
    *sorted((PROJECT / "docs" / "decisions").glob("*.md")),
    PROJECT / "rules" / "README.md",
]

IDS = [page.relative_to(PROJECT).as_posix() for page in PAGES]

DEFINED = ("mspec", "mrules", "mtarget")
"""The languages of definitions and specs."""

FENCE = re.compile(
    r"^(?P<fence>```+)(?P<language>\w+)(?P<info>[^\n]*)\n(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)

_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block: its language, what else its first line says, its text, where it is."""

    language: str
    info: str
    text: str
    line: int
    heading: str

    @property
    def word(self) -> str:
        """The first word of what else the first line says, or nothing."""
        return self.info.partition(" ")[0]

    @property
    def argument(self) -> str:
        """What follows that word: a name, a path, a code."""
        return self.info.partition(" ")[2].partition(" ")[0]


def blocks_of(text: str) -> list[Block]:
    """All fenced blocks of a page, in order."""
    headings = [(0, ""), *((m.start(), m[1]) for m in _HEADING.finditer(_without_blocks(text)))]
    found = []
    for m in FENCE.finditer(text):
        heading = next(title for start, title in reversed(headings) if start <= m.start())
        line = text.count("\n", 0, m.start()) + 1
        found.append(Block(m["language"], m["info"].strip(), m["text"], line, heading))
    return found


def _without_blocks(text: str) -> str:
    """The page with spaces in the place of its blocks: comments in them are no headings."""
    return FENCE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
