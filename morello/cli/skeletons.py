"""What ``morello new`` writes: skeletons of rules, kernels, targets and plugins, from templates.

The templates are the package `morello_skeletons`, which ships as data: here stands how a name is
put into them, and nothing of what is in them.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable

import jinja2
from msgspec import Struct

from morello.errors import MorelloError, UsageError
from morello.plugins import API_VERSION

PACKAGE = "morello_skeletons"
KINDS = ("rule", "kernel", "target", "plugin")

_COMMANDS = "commands.jinja"
_SUFFIX = ".jinja"
_NAMES: Mapping[str, tuple[str, str]] = {
    "rule": (r"[a-z][a-z0-9_]*", "small letters, digits and underscores, such as split_rows"),
    "kernel": (r"[a-z][a-z0-9_]*", "small letters, digits and underscores, such as add_rows"),
    "target": (
        r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*",
        "small letters, digits and underscores, with dots between words, such as mine.small",
    ),
    "plugin": (
        r"[a-z][a-z0-9]*([-_][a-z0-9]+)*",
        "small letters and digits, with dashes or underscores between words, such as my-rules",
    ),
}


class Skeleton(Struct, frozen=True):
    """Texts of files by path, relative to where they are to be, and what to type next.

    ``directory``: the directory that all of them are in, or empty if they are in none.
    """

    directory: str
    files: Mapping[str, str]
    commands: tuple[str, ...]


def skeleton(kind: str, name: str) -> Skeleton:
    """The files of a new rule, kernel, target or plugin.

    Args:
        kind: One of `KINDS`.
        name: Its name, as it is in the language; of a plugin that of its distribution.

    Raises:
        UsageError: It cannot be called so.
        MorelloError: The templates are not installed.
    """
    pattern, expected = _NAMES[kind]
    identifier = re.sub(r"[-.]", "_", name)
    if not re.fullmatch(pattern, name) or keyword.iskeyword(identifier):
        raise UsageError(f"'{name}' is no name of a {kind}", help=f"write {expected}")
    values = {
        "name": identifier if kind == "plugin" else name,
        "identifier": identifier,
        "package": identifier,
        "distribution": name.replace("_", "-"),
        "api_version": API_VERSION,
    }
    directory = identifier if kind == "plugin" else ""
    templates = _templates()
    found: dict[str, str] = {}
    for path in sorted(_paths(_root() / kind)):
        text = templates.get_template(f"{kind}/{path}").render(values)
        place = (
            path.removesuffix(_SUFFIX).replace("PACKAGE", identifier).replace("NAME", identifier)
        )
        found[f"{directory}/{place}" if directory else place] = text.rstrip("\n") + "\n"
    commands = templates.get_template(f"{kind}/{_COMMANDS}").render(values)
    return Skeleton(directory, found, tuple(commands.split("\n")))


def _root() -> Traversable:
    try:
        return files(PACKAGE)
    except ModuleNotFoundError as error:
        raise MorelloError(f"the package '{PACKAGE}' is not installed") from error


def _paths(directory: Traversable, before: str = "") -> Iterator[str]:
    """Templates of files in a directory and below it."""
    for item in directory.iterdir():
        if item.is_dir():
            yield from _paths(item, f"{before}{item.name}/")
        elif item.name.endswith(_SUFFIX) and item.name != _COMMANDS:
            yield f"{before}{item.name}"


def _templates() -> jinja2.Environment:
    root = _root()
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda path: root.joinpath(path).read_text("utf-8")),
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
        comment_start_string="<#",
        comment_end_string="#>",
        undefined=jinja2.StrictUndefined,
    )
