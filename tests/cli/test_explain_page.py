"""``morello explain --html``: one file, written whole; the same numbers as in the JSON document."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from morello.cli.main import main
from tests.browser import Page, find_browser, opened
from tests.cli.conftest import SMALL, Run

ROWS = "[...document.querySelectorAll('#tree tbody tr')]"
SHOWN = f"{ROWS}.filter(row => row.getClientRects().length).map(row => row.id)"
FOCUSED = "document.activeElement.id"


class Explained(NamedTuple):
    """A page, with the JSON document of the same command."""

    path: Path
    document: dict[str, Any]

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """Those of the tree, in program order."""
        return list(_nodes(self.document["plan"]))


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node["children"]:
        yield from _nodes(child)


@pytest.fixture(scope="module")
def explained(
    _solved_memo: Path, tmp_path_factory: pytest.TempPathFactory, target: str
) -> Explained:
    """Of the small spec."""
    path = tmp_path_factory.mktemp("explained") / "page.html"
    arguments = ["explain", "-", "--memo", str(_solved_memo), "--html", str(path), "--json"]
    result = CliRunner().invoke(main, arguments, input=SMALL.format(target=target))
    assert (result.exit_code, result.stderr) == (0, "")
    return Explained(path, json.loads(result.stdout))


class Elements(HTMLParser):
    """The elements of a page in order: tag, attributes, and the text in them."""

    EMPTY = frozenset({"meta", "link", "br", "rect", "line", "circle"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str], list[str]]] = []
        self.open: list[int] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}, []))
        if tag not in self.EMPTY:
            self.open.append(len(self.found) - 1)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}, []))

    def handle_endtag(self, tag: str) -> None:
        assert self.found[self.open.pop()][0] == tag, f"</{tag}> at {self.getpos()}"

    def handle_data(self, data: str) -> None:
        for place in self.open:
            self.found[place][2].append(data)

    def all(self, *tags: str) -> list[tuple[str, dict[str, str], str]]:
        """Elements with one of these tags."""
        return [(tag, given, "".join(text)) for tag, given, text in self.found if tag in tags]


@pytest.fixture(scope="module")
def elements(explained: Explained) -> Elements:
    return Elements(explained.path.read_text(encoding="utf-8"))


# ------------------------------------------------------------------------- the file


def test_the_page_needs_nothing_else(elements: Elements, explained: Explained) -> None:
    """No address but of its own parts, and a policy that forbids all others."""
    targets = {given["id"] for _, given, _ in elements.found if "id" in given}
    for tag, given, _ in elements.found:
        assert "src" not in given, tag
        link = given.get("href", "#program")
        assert link == "data:," or link.removeprefix("#") in targets, link
    text = explained.path.read_text()
    assert "http:" not in text
    assert "https:" not in text
    assert "@import" not in text
    assert "default-src 'none'" in text


def test_the_page_can_be_read_by_others(elements: Elements) -> None:
    """Headings in order, captions of tables and their columns, words for every picture."""
    ids = [given["id"] for _, given, _ in elements.found if "id" in given]
    assert len(ids) == len(set(ids))
    levels = [int(tag[1]) for tag, _, _ in elements.all("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))
    for tag, given, text in elements.all("table", "svg", "section"):
        assert {"aria-label", "aria-labelledby"} & given.keys(), tag
        for name in given.get("aria-labelledby", "").split():
            assert name in ids
        if tag == "table":
            assert text.strip()
        if tag == "svg":
            assert given["role"] == "img"
    headers = elements.all("th")
    assert all(given.get("scope") in ("col", "row") for _, given, _ in headers)
    assert elements.all("html")[0][1]["lang"] == "en"
    assert len(elements.all("svg")) == len(elements.all("desc"))


def test_numbers_are_those_of_the_document(elements: Elements, explained: Explained) -> None:
    """To the last digit: of lines, coefficients, memory, alternatives, limits and boxes."""
    document, nodes = explained.document, explained.nodes
    found: dict[str, list[float]] = {}
    for _, given, _ in elements.found:
        if "data-value" in given and given["data-value"] != "None":
            found.setdefault(given["data-key"], []).append(float(given["data-value"]))
    decided = [a for d in document["decisions"] for a in d["alternatives"]]
    of_costs = [row["cycles"] for row in document["costs"]]
    assert found["cycles"] == [document["cycles"], *of_costs, *(a["cycles"] for a in decided)]
    assert found["total_cycles"] == [node["total_cycles"] for node in nodes]
    assert found["own"][: len(nodes)] == [node["own_cycles"] * node["runs"] for node in nodes]
    assert found["program_cycles"] == [a["program_cycles"] for a in decided]
    assert found["count"] == [row["count"] for row in document["costs"]]
    for place, usage in enumerate(document["memory"]):
        assert found[usage["level"]] == [node["memory"][place]["in_use"] for node in nodes]
    assert found["in_use"] == [usage["in_use"] for usage in document["memory"]]
    assert found["bytes"] == [level["bytes"] for level in document["roofline"]["levels"]]
    cells = [c["cells"] for boxes in document["boxes"] for c in boxes["choices"] if c["cells"]]
    assert found["cells"] == cells


def test_text_is_not_markup(run: Run, small_spec: Path) -> None:
    """What authors of targets write stands in the page as they wrote it."""
    Path("odd.mtarget").write_text(
        'target odd.machine extends x86.scalar\n  "<i>Odd</i> & even."\n'
        '{ coefficient scalar_op = 0.5 cycles "one </td><script>x" # manual\n}\n'
    )
    arguments = ("explain", small_spec, "-k", "odd.mtarget", "-t", "odd.machine", "--no-memo")
    result = run(*arguments, "-D", "M=1", "-D", "K=1", "-D", "N=1", "--html", "p.html")
    assert result.exit_code == 0, result.output
    texts = [text for _, _, text in Elements(Path("p.html").read_text()).all("td", "p")]
    assert "one </td><script>x" in texts
    assert any("<i>Odd</i> & even." in text for text in texts)


@pytest.mark.slow
def test_a_coarser_search_is_told(run: Run, small_spec: Path) -> None:
    """And its boxes are shown, too: they are those of the coarser target."""
    result = run("explain", small_spec, "--budget", "5000 specs", "--html", "p.html", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["boxes"]
    assert "coarsened to stay within the budget of 5,000 Specs" in Path("p.html").read_text()


# ------------------------------------------------------------------------- writing it


def test_the_page_says_where_it_is_and_what_was_left_out(
    run: Run, small_spec: Path, solved_memo: Path
) -> None:
    """Written again without a question, as it is our own; and nothing else is left behind."""
    arguments = ("explain", small_spec, "--memo", solved_memo, "--html", "page.html")
    first = run(*arguments)
    assert (first.exit_code, first.stderr) == (0, "")
    assert first.stdout.startswith("wrote page.html: ")
    before = Path("page.html").read_bytes()
    assert run(*arguments).exit_code == 0
    size = len(before)
    assert abs(len(Path("page.html").read_bytes()) - size) < 16  # the seconds differ
    assert not [name for name in os.listdir() if name.endswith((".tmp", ".old"))]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("gone/page.html", "there is no directory 'gone' to write to"),
        ("foreign.html", "'foreign.html' exists and was not generated by this program"),
        (".", "cannot write '.': is a directory"),
    ],
)
def test_what_cannot_be_written_is_an_error(
    place: str, message: str, run: Run, small_spec: Path, solved_memo: Path
) -> None:
    Path("foreign.html").write_text("mine")
    result = run("explain", small_spec, "--memo", solved_memo, "--html", place)
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"error: {message}" in result.stderr
    assert Path("foreign.html").read_text() == "mine"


def test_force_overwrites(run: Run, small_spec: Path, solved_memo: Path) -> None:
    Path("page.html").write_text("mine")
    arguments = ("explain", small_spec, "--memo", solved_memo, "--html", "page.html", "--force")
    assert run(*arguments).exit_code == 0
    assert "mine" not in Path("page.html").read_text()[:100]


# ------------------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    """A browser; what a test changes, the next one opens anew."""
    found = find_browser()
    if found is None:
        pytest.skip("there is no Chromium to open the page in")
    with opened(found) as page:
        yield page


@pytest.fixture
def page(browser: Page, explained: Explained) -> Page:
    browser.media("screen")
    browser.open(explained.path)
    return browser


def test_it_opens_in_silence(page: Page, explained: Explained) -> None:
    """Nothing on the console, no error, and no other file is asked for; numbers are as written."""
    assert page.complaints == []
    assert {explained.path.resolve().as_uri()} == set(page.requested)
    values = "[...document.querySelectorAll('[data-key=total_cycles]')].map(e => +e.dataset.value)"
    assert [node["total_cycles"] for node in explained.nodes] == page.evaluate(values)


def test_the_tree_is_folded_by_keys(page: Page, explained: Explained) -> None:
    """Arrows fold and move, as in every tree; there is one stop for the tabulator."""
    every = [f"line-{node['line']}" for node in explained.nodes]
    page.evaluate("document.querySelector('[data-fold=none]').click()")
    assert every == page.evaluate(SHOWN)
    assert 1 == page.evaluate(f"{ROWS}.filter(row => row.tabIndex === 0).length")
    page.evaluate(f"{ROWS}[0].focus()")
    page.press("ArrowLeft")
    assert every[:1] == page.evaluate(SHOWN)
    assert "false" == page.evaluate(f"{ROWS}[0].getAttribute('aria-expanded')")
    page.press("ArrowRight")
    assert every == page.evaluate(SHOWN)
    page.press("End")
    assert every[-1] == page.evaluate(FOCUSED)
    page.press("ArrowLeft")  # has nothing to fold: to its parent
    parent = next(n for n in explained.nodes if explained.nodes[-1] in n["children"])
    assert f"line-{parent['line']}" == page.evaluate(FOCUSED)
    page.press("Enter")
    assert every[: parent["line"]] == page.evaluate(SHOWN)
    page.press("Home")
    assert every[0] == page.evaluate(FOCUSED)
    page.press("ArrowDown", 2)
    assert every[2] == page.evaluate(FOCUSED)
    assert 1 == page.evaluate(f"{ROWS}.filter(row => row.tabIndex === 0).length")


def test_a_decision_is_unfolded_by_keys(page: Page) -> None:
    """From a line by the tabulator to its link, which opens it; and by the space bar."""
    page.evaluate(f"{ROWS}[0].focus()")
    page.press("Tab")
    assert "#decision-1" == page.evaluate("document.activeElement.getAttribute('href')")
    page.press("Enter")
    page.wait_until("document.getElementById('decision-1').open")
    page.evaluate("document.querySelector('#decision-2 summary').focus()")
    page.press(" ")
    assert page.evaluate("document.getElementById('decision-2').open") is True
    page.press(" ")
    assert page.evaluate("document.getElementById('decision-2').open") is False


def test_a_link_to_a_folded_line_unfolds_it(page: Page, explained: Explained) -> None:
    last = f"line-{explained.nodes[-1]['line']}"
    page.evaluate("document.querySelector('[data-fold=all]').click()")
    assert ["line-1"] == page.evaluate(SHOWN)
    page.evaluate(f"location.hash = '{last}'")
    page.wait_until(f"{FOCUSED} === '{last}'")
    assert last in page.evaluate(SHOWN)


def test_paper_has_everything(page: Page, explained: Explained) -> None:
    """All lines, decisions and tables are there, whatever was folded; what is for keys is not."""
    page.evaluate("document.querySelector('[data-fold=all]').click()")
    hidden = (
        "[...document.querySelectorAll('table, svg, h2, h3')].filter(e => !e.checkVisibility())"
    )
    assert page.evaluate(f"{hidden}.length") > 0
    page.media("print")
    assert 0 == page.evaluate(f"{hidden}.length")
    assert len(explained.nodes) == len(page.evaluate(SHOWN))
    assert 0 == page.evaluate(
        "[...document.querySelectorAll('button, nav')].filter(e => e.checkVisibility()).length"
    )
    assert 0 == page.evaluate(
        "[...document.querySelectorAll('details')].filter(e => e.open).length"
    )
    page.media("screen")
    assert page.pdf().startswith(b"%PDF-")
    assert 0 == page.evaluate(
        "[...document.querySelectorAll('details')].filter(e => e.open).length"
    )
    assert page.complaints == []


CONTRAST = Path(__file__).with_name("contrast.js")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_told_from_its_ground(scheme: str, page: Page) -> None:
    """4.5 to 1 at least, as WCAG 2 wants it: of all text, and of letters on boxes."""
    page.media("screen", prefers_color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
    assert page.evaluate(CONTRAST.read_text()) >= 4.5


def test_narrow_windows_do_not_scroll_sideways(page: Page) -> None:
    """Wide tables do so by themselves."""
    page.send(
        "Emulation.setDeviceMetricsOverride",
        width=420,
        height=800,
        deviceScaleFactor=1,
        mobile=False,
    )
    try:
        width = page.evaluate("document.documentElement.scrollWidth")
    finally:
        page.send("Emulation.clearDeviceMetricsOverride")
    assert width <= 420
