"""Which version of the plugin interface a plugin is written for, and whether that is this one."""

from __future__ import annotations

import ast
from importlib.util import find_spec

from morello.plugins.markers import API_VERSION, OLDEST_API

STATED = "MORELLO_API"
"""What a plugin's module assigns the version to, as a number."""


def mismatch(stated: object) -> str:
    """What is wrong with a version that a plugin states; empty if nothing is."""
    if isinstance(stated, bool) or not isinstance(stated, int):
        return f"{STATED} is {stated!r}, which is no whole number"
    known = f"{OLDEST_API} to {API_VERSION}" if OLDEST_API < API_VERSION else f"{API_VERSION}"
    written = f"it is written for version {stated} of the plugin interface; this is {known}"
    if stated > API_VERSION:
        return f"{written}: it is too new, upgrade morello"
    if stated < OLDEST_API:
        return f"{written}: it is too old, upgrade the plugin"
    return ""


def version_in_source(module: str) -> object:
    """The version that a module states, without running it; this one's where none is found.

    A module that is too new, or too old, may be unable to say so: it may fail to import.
    """
    try:
        spec = find_spec(module)
        text = spec.loader.get_source(module) if spec and spec.loader else None  # type: ignore[attr-defined]
        tree = ast.parse(text or "")
    except Exception:  # whatever finders, loaders and parent packages of strangers do
        return API_VERSION
    for node in tree.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value))
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=value))
            ) if name == STATED:
                return value
    return API_VERSION
