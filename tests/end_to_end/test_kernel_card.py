"""Kernels as notebooks and consoles show them."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

import morello
from morello.kernel import Kernel
from morello.runtime import notebook
from morello.runtime.autotune import Measurement

from .kernels import compiled


class _Page(HTMLParser):
    """Tags that are open, those that were met, and the text."""

    VOID = frozenset({"br", "hr", "img", "link", "meta"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.met: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.met.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    """It has a weight that is packed, and several outputs have others."""
    return compiled("weight bytes", (13, 34, 37), "x86.avx512_vnni")


def test_it_is_html_that_stands_alone(kernel: Kernel) -> None:
    """Every tag is closed; nothing is fetched, nothing runs; and it is small."""
    html = kernel._repr_html_()
    page = _Page(html)
    assert [] == page.open
    assert not {"script", "link", "img", "iframe"} & set(page.met)
    assert not re.search(r"https?:|\bon\w+=|@import|url\(", html.partition("<pre>")[0])
    assert len(html) < 60_000


def test_it_says_what_is_computed_and_how(kernel: Kernel) -> None:
    """Name, target, arguments with what they are packed as, cycles, and the C file."""
    text = _Page(kernel._repr_html_()).text
    for part in (
        *("product", "x86.avx512_vnni", f"{kernel.cost:,.0f} cycles"),
        *("weight", "34 x 37", "s8, (1, 0) panels (16, 4)", "13 x 37"),
        *(cost.coefficient for cost in kernel.plan.costs()),
        *(line.node.option.name for line in kernel.plan.lines),
        kernel.source.splitlines()[-1],
        "#include <",  # escaped, or it would be a tag
    ):
        assert part in text


def test_its_tree_is_the_plans(kernel: Kernel) -> None:
    """A node for each line, and what a node leads to below it; shares are of all cycles."""
    branches, steps = notebook._branches(kernel.plan)
    assert len(kernel.plan.lines) == steps == kernel._repr_html_().count("<li>")
    found: list[tuple[int, str]] = []
    pending = [(0, branch) for branch in reversed(branches)]
    while pending:
        depth, branch = pending.pop()
        found.append((depth, branch["name"]))
        pending += [(depth + 1, child) for child in reversed(branch["children"])]
    assert [(line.depth, line.node.option.name) for line in kernel.plan.lines] == found
    assert ["100.0%"] == [branch["share"] for branch in branches]


def test_several_outputs_have_a_tree_each() -> None:
    """Named by what they compute; shares add up."""
    several = compiled("rows of a product", (5, 3, 19), "x86.avx512")
    branches, _ = notebook._branches(several.plan)
    assert ["c", "r"] == [branch["result"] for branch in branches]
    shares = [float(branch["share"].rstrip("%")) for branch in branches]
    assert 100 == pytest.approx(sum(shares), abs=0.2)


def test_what_is_long_is_cut(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    """And says what has the rest."""
    monkeypatch.setattr(notebook, "SOURCE_LINES", 3)
    monkeypatch.setattr(notebook, "STEPS", 2)
    html = kernel._repr_html_()
    page = _Page(html)
    assert [] == page.open
    assert 2 == html.count("<li>")
    lines = len(kernel.source.splitlines())
    assert f"{lines - 3} more lines: print(kernel.source)" in page.text
    more = len(kernel.plan.lines) - 2
    assert f"{more} more steps: print(kernel.plan.render())" in page.text


def test_measurements_are_shown(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    """With marks of the language escaped."""
    row = Measurement(2, 1234.0, 21, 5e-6, (4e-6, 6e-6), None, "m 8 <b>", chosen=True)
    monkeypatch.setattr(kernel, "measurements", (row,))
    html = kernel._repr_html_()
    assert "2 (chosen)" in html
    assert "m 8 &lt;b&gt;" in html


def test_in_a_console(kernel: Kernel) -> None:
    """One line, and a few."""
    declaration = "product(a: u8[13, 34], weight b: s8[34, 37]) -> c: s32[13, 37]"
    assert f"<kernel {declaration} for x86.avx512_vnni>" == repr(kernel)
    first, *rows = str(kernel).splitlines()
    assert declaration == first
    assert ["computes", "target", "predicted", "workspace", "plan"] == [r.split()[0] for r in rows]


def test_a_kernel_is_shown_without_a_c_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is built for it."""
    monkeypatch.setenv("CC", "no-such-compiler")
    assert (
        "x86.scalar"
        in morello.compile(
            "spec positive() { input x: f32[3]; output y; y = relu(x) }", target="x86.scalar"
        )._repr_html_()
    )
