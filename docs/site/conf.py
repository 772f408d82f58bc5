"""What Sphinx needs to know to make the site; `build.py` gathers the pages and calls it."""

from __future__ import annotations

from lexer import MorelloLexer
from sphinx.application import Sphinx

import morello

project = "Morello"
release = morello.__version__
extensions = ["myst_parser"]
root_doc = "README"
source_suffix = {".md": "markdown"}
highlight_language = "text"
nitpicky = True

myst_heading_anchors = 3

# Nothing is fetched: the theme brings its own styles, and has the reader's own fonts.
html_theme = "furo"
html_title = f"Morello {release}"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False


def setup(app: Sphinx) -> None:
    """The languages have colours."""
    for name in MorelloLexer.aliases:
        app.add_lexer(name, MorelloLexer)
