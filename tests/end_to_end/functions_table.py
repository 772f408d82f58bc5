"""Prints the table of functions as ``docs/language.md`` has it.

``python -m tests.end_to_end.functions_table``
"""

from __future__ import annotations

from morello.language.functions import FUNCTIONS


def main() -> None:
    """Print it."""
    print("| Function | Gives | |\n| --- | --- | --- |")
    for name, signature in FUNCTIONS.items():
        arguments = ", ".join(signature.arguments) + (", ..." if signature.variadic else "")
        print(f"| `{name}({arguments})` | {signature.result} | {signature.doc} |")


if __name__ == "__main__":
    main()
