"""The pictures of the pages: each is shown, and made by a command that a page names."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.documentation.blocks import PROJECT

DOCS = PROJECT / "docs"
PAGE = DOCS / "search-in-pictures.md"
PICTURES = sorted((DOCS / "pictures").iterdir())
LARGEST = 150_000  # bytes


def _commands() -> dict[str, list[str]]:
    """Arguments of the commands of the page that write a picture, by its name."""
    text = PAGE.read_text().replace("\\\n", " ")
    lines = re.findall(r"^morello (memo picture .*)$", text, re.MULTILINE)
    words = [shlex.split(line) for line in lines]
    return {found[found.index("-o") + 1]: found for found in words if "-o" in found}


def test_every_picture_is_shown_and_named() -> None:
    shown = set(re.findall(r"!\[[^]]+\]\(pictures/([^)]+)\)", PAGE.read_text()))
    assert shown == {path.name for path in PICTURES} == set(_commands())
    assert len(shown) > 1


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.name)
def test_pictures_are_small_and_say_what_they_show(path: Path) -> None:
    """Their title is the family that the command names."""
    arguments = _commands()[path.name]
    assert path.stat().st_size < LARGEST
    texts = [e.text or "" for e in ElementTree.parse(path).iter() if e.tag.endswith("}text")]
    title = " ".join(texts).replace(" ", "")
    assert arguments[arguments.index("--family") + 1].replace(" ", "") in title


def check_pictures(page: Path, directory: Path) -> None:
    """What the commands of a page have drawn is what the page shows.

    Not the same bytes, which depend on matplotlib, but with the same axes.
    """
    for name in _commands() if page == PAGE else ():
        made, kept = ((path / name).read_text() for path in (directory, DOCS / "pictures"))
        assert _labels(made) == _labels(kept)


def _labels(svg: str) -> list[str]:
    """Numbers along the axes."""
    return [text for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg) if text.isdecimal()]
