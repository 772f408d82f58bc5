"""Pictures of slices: the same bytes each time, and everything that the page says of them."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np

from morello.memo.drawing import choice_name, draw
from morello.memo.page import Choice, page_of
from morello.memo.slice import Axis, Slice, cut
from tests.memo.tables import axes_like

TITLE = ("a family & <its> text", "here")


def _slice(choices: int, side: int = 9) -> Slice:
    """Every choice in a square of its own, and one cell that nothing implements."""
    table = (np.arange(side)[:, None] // 2 * 5 + np.arange(side) // 2) % choices
    table[0, 0] = -1
    axes = axes_like((side, side))
    named = [Choice("rule", (("t", str(i)),)) for i in range(choices)]
    page = page_of(axes, named, table)
    labels = [tuple(map(str, axis)) for axis in axes]
    return cut(page, (Axis("m", labels[0]), Axis("n", labels[1])), ("m", "n"), {})


def _texts(svg: bytes) -> list[str]:
    root = ElementTree.fromstring(svg)
    return ["".join(e.itertext()) for e in root.iter("{http://www.w3.org/2000/svg}text")]


def test_the_same_slice_gives_the_same_file() -> None:
    for kind in ("svg", "png"):
        first = draw(_slice(5), TITLE, kind)
        assert first == draw(_slice(5), TITLE, kind)
        assert first != draw(_slice(6), TITLE, kind)


def test_no_date_and_no_version_is_in_it() -> None:
    svg = draw(_slice(5), TITLE, "svg")
    assert b"<dc:date>" not in svg
    assert b"Matplotlib v" not in svg


def test_the_picture_says_what_it_shows() -> None:
    """Title, names and values of the axes, choices with their shares."""
    texts = _texts(draw(_slice(5), TITLE, "svg"))
    assert {*TITLE, "m", "n", "256", "nothing implements it"} <= set(texts)
    assert any(text.startswith("rule(t = 0): ") and text.endswith("%") for text in texts)
    assert 5 == sum(text.startswith("rule(") for text in texts)


def test_rare_choices_share_an_entry() -> None:
    texts = _texts(draw(_slice(20, 20), TITLE, "svg"))
    assert 12 == sum(text.startswith("rule(") for text in texts)
    assert "8 other choices" in texts


def test_long_names_are_cut() -> None:
    name = choice_name(Choice("rule", tuple((f"parameter{i}", "value") for i in range(9))))
    assert name.startswith("rule(parameter0 = value, ")
    assert name.endswith("...")
    assert len(name) < 80
    assert "kernel" == choice_name(Choice("kernel"))


def test_many_values_are_thinned() -> None:
    """The last one is always there."""
    texts = _texts(draw(_slice(3, 60), TITLE, "svg"))
    assert texts.count(str(1 << 59)) == 2
    assert len(texts) < 80
