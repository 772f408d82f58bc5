"""The wheel: it has every data file, and works where nothing of the checkout is near."""

from __future__ import annotations

import os
import shutil
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.processes import output_of

PROJECT = Path(__file__).resolve().parent.parent
LEFT_OUT = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")
"""A wheel is built from a copy: an old ``build/`` would add files that are no longer there."""

NOT_SHIPPED = {"tests", "benchmarks", "docs"}

DATA_SUFFIXES = {".mrules", ".mtarget", ".lark", ".json", ".jinja", ".typed", ".css", ".js"}


def _run(*arguments: str | Path, cwd: Path) -> str:
    return output_of(arguments, cwd)


def _left_out(directory: str, names: list[str]) -> set[str]:
    return LEFT_OUT(directory, names) | (NOT_SHIPPED if Path(directory) == PROJECT else set())


def _directories() -> dict[str, Path]:
    """Where each top-level package is in the checkout."""
    configuration = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    mapping = configuration["tool"]["setuptools"]["package-dir"]
    return {package: PROJECT / directory for package, directory in mapping.items()}


def test_every_package_is_listed() -> None:
    """A directory that is forgotten here would be missing in the wheel."""
    configuration = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    listed = set(configuration["tool"]["setuptools"]["packages"])
    found = set()
    for package, root in _directories().items():
        parents = [path.parent.relative_to(root) for path in root.rglob("__init__.py")]
        found |= {".".join((package, *parent.parts)) for parent in parents}
    assert listed == found


@pytest.mark.packaging
def test_the_wheel_compiles_a_spec_in_an_empty_directory(tmp_path: Path) -> None:
    """Built, looked into, installed with what it requires, and used: the whole way, once."""
    copy = tmp_path / "project"
    shutil.copytree(PROJECT, copy, ignore=_left_out)
    options = ("--no-deps", "--no-build-isolation", "-w", tmp_path)
    _run(sys.executable, "-m", "pip", "wheel", *options, copy, cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    _check_contents(wheel)

    _run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv", cwd=tmp_path)
    programs = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin")
    pip = (sys.executable, "-m", "pip", "--python", programs / "python", "install", "--quiet")
    _run(*pip, "--no-compile", wheel, cwd=tmp_path)  # most is never imported here
    empty = tmp_path / "empty"
    empty.mkdir()
    spec = (PROJECT / "examples" / "matmul.mspec").read_text()
    (empty / "mm.mspec").write_text(spec)
    sizes = ("-D", "M=5", "-D", "K=6", "-D", "N=7", "-t", "x86.scalar")
    _run(programs / "morello", "compile", "mm.mspec", *sizes, "--verify", cwd=empty)
    assert sorted(p.name for p in empty.iterdir()) == ["matmul.c", "matmul.h", "mm.mspec"]
    _run(programs / "morello", "explain", "mm.mspec", *sizes, "--html", "mm.html", cwd=empty)
    _run(programs / "morello", "new", "rule", "mine", cwd=empty)
    _run(programs / "morello", "check", "mine.mrules", cwd=empty)
    script = "import morello; kernel = morello.compile('mm.mspec', defines={'M': 3}); "
    script += "print(kernel.name, kernel._repr_html_()[:4])"
    assert _run(programs / "python", "-c", script, cwd=empty).strip() == "matmul <div"


def _check_contents(wheel: Path) -> None:
    """Every data file of the checkout is in the wheel, and no tests are."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for package, root in _directories().items():
        for path in root.rglob("*"):
            if path.suffix in DATA_SUFFIXES or path.suffix == ".py":
                assert f"{package}/{path.relative_to(root).as_posix()}" in names
    assert not {name.split("/")[0] for name in names} & {*NOT_SHIPPED, "examples"}
