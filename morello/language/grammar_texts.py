"""The texts of the grammars: the files of the package `morello_grammar`, which ships as data.

No parser is built here, and `lark` is not needed; that is `morello.language.grammars`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

GRAMMAR_PACKAGE = "morello_grammar"


@cache
def grammar_texts() -> Mapping[str, str]:
    """The text of each grammar by the name of its file, in the order of names."""
    found = (item for item in files(GRAMMAR_PACKAGE).iterdir() if item.name.endswith(".lark"))
    in_order = sorted(found, key=lambda item: item.name)
    return {item.name: item.read_text(encoding="utf-8") for item in in_order}
