"""Writes the table of functions at the end of ``docs/language.md``.

``python -m tests.documentation.functions_table``
"""

from __future__ import annotations

from pathlib import Path

from morello.language.functions import FUNCTIONS

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "language.md"
HEAD = "| Function | Gives | |\n| --- | --- | --- |\n"


def table() -> str:
    """Every function with the kinds of its arguments and result, and its sentence."""
    rows = []
    for name, signature in FUNCTIONS.items():
        rows.append(f"| `{name}({signature.form})` | {signature.result} | {signature.doc} |\n")
    return HEAD + "".join(rows)


def main() -> None:
    """Write it."""
    before, _, _ = PAGE.read_text().partition(HEAD)
    PAGE.write_text(before + table())


if __name__ == "__main__":
    main()
