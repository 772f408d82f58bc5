"""Writes what pages and colours have of tables and grammars.

``python -m tests.documentation.written``
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import fill

from lark.grammar import NonTerminal
from lark.lexer import PatternStr

from morello.ir.passes import PASSES
from morello.language.functions import FUNCTIONS
from morello.language.grammars import parser
from morello.language.kernel_clauses import CLAUSES

WIDTH = 120
"""Of the pages' lines."""

PROJECT = Path(__file__).resolve().parent.parent.parent

FUNCTIONS_HEAD = "| Function | Gives | |\n| --- | --- | --- |\n"

KEYWORDS = r'("%s": \{.*?"name": "keyword.other.morello",\s*"match": "\\\\b\(\?:)([^)]*)(?=\))'
"""In the colours: the words of a declaration that no other expression there has."""

ELSEWHERE = {
    "target": "and else if not or KiB MiB GiB target",
    "kernel": "and any accumulating between cost else emit if kernel match not on op or pointwise "
    "reduction where x KiB MiB GiB",
}
"""Declarations, and their words that have a colour of their own."""


def functions(text: str) -> str:
    """The page with every function: the kinds of its arguments and result, and its sentence."""
    before, _, _ = text.partition(FUNCTIONS_HEAD)
    rows = (
        f"| `{name}({signature.form})` | {signature.result} | {signature.doc} |\n"
        for name, signature in FUNCTIONS.items()
    )
    return before + FUNCTIONS_HEAD + "".join(rows)


def targets(text: str) -> str:
    """The page with every clause of kernels, and every pass."""
    clauses = {clause.form: clause.doc for clause in CLAUSES}
    return _listed(_listed(text, "kernel clauses", clauses), "passes", PASSES)


def _listed(text: str, what: str, items: Mapping[str, str]) -> str:
    """A page with a list between two comments."""
    begin, end = f"<!-- {what} -->\n", f"<!-- end of {what} -->\n"
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    lines = "".join(
        fill(f"* **`{name}`**: {doc}", WIDTH, subsequent_indent="  ") + "\n"
        for name, doc in items.items()
    )
    return f"{before}{begin}\n{lines}\n{end}{after}"


def colours(text: str) -> str:
    """The colours with every word of the grammar of targets."""
    for declaration, elsewhere in ELSEWHERE.items():
        words = dict.fromkeys(w for w in _words(declaration) if w not in elsewhere.split())
        text, count = re.subn(
            KEYWORDS % declaration, rf"\g<1>{'|'.join(words)}", text, count=1, flags=re.DOTALL
        )
        assert count == 1, declaration
    return text


def _words(declaration: str) -> Iterator[str]:
    """Those of a rule of the grammar of targets, and of all that it leads to."""
    lark = parser("target")
    words = {t.name: t.pattern.value for t in lark.terminals if isinstance(t.pattern, PatternStr)}
    pending, seen = [declaration], {declaration}
    while pending:
        origin = pending.pop(0)
        for rule in (rule for rule in lark.rules if rule.origin.name == origin):
            for symbol in rule.expansion:
                if not isinstance(symbol, NonTerminal):
                    if words.get(symbol.name, "").replace("_", "").isalpha():
                        yield words[symbol.name]
                elif symbol.name not in seen:
                    seen.add(symbol.name)
                    pending.append(symbol.name)


WRITTEN: dict[str, Callable[[str], str]] = {
    "docs/language.md": functions,
    "docs/targets.md": targets,
    "grammar/morello.tmLanguage.json": colours,
}
"""What is written into which files of the project."""


def main() -> None:
    """Write it."""
    for name, write in WRITTEN.items():
        path = PROJECT / name
        path.write_text(write(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
