"""What the pages show is true: commands run, Python and C run, definitions load.

Blocks by their first word: ``sh`` (lines that begin with ``morello`` are run; a ``text`` block
right after shows what the last of them prints, where numbers may differ), ``python`` (run, all of a
page together), ``c`` (a program that uses the kernels which the commands wrote), ``mspec``,
``mrules`` and ``mtarget`` (checked; with ``from PATH`` they stand in that file; with ``file NAME``
the commands of the page find them under that name).
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from glob import glob
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from morello.checking.specs import check_spec
from morello.cli.main import main
from morello.definitions import Definitions, load_definitions
from morello.language.diagnostics import Collector
from morello.language.parse import parse_spec
from morello.language.source import Source
from morello.toolchain.build import build
from morello.toolchain.compilers import find_compiler
from morello.toolchain.host import host_lacks
from morello.toolchain.process import run_command

from .functions_table import table

PROJECT = Path(__file__).resolve().parent.parent.parent
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
IDS = [page.name for page in PAGES]

FLAGS = ("-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mavx2", "-mfma")
"""Of the target that the pages compile for."""

FENCE = re.compile(
    r"^(?P<fence>```+)(?P<language>\w+)(?P<info>[^\n]*)\n(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """A fenced block: its language, what else its first line says, its text, where it begins."""

    language: str
    info: str
    text: str
    line: int


def _blocks(page: Path) -> list[Block]:
    text = page.read_text()
    return [
        Block(m["language"], m["info"].strip(), m["text"], text.count("\n", 0, m.start()) + 1)
        for m in FENCE.finditer(text)
    ]


def _commands(text: str) -> list[str]:
    joined = text.replace("\\\n", " ")
    parts = [part.strip() for line in joined.splitlines() for part in line.split("&&")]
    return [part.split("  #")[0].strip() for part in parts if part.startswith("morello ")]


def _arguments(command: str) -> list[str]:
    """What a shell would pass to the program."""
    words = shlex.split(command)[1:]
    return [name for word in words for name in (sorted(glob(word)) if "*" in word else [word])]


@pytest.fixture(autouse=True)
def _machine() -> None:
    """The pages are for a machine that can run what they compile."""
    lacking = host_lacks(FLAGS)
    if lacking:
        pytest.skip(f"this machine lacks {', '.join(f[2:] for f in lacking)}")


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of what the pages refer to, as the current directory."""
    for name in ("examples", "rules", "targets"):
        shutil.copytree(PROJECT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _shape(text: str) -> list[str]:
    """Lines without numbers, and without the spaces that give way to them."""
    return [re.sub(r"[\d,.]+|\s+", "", line) for line in text.strip().splitlines()]


def _outputs(blocks: list[Block]) -> Iterator[tuple[Block, str | None]]:
    """Blocks of commands, each with what the page shows that the last one prints."""
    for block, following in zip_longest(blocks, blocks[1:]):
        if block.language == "sh":
            shown = following is not None and following.language == "text"
            yield block, following.text if shown and following else None


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_commands_and_programs_run(page: Path, workplace: Path) -> None:
    """Every ``morello`` command; then C programs, against the files that those wrote."""
    for block in _blocks(page):
        if block.info.startswith("file "):
            (workplace / block.info.split()[1]).write_text(block.text)
    (workplace / "plain").mkdir()
    for block, shown in _outputs(_blocks(page)):
        output = ""
        for command in _commands(block.text):
            done = CliRunner().invoke(main, _arguments(command))
            expected = 1 if "fails" in block.info else 0
            assert done.exit_code == expected, f"{page.name}:{block.line}: {done.output}"
            output = done.output
        if shown is not None:
            assert _shape(shown) == _shape(output)[: len(_shape(shown))], f"line {block.line}"
    for block in _blocks(page):
        if block.language == "c":
            _run_c(block, workplace)


def _run_c(block: Block, directory: Path) -> None:
    sources = {p.name: p.read_text() for p in directory.glob("*.[ch]")}
    sources["program.c"] = block.text
    program = build(sources, find_compiler(), FLAGS, directory / "program", executable=True)
    done = run_command([str(program)], timeout=60)
    assert done.status == 0, done.output


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_python_runs(page: Path, workplace: Path) -> None:
    """All blocks of a page, one after the other."""
    code = "\n".join(b.text for b in _blocks(page) if b.language == "python" and not b.info)
    exec(compile(code, page.name, "exec"), {"__name__": "documentation"})


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_definitions_load(page: Path, definitions: Definitions) -> None:
    """Specs check; rules, operators, targets and kernels load beside the installed ones."""
    extra = []
    for block in _blocks(page):
        quoted = block.info.startswith("from ")
        if quoted:
            assert block.text in (PROJECT / block.info.removeprefix("from ")).read_text()
        elif block.language in ("mrules", "mtarget"):
            extra.append(Source(f"{page.name}-{block.line}.{block.language}", block.text))
    known = load_definitions(extra) if extra else definitions
    for block in _blocks(page):
        if block.language == "mspec" and "fails" not in block.info:
            file = parse_spec(Source(f"{page.name}:{block.line}", block.text))
            for spec in file.specs:
                missing = {p.name: 16 for p in spec.parameters if p.default is None}
                check_spec(file, spec.name, missing, known.operators, Collector())


def test_the_table_of_functions_is_complete() -> None:
    """``docs/language.md`` has every function with its kinds and its sentence, and no other."""
    text = (PROJECT / "docs" / "language.md").read_text()
    assert text.endswith(f"\n{table()}"), "run python -m tests.end_to_end.functions_table"


def test_every_page_is_linked() -> None:
    """From the README; and links lead to files that exist."""
    readme = (PROJECT / "README.md").read_text()
    for page in PAGES[1:]:
        assert f"(docs/{page.name})" in readme
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
