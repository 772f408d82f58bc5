"""What the pages show is true: commands run and print it, programs run, links lead somewhere."""

from __future__ import annotations

import doctest
import importlib
import os
import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path

import pytest

from morello.definitions import load_definitions
from morello.errors import MorelloError
from morello.language.source import Source
from morello.toolchain.build import build
from morello.toolchain.compilers import find_compiler
from morello.toolchain.machine import Machine
from morello.toolchain.process import run_command
from tests.documentation.blocks import IDS, PAGES, PROJECT, Block, blocks_of
from tests.documentation.commands import (
    PROGRAMS,
    commands_of,
    missing,
    prepare,
    run,
    write_file,
)
from tests.documentation.test_pictures import check_pictures
from tests.documentation.written import WRITTEN
from tests.end_to_end import kernels

FLAGS = ("-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mavx2", "-mfma")
"""Of the target that the pages compile for."""

NOTES = PROJECT / "benchmarks" / "notes"


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of what the pages refer to, as the current directory.

    What a page has solved, or another test, no page solves again.
    """
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MORELLO_MEMO", os.environ["MORELLO_TEST_KERNELS"])
    monkeypatch.setenv("PATH", f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def _outputs(blocks: list[Block]) -> Iterator[tuple[Block, str | None]]:
    """All blocks, those of commands with what the page shows that the last one prints."""
    for block, following in zip_longest(blocks, blocks[1:]):
        shown = following is not None and following.language == "text" and block.language == "sh"
        yield block, following.text if shown else None


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_commands_and_programs_run(page: Path, workplace: Path) -> None:
    """Files are written and commands run in the order of the page; then C programs."""
    for block, shown in _outputs(blocks_of(page.read_text())):
        if block.word == "file":
            write_file(block)
        if block.language == "sh":
            _check_commands(block, shown, f"{page.relative_to(PROJECT)}:{block.line}")
    for block in blocks_of(page.read_text()):
        if block.language == "c" and not block.info:
            _run_c(block, workplace)
    check_pictures(page, workplace)


def _need_machine(said: str) -> None:
    """Some pages run what they compile for larger machines."""
    if lacking := re.search(r"its processor lacks .*", said):
        pytest.skip(lacking[0])


def _check_commands(block: Block, shown: str | None, place: str) -> None:
    commands = commands_of(block.text)
    assert commands or shown is None, f"{place}: nothing is run that prints this"
    for command in commands:
        if missing(command):
            pytest.skip(f"there is no {missing(command)}")
        last = run(command)
        _need_machine(last.output)
        expected = 1 if block.info == "fails" and command == commands[-1] else 0
        assert last.status == expected, f"{place}: {command}\n{last.output}"
    if shown is not None:
        wanted = last.shape(shown)
        advice = f"{place}: run python -m tests.documentation.commands {place.partition(':')[0]}"
        assert wanted == last.shape(last.output)[: len(wanted)], advice


def _run_c(block: Block, directory: Path) -> None:
    if lacking := Machine().lacks(FLAGS):
        pytest.skip(f"its processor lacks {', '.join(lacking)}")
    sources = {p.name: p.read_text() for p in directory.glob("*.[ch]")}
    sources["program.c"] = block.text
    program = build(sources, find_compiler(), FLAGS, directory / "program", executable=True)
    done = run_command([str(program)], timeout=60)
    assert done.status == 0, done.output


@pytest.mark.sample(30)
@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_python_runs(page: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All blocks of a page, one after the other."""
    blocks = blocks_of(page.read_text())
    code = "\n".join(b.text for b in blocks if b.language == "python" and not b.info)
    monkeypatch.setattr("morello.compiler.process_memo", kernels.memo)
    try:
        exec(compile(code, page.name, "exec"), {"__name__": "documentation"})
    except MorelloError as error:
        _need_machine(str(error))
        raise


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_from_tables_is_what_they_say(name: str) -> None:
    """Each function and clause with its sentence, each word of the grammar, and no other."""
    text = (PROJECT / name).read_text(encoding="utf-8")
    assert WRITTEN[name](text) == text, "run python -m tests.documentation.written"


def test_every_page_is_linked() -> None:
    """From the README, decisions from their own; and links lead to files that exist."""
    for page in PAGES[1:]:
        decision = page.parent.name == "decisions" and page.name != "README.md"
        index = page.with_name("README.md") if decision else PROJECT / "README.md"
        assert f"({page.relative_to(index.parent)}" in index.read_text(), page.name
    _check_links(PAGES)


def test_every_note_is_linked() -> None:
    """From their index; each has its parts, and links lead to files that exist."""
    parts = ["Question", "Machine", "Command", "Figures", "Outcome"]
    index, notes = NOTES / "README.md", sorted(NOTES.glob("[0-9]*.md"))
    listed = re.findall(r"^\* \[\d+\. .*\]\((.*)\): ", index.read_text(), flags=re.MULTILINE)
    assert listed == [note.name for note in notes]
    for note in notes:
        assert re.findall(r"^## (.*)$", note.read_text(), flags=re.MULTILINE) == parts, note.name
    _check_links([index, *notes])


def _check_links(pages: Iterable[Path]) -> None:
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_definitions_load_together(page: Path) -> None:
    """Those that are no example of their own, and no file of the commands; quotations are exact."""
    extra = []
    for block in blocks_of(page.read_text()):
        if block.word == "from":
            assert block.text in (PROJECT / block.argument).read_text()
        elif block.language in ("mrules", "mtarget") and not block.info:
            extra.append(Source(f"{page.name}-{block.line}.{block.language}", block.text))
    if extra:
        assert load_definitions(extra).rules


def test_doctests_pass() -> None:
    """Sessions in docstrings, where there are any."""
    for path in sorted((PROJECT / "morello").rglob("*.py")):
        if ">>> " in path.read_text():
            name = ".".join(path.relative_to(PROJECT).with_suffix("").parts)
            assert doctest.testmod(importlib.import_module(name)).failed == 0, name
