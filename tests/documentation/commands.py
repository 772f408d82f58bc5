"""Runs the commands of the pages, and writes down what they print.

``python -m tests.documentation.commands docs/tutorial.md`` writes into a page what its commands
print now: as many lines as it shows of each, or all where it shows none.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from glob import glob
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from click.testing import CliRunner

from morello.cli.main import main
from morello.toolchain.compilers import find_compiler
from morello.toolchain.process import run_command
from tests.documentation.blocks import FENCE, PROJECT, Block

RUN = ("morello ", "cc ", "cmake ", "head ", "python ", "./", "aarch64-linux-gnu-gcc ", "qemu-")
"""How commands begin that are run; others are for the reader's own environment."""

NOT_RUN = ("python -m pip ", "python -m benchmarks.", "python docs/site/")

PROGRAMS = Path(sys.executable).parent

SECONDS = 300


class Ran(NamedTuple):
    """A command with its status and what it has printed."""

    command: str
    status: int
    output: str

    def shape(self, text: str) -> list[str]:
        """Lines without numbers, and without the spaces that give way to them.

        Where no memo is named, whether an answer is found in one depends on what ran before.
        """
        if "--memo" not in self.command:
            text = re.sub(r"^(searched: |recalled from the memo, ).*$", "found", text, flags=re.M)
        return [re.sub(r"[\d,.]+|\s+", "", line) for line in text.strip().splitlines()]


def prepare(directory: Path) -> None:
    """Copy what the pages refer to: the directory stands for the checkout."""
    for name in ("examples", "rules", "targets"):
        shutil.copytree(PROJECT / name, directory / name)
    (directory / "plain").mkdir()


def commands_of(text: str) -> list[str]:
    """The commands of a block that are run."""
    joined = text.replace("\\\n", " ")
    parts = [part.strip() for line in joined.splitlines() for part in line.split("&&")]
    commands = [part.split("  #")[0].strip() for part in parts]
    return [c for c in commands if c.startswith(RUN) and not c.startswith(NOT_RUN)]


def missing(command: str) -> str:
    """The program that a command needs and that there is not, or nothing."""
    name = command.split(maxsplit=1)[0]
    local = name in ("morello", "cc") or name.startswith("./")
    return "" if local or shutil.which(name) else name


def run(command: str) -> Ran:
    """Run it in the current directory. ``morello`` runs in this process, which saves its start."""
    words = shlex.split(command)
    words = [name for word in words for name in (sorted(glob(word)) if "*" in word else [word])]
    if words[0] == "morello":
        done = CliRunner().invoke(main, words[1:])
        return Ran(command, done.exit_code, done.output)
    if words[0] == "cc":
        words[:1] = find_compiler().command
    finished = run_command(words, timeout=SECONDS)
    return Ran(command, finished.status, finished.output)


def write_file(block: Block) -> None:
    """Write the file that a block is, in the current directory."""
    path = Path(block.argument)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text)


def updated(text: str) -> str:
    """A page with what its commands print in the current directory."""
    last: Ran | None = None

    def replaced(found: re.Match[str]) -> str:
        nonlocal last
        block = Block(found["language"], found["info"].strip(), found["text"], 0, "")
        ran, last = last, None
        if block.word == "file":
            write_file(block)
        if block.language == "sh":
            last = [*map(run, commands_of(block.text)), None][-2]
        if block.language != "text" or ran is None:
            return found[0]
        lines = ran.output.rstrip().splitlines()
        shown = block.text.rstrip().splitlines()
        return "\n".join(["```text", *lines[: len(shown) or None], "```"])

    return FENCE.sub(replaced, text)


def _update(page: Path) -> None:
    text = page.read_text()
    with TemporaryDirectory() as name:
        prepare(Path(name))
        os.chdir(name)
        os.environ["MORELLO_MEMO"] = f"{name}/memo.sqlite"
        os.environ["PATH"] = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
        page.write_text(updated(text))
        os.chdir(PROJECT)


if __name__ == "__main__":
    for page in [Path(name).resolve() for name in sys.argv[1:]]:
        _update(page)
