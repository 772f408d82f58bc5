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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent

TESTS = (  # use each dependency and the C compiler, in half a minute
    "tests/calibration/test_fitting.py::test_coefficients_are_never_negative",
    "tests/cli/test_quantities.py",
    "tests/editor/test_server.py::test_operators_of_an_open_file_are_known",
    "tests/end_to_end/test_conversions.py",
    "tests/ir/test_conversion.py",
    "tests/ir/test_dtypes.py",
    "tests/ir/test_layout.py",
    "tests/memo/test_drawing.py::test_the_same_slice_gives_the_same_file",
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
    if newest == lowest:
        print(f"newest versions: no Python is newer than {lowest}, which is tried")
    with tempfile.TemporaryDirectory() as directory:
        low, new = Path(directory, "lowest"), Path(directory, "newest")
        bounds = Path(directory, "bounds.txt")
        bounds.write_text("\n".join(lower_bounds(project)))
        exact = ("--constraints", str(bounds), "--build-constraints", str(bounds))
        ends = []  # installed one after the other, as each writes beside the sources
        if _installed(low, lowest, environment, exact):
            ends.append((low, "gcc"))
        if _installed(new, newest, environment, ()):
            ends.append((new, "clang"))
        with ThreadPoolExecutor() as threads:
            passed = list(threads.map(lambda end: _passes(end[0], end[1], environment), ends))
    return 0 if all(passed) else 1


def lower_bounds(project: dict[str, Any]) -> list[str]:
    """The lowest version of each package that the tests need, as constraints: ``numpy==2.2.5``.

    Where a bound is lower than another package allows, there is then nothing to install.
    """
    extras = project["optional-dependencies"]
    texts = [*project["dependencies"], *extras["test"]]
    others = [text for text in texts if text.startswith("morello[")]
    for text in others:
        for name in text.removeprefix("morello[").removesuffix("]").split(","):
            texts += extras[name]
    return [text.replace(">=", "==") for text in texts if text not in others]


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
    end: Path, python: str, environment: dict[str, str], constraints: tuple[str, ...]
) -> bool:
    """Make an environment with what the tests need; false where it is not to be had.

    Raises:
        CalledProcessError: The versions that the constraints name cannot be installed.
    """
    try:
        subprocess.run((python, "--version"), env=environment, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        print(f"{end.name} versions: skipped, there is no {python}")
        return False
    make = ("uv", "venv", "--quiet", "--python", python, str(end))
    subprocess.run(make, env=environment, check=True)
    install = ("uv", "pip", "install", "--quiet", "--python", str(end), "--only-binary", ":all:")
    command = (*install, *constraints, "--editable", ".[test]")
    done = subprocess.run(command, cwd=PROJECT, env=environment, check=bool(constraints))
    if done.returncode != 0:  # a Python may be too new for some package
        print(f"{end.name} versions: skipped, not all packages can be installed for {python}")
    return done.returncode == 0


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
