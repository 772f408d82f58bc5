"""What the pages say of plugins: every hook with its signature, and modules that load."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from morello.cli.main import main
from morello.definitions import load_definitions
from morello.plugins import API_VERSION, Emitter, hookspecs, load_plugins
from tests.documentation.blocks import PROJECT, blocks_of
from tests.plugins.conftest import Install

PAGE = (PROJECT / "docs" / "plugins.md").read_text()
PAGES = ("README.md", "docs/plugins.md")


def _blocks(text: str, kind: str) -> list[str]:
    return [block.text for block in blocks_of(text) if block[:2] == ("python", kind)]


MODULES = [text for page in PAGES for text in _blocks((PROJECT / page).read_text(), "plugin")]


def _signature(function: object) -> str:
    assert callable(function)
    return str(inspect.signature(function)).replace("'", "")


def test_every_hook_is_listed_with_its_signature() -> None:
    """All of them, no other, as they are declared; and what an emitter is asked."""
    hooks = {name: f for name, f in vars(hookspecs).items() if name.startswith("morello_")}
    (listed,) = _blocks(PAGE, "hooks")
    assert listed.splitlines() == [f"def {n}{_signature(f)}: ..." for n, f in hooks.items()]
    for name in hooks:
        assert f"* **`{name}`**: " in PAGE
    emit = _signature(Emitter.emit).replace("(self, ", "(")
    assert f"`emit{emit}`" in PAGE


def test_the_version_is_that_of_the_interface() -> None:
    """Where it is said in words and in examples."""
    assert f"This is version {API_VERSION};" in PAGE
    stated = re.findall(r"MORELLO_API = (\d+)", PAGE)
    assert stated
    assert set(stated) == {str(API_VERSION)}


@pytest.mark.parametrize("text", MODULES, ids=range(len(MODULES)))
def test_modules_of_the_pages_are_plugins(text: str, install: Install) -> None:
    """Installed as they stand, none is left out."""
    install("from-a-page", text.replace("files(__name__)", "files('morello_rules')"))
    plugins = load_plugins()
    assert plugins.broken == ()
    assert "from-a-page" in {plugin.owner.distribution for plugin in plugins.plugins}


def test_the_command_of_the_page_runs(install: Install, tmp_path: Path) -> None:
    """It prints a number."""
    (text,) = [text for text in MODULES if "click" in text]
    install("from-a-page", text)
    spec = tmp_path / "small.mspec"
    spec.write_text(
        "target x86.scalar spec s(N = 3) { input x: f32[N] output y: f32[N] y = neg(x) }"
    )
    result = CliRunner().invoke(main, ["cost", str(spec)])
    assert (result.exit_code, result.stderr) == (0, "")
    assert int(result.stdout) > 0


def test_the_warning_of_the_page_is_what_is_said(install: Install) -> None:
    """Word for word."""
    install("my-rules", "MORELLO_API = 5\n", version="0.1")
    (report,) = load_definitions(plugins=load_plugins()).broken
    assert f"warning: {report}" in " ".join(PAGE.split())
