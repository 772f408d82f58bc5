"""Templates that were compiled by an earlier process are those that this one would compile."""

from __future__ import annotations

from pathlib import Path

import jinja2
import pytest

from morello.plugins.templates import compile_template

TEXT = "{% for i in range(n) %}\n  x{{ double(i) }};\n{% endfor %}\n"
FUNCTIONS = {"double": lambda i: 2 * i, "range": range}


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("MORELLO_CACHE", raising=False)


def test_kept_code_renders_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without being compiled again, and with the functions of today."""
    fresh = compile_template(TEXT, FUNCTIONS).render(n=3)
    monkeypatch.setattr(jinja2.Environment, "compile", None)
    assert compile_template(TEXT, FUNCTIONS).render(n=3) == fresh == "  x0;\n  x2;\n  x4;\n"
    assert compile_template(TEXT, {**FUNCTIONS, "double": str}).render(n=1) == "  x0;\n"


@pytest.mark.parametrize("keep", [True, False])
def test_options_are_a_part_of_what_is_kept(keep: bool) -> None:
    """The same text, set up otherwise, is another template."""
    for option in (not keep, keep):
        template = compile_template("a\n", keep_trailing_newline=option)
    assert template.render() == ("a\n" if keep else "a")


def test_errors_are_the_same_in_the_second_process() -> None:
    """What is not given, and where the text is no template."""
    for _ in range(2):
        with pytest.raises(jinja2.UndefinedError, match="'n' is undefined"):
            compile_template("{{ n }}").render()
        with pytest.raises(jinja2.TemplateSyntaxError, match="Expected an expression"):
            compile_template("{% if %}")
