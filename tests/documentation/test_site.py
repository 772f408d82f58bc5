"""The site is made without a warning, has all that there is, and fetches nothing."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from morello.definitions import Definitions
from morello.language.codes import CODES
from morello.plugins import hookspecs
from tests.documentation.blocks import IDS, PROJECT
from tests.processes import output_of

FETCHED = re.compile(r"<(?:link|script|img|iframe)\b[^>]*?(?:href|src)=\"(?:https?:)?//[^\"]*\"")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a site that is made once."""
    if any(importlib.util.find_spec(name) is None for name in ("sphinx", "myst_parser", "furo")):
        pytest.skip("the extra 'docs' is not installed")
    directory = tmp_path_factory.mktemp("site")
    assert output_of([sys.executable, "docs/site/build.py", directory], PROJECT) == ""
    return directory


def test_everything_is_in_the_site(site: Path, definitions: Definitions) -> None:
    """Every page; every operator, rule, kernel, target and code, at a place to link to."""
    for page in ("index.md", *IDS):
        assert (site / page).with_suffix(".html").is_file()
    kernels = (kernel.name for target in definitions.targets.values() for kernel in target.kernels)
    _check_places(site, "operators", definitions.operators)
    _check_places(site, "rules", (rule.name for rule in definitions.rules))
    _check_places(site, "kernels", kernels)
    _check_places(site, "targets", (name.replace(".", "-") for name in definitions.targets))
    _check_places(site, "errors", (code.lower() for code in CODES))
    hooks = [name for name in vars(hookspecs) if name.startswith("morello_")]
    text = (site / "docs" / "plugins.html").read_text()
    assert all(hook in text for hook in hooks)


def _check_places(site: Path, catalogue: str, names: Iterable[str]) -> None:
    text = (site / "catalogues" / f"{catalogue}.html").read_text()
    places = {place.replace("_", "-") for place in re.findall(r'id="([^"]+)"', text)}
    missing = {name for name in names if name.replace("_", "-") not in places}
    assert not missing, f"not in {catalogue}"


def test_nothing_is_fetched(site: Path) -> None:
    """No style, script, font or picture from elsewhere; and no path of this machine."""
    for page in site.rglob("*.html"):
        text = page.read_text()
        assert not FETCHED.findall(text), page
        assert str(PROJECT) not in text, page
    for style in site.rglob("*.css"):
        assert "url(http" not in style.read_text(), style


def test_errors_show_what_is_said(site: Path) -> None:
    """An example with its diagnostic, and the advice."""
    text = re.sub(r"<[^>]+>", "", (site / "catalogues" / "errors.html").read_text())
    assert "error[S030]: unknown operator" in text
    assert text.count("= help: ") > len(CODES) / 2
