"""The reference of the Python interface in ``docs/python.md``, from the code itself.

``python -m tests.end_to_end.api_reference`` writes it into the page; a test says when to.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

import morello

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "python.md"
HEADING = "## Reference\n"


def reference() -> str:
    """The section: every name of ``morello.__all__``: functions, then classes, then errors."""
    names = [name for name in morello.__all__ if not name.startswith("_")]
    found = {name: getattr(morello, name) for name in names}
    return "\n".join([HEADING, *(_entry(name, found[name]) for name in sorted(names, key=_rank))])


def _rank(name: str) -> tuple[int, str]:
    item = getattr(morello, name)
    return (2 if _is_error(item) else 1 if inspect.isclass(item) else 0), name.lower()


def _is_error(item: object) -> bool:
    return inspect.isclass(item) and issubclass(item, Exception)


def _entry(name: str, item: Any) -> str:
    """A heading, how it is called unless it comes from somewhere else, its text, what it has."""
    lines = [f"### `morello.{name}`", "", _text(item)]
    if not inspect.isclass(item) or name == "SpecBuilder":
        lines += ["", f"    {name}{_signature(item)}"]
    for title in () if inspect.isclass(item) else ("Args", "Raises"):
        lines += ["", f"{title}:", "", *(f"* `{n}`: {text}" for n, text in _section(item, title))]
    return "\n".join([*lines, *_members(item)]) + "\n"


def _fields(item: type) -> Iterator[tuple[str, Any]]:
    """Names and types of the fields of a record, as they are written."""
    if dataclasses.is_dataclass(item):
        yield from ((field.name, field.type) for field in dataclasses.fields(item))
    elif issubclass(item, msgspec.Struct):
        yield from ((name, item.__annotations__[name]) for name in item.__struct_fields__)


def _members(item: Any) -> Iterator[str]:
    """Fields and public members of a class, also of its bases; constructors are not called."""
    if not inspect.isclass(item):
        return
    rows = [f"* `{name}: {kind}`" for name, kind in _fields(item) if name != "builder"]
    rows += [f"* `{name}`: {text}" for name, text in _section(item, "Attributes")]
    members: dict[str, Any] = {}
    for base in [item] if _is_error(item) else reversed(item.__mro__):
        if base.__module__.startswith("morello."):
            members |= vars(base)
    for name, member in members.items():
        if name.startswith("_") and name != "__call__":
            continue
        shown = name if name == "__call__" else f".{name}"
        function = getattr(member, "__func__", member)
        if isinstance(member, property | cached_property):
            getter = member.fget if isinstance(member, property) else member.func
            rows.append(f"* `{shown}: {getter.__annotations__['return']}`: {_text(getter)}")
        elif inspect.isfunction(function):
            rows.append(f"* `{shown}{_signature(function)}`: {_text(function)}")
    if rows:
        yield ""
        yield from rows


def _section(item: Any, title: str) -> Iterator[tuple[str, str]]:
    """The entries of a section of a docstring: name and text."""
    section = inspect.cleandoc(item.__doc__).partition(f"\n{title}:\n")[2].partition("\n\n")[0]
    for entry in re.split(r"\n(?=    \S)", section) if section else ():
        name, _, text = " ".join(entry.split()).partition(": ")
        yield name, text.replace("``", "`")


def _signature(function: Any) -> str:
    found = inspect.signature(function)
    kept = [p for n, p in found.parameters.items() if n not in ("self", "cls")]
    return str(found.replace(parameters=kept)).replace("'", "")


def _text(item: Any) -> str:
    """The first paragraph of a docstring, on a line."""
    return " ".join(inspect.cleandoc(item.__doc__).split("\n\n")[0].split()).replace("``", "`")


def write() -> None:
    """Write the section into the page, in place of the old one."""
    text, _, _ = PAGE.read_text().partition(HEADING)
    PAGE.write_text(text + reference())


if __name__ == "__main__":
    write()
