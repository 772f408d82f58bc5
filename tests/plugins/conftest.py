"""Installing plugins for the time of one test: the module and its metadata go on the path."""

from __future__ import annotations

import importlib
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from morello.plugins import GROUP

EXAMPLE = Path(__file__).parent / "example_plugin"


class Install(Protocol):
    """Installs a plugin of one module, given as text."""

    def __call__(self, distribution: str, text: str, version: str = "1.0") -> None: ...


def _write_metadata(
    directory: Path, distribution: str, version: str, entry_points: dict[str, str]
) -> None:
    info = directory / f"{distribution.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    header = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
    (info / "METADATA").write_text(header)
    lines = [f"{name} = {module}" for name, module in entry_points.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))


@pytest.fixture
def _modules_restored() -> Iterator[None]:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def example_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, _modules_restored: None
) -> None:
    """`tests/plugins/example_plugin`, installed: the path has what its ``pyproject.toml`` says."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    points = project["entry-points"][GROUP]
    _write_metadata(tmp_path, project["name"], project["version"], points)
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, _modules_restored: None) -> Install:
    """A function that installs one more plugin."""

    def install_module(distribution: str, text: str, version: str = "1.0") -> None:
        directory = tmp_path / distribution
        directory.mkdir()
        module = f"{distribution.replace('-', '_')}_module"
        (directory / f"{module}.py").write_text(text)
        _write_metadata(directory, distribution, version, {distribution: module})
        monkeypatch.syspath_prepend(str(directory))
        importlib.invalidate_caches()

    return install_module
