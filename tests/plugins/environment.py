"""A fresh environment with plugins in it: installed by pip, from their sources, with no index.

What Morello and the tests need is taken from the environment that the tests run in.
"""

from __future__ import annotations

import shutil
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.processes import output_of

LEFT_OUT = shutil.ignore_patterns("build", "*.egg-info", "__pycache__", ".*")


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment in ``directory``."""

    directory: Path

    @classmethod
    def create(cls, directory: Path) -> Environment:
        """Make one that sees this environment's packages, editable ones included."""
        made = cls(directory)
        made._finish([sys.executable, "-m", "venv", "--without-pip", directory], directory.parent)
        (packages,) = directory.glob("lib/python*/site-packages")
        here = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
        lines = [f"import site; site.addsitedir({path!r})\n" for path in sorted(here)]
        (packages / "beside.pth").write_text("".join(lines))
        return made

    def install(self, projects: Iterable[Path], copies: Path) -> None:
        """Install projects from copies of them: to build leaves files beside the sources."""
        for project in projects:
            shutil.copytree(project, copies / project.name, ignore=LEFT_OUT)
        arguments: list[str | Path] = [
            "-m",
            "pip",
            "--python",
            self.directory / "bin" / "python",
            "install",
        ]
        options = ["--quiet", "--no-compile", "--no-deps", "--no-build-isolation", "--no-index"]
        command = [sys.executable, *arguments, *options, *sorted(copies.iterdir())]
        self._finish(command, copies)

    def python(self, *arguments: str | Path, cwd: Path) -> str:
        """What Python prints when it is called so; a failure is one of the test."""
        return self._finish([self.directory / "bin" / "python", *arguments], cwd)

    def _finish(self, command: Iterable[str | Path], cwd: Path) -> str:
        memo = str(self.directory / "memo.sqlite")  # what is solved once is known to what follows
        return output_of(command, cwd, PIP_DISABLE_PIP_VERSION_CHECK="1", MORELLO_MEMO=memo)
