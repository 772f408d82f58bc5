"""Tries both ends of what ``pyproject.toml`` claims, in an environment with the extra ``dev``.

The lowest Python with the lowest version of each dependency and gcc; beside it the newest Python of
this machine, with the newest versions and clang. Each end compiles an example and runs some tests.
What the machine lacks is skipped, with a line that says so.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent

TESTS = (  # use each dependency and the C compiler, in half a minute
    "tests/calibration/test_fitting.py::test_coefficients_are_never_negative",
    "tests/cli/test_quantities.py",
    "tests/editor/test_server.py::test_operators_of_an_open_file_are_known",
    "tests/ir/test_dtypes.py",
    "tests/memo/test_drawing.py::test_the_same_slice_gives_the_same_file",
    "tests/networks/test_nodes.py",
    "tests/reference/test_meaning.py",
    "tests/runtime/test_library.py",
    "tests/toolchain/test_build.py",
)

EXAMPLE = ("examples/matmul.mspec", "-t", "native", "-D", "M=5", "-D", "K=7", "-D", "N=9")


def main() -> int:
    """Try both; the status is 1 if one fails."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    environment = _with_all_pythons()
    lowest = "python" + project["requires-python"].removeprefix(">=")
    newest = _newest_python(environment)
    packages = needed(project)
    if newest == lowest:
        print(f"newest versions: no Python is newer than {lowest}, which is tried")
    with tempfile.TemporaryDirectory() as directory:
        low, new = Path(directory, "lowest"), Path(directory, "newest")
        ends = []  # installed one after the other, as each writes beside the sources
        if _installed(low, lowest, environment, lower_bounds(packages)):
            ends.append((low, "gcc"))
        if _installed(new, newest, environment, packages):
            ends.append((new, "clang"))
        with ThreadPoolExecutor() as threads:
            passed = list(threads.map(lambda end: _passes(end[0], end[1], environment), ends))
    return 0 if all(passed) else 1


def needed(project: dict[str, Any]) -> list[str]:
    """The packages that the tests need, as ``pyproject.toml`` has them: ``numpy>=2.2.5``."""
    extras = project["optional-dependencies"]
    texts = [*project["dependencies"], *extras["test"]]
    others = [text for text in texts if text.startswith("morello[")]
    for text in others:
        for name in text.removeprefix("morello[").removesuffix("]").split(","):
            texts += extras[name]
    return [text for text in texts if text not in others]


def lower_bounds(packages: Sequence[str]) -> list[str]:
    """The lowest version of each: ``numpy==2.2.5``."""
    return [text.replace(">=", "==") for text in packages]


def _with_all_pythons() -> dict[str, str]:
    """This environment, where those that pyenv keeps can all be called."""
    environment = dict(os.environ)
    if shutil.which("pyenv") is not None:
        kept = subprocess.run(("pyenv", "versions", "--bare"), stdout=subprocess.PIPE, check=False)
        environment["PYENV_VERSION"] = ":".join(kept.stdout.decode().split())
    return environment


def _newest_python(environment: dict[str, str]) -> str:
    """The name of the newest on the path that runs and is no preview."""
    minors = {
        int(found[1])
        for directory in filter(os.path.isdir, environment["PATH"].split(os.pathsep))
        for name in os.listdir(directory)
        if (found := re.fullmatch(r"python3\.(\d+)", name))
    }
    final = "import sys; sys.exit(sys.version_info.releaselevel != 'final')"
    for minor in sorted(minors, reverse=True):
        name = f"python3.{minor}"
        run = subprocess.run(
            (name, "-c", final), env=environment, stderr=subprocess.DEVNULL, check=False
        )
        if run.returncode == 0:
            return name
    return f"python3.{sys.version_info.minor}"


def _installed(
    end: Path, python: str, environment: dict[str, str], packages: Sequence[str]
) -> bool:
    """Make an environment with these packages and the project; false where it is not to be had."""
    try:
        subprocess.run((python, "--version"), env=environment, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        print(f"{end.name} versions: skipped, there is no {python}")
        return False
    make = ("uv", "venv", "--quiet", "--python", python, str(end))
    subprocess.run(make, env=environment, check=True)
    install = ("uv", "pip", "install", "--quiet", "--python", str(end))
    for wanted in (
        ("--only-binary", ":all:", *packages),
        ("--no-deps", "--editable", "."),
    ):
        done = subprocess.run((*install, *wanted), cwd=PROJECT, env=environment, check=False)
        if done.returncode != 0:  # an index lacks a version, or a Python is too new for a package
            print(f"{end.name} versions: skipped, not all can be installed for {python}")
            return False
    return True


def _passes(end: Path, compiler: str, environment: dict[str, str]) -> bool:
    """Whether an example compiles and is right, and the tests pass; prints how it went."""
    here = {**environment, "VIRTUAL_ENV": str(end), "XDG_CACHE_HOME": str(end / "cache")}
    here["PATH"] = f"{end / 'bin'}{os.pathsep}{environment['PATH']}"
    if shutil.which(compiler) is None:
        print(f"{end.name} versions: there is no {compiler}, another compiler is used")
    else:
        here["CC"] = compiler
    python = str(end / "bin" / "python")
    log = ""
    for command in (
        (python, "--version"),
        (python, "-m", "morello", "compile", *EXAMPLE, "--verify", "-o", str(end)),
        (python, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", *TESTS),
    ):
        run = subprocess.run(
            command, cwd=PROJECT, env=here, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        log += run.stdout
        if run.returncode != 0:
            print(f"{log}{end.name} versions: failed with {compiler}", flush=True)
            return False
    lines = log.splitlines()
    print(f"{end.name} versions, {lines[0]}, {here.get('CC')}: {lines[-1].strip(' =')}", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
