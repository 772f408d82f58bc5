"""The plugins in ``examples/plugins``, installed into a fresh environment."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from morello.plugins import GROUP
from morello.toolchain.machine import Machine
from tests.plugins.environment import Environment

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "plugins"
PLUGINS = sorted(path.parent for path in EXAMPLES.glob("*/pyproject.toml"))


def test_there_is_one_of_each_kind() -> None:
    """Each with one entry point, a page and a test; a kernel, a rule, a target."""
    for plugin in PLUGINS:
        project = tomllib.loads((plugin / "pyproject.toml").read_text())["project"]
        assert len(project["entry-points"][GROUP]) == 1
        assert (plugin / "README.md").is_file()
        assert list(plugin.glob("tests/test_*.py"))
    texts = ["".join(p.read_text() for p in plugin.glob("*/*.m*")) for plugin in PLUGINS]
    for kind in (r"^kernel \w+ on x86", r"^rule ", r"^target "):
        assert any(re.search(kind, text, re.MULTILINE) for text in texts)


@pytest.mark.slow
def test_they_install_and_do_what_their_pages_say(tmp_path: Path) -> None:
    """One environment for all of them, and for one that ``morello new`` has written."""
    environment = Environment.create(tmp_path / "fresh")
    copies = tmp_path / "plugins"
    copies.mkdir()
    environment.python("-m", "morello", "new", "plugin", "made-here", cwd=copies)
    environment.install(PLUGINS, copies)
    listed = environment.python("-m", "morello", "rules", cwd=tmp_path)
    assert "made_here" in listed
    assert "left out" not in listed
    for plugin in PLUGINS:
        for command in _commands(plugin / "README.md"):
            environment.python("-m", "morello", *command, cwd=copies / plugin.name)
    tests = [path / "tests" for path in sorted(copies.iterdir())]
    options = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--import-mode=importlib")
    output = environment.python("-m", "pytest", *options, *tests, cwd=copies)
    assert "failed" not in output
    assert "error" not in output


def _commands(page: Path) -> list[list[str]]:
    """Those of ``morello`` that this machine can run, and that do not repeat what tests do."""
    lines = [line.strip() for line in page.read_text().splitlines() if line.startswith("    ")]
    found = [shlex.split(line)[1:] for line in lines if line.startswith("morello ")]
    assert found, page
    runs = not Machine().lacks(("-mavx2",)) or "avx2" not in page.read_text()
    return [
        words for words in found if "--execute" not in words and (runs or "--verify" not in words)
    ]
