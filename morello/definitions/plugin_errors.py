"""Plugins whose definitions are wrong are left out, so that they break nothing else.

An error is laid at the door of the plugin in whose file it is; an error in a file of the user, or
in one that comes with Morello, is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from morello.errors import MorelloError
from morello.language.diagnostics import Diagnostic, DiagnosticsError
from morello.plugins import BrokenPlugin, Owner, PluginSet, is_own

REINSTALL = "install Morello anew"

Result = TypeVar("Result")


class FileError(MorelloError):
    """A file of a plugin cannot be read."""

    def __init__(self, owner: Owner, error: MorelloError) -> None:
        super().__init__(str(error), help=error.help)
        self.owner = owner
        self.error = error


def isolate(
    plugins: PluginSet, check: Callable[[PluginSet], Result]
) -> tuple[Result, PluginSet, tuple[BrokenPlugin, ...]]:
    """Check all definitions; where plugins are wrong, once more without theirs.

    What is left out may be what others refer to, so that this repeats.

    Args:
        plugins: What is installed.
        check: Checks the definitions of some plugins together, with those of the user.

    Returns:
        What the check gives in the end, the plugins that it was given, and reports of the others.

    Raises:
        MorelloError: There is an error in what is no plugin of somebody else.
    """
    broken: list[BrokenPlugin] = []
    while True:
        try:
            return check(plugins), plugins, tuple(broken)
        except FileError as error:
            blamed = {error.owner: _report(error.owner, [error])} if _strange(error) else {}
            raised: MorelloError = error.error
            raised.help = raised.help if blamed else REINSTALL
        except DiagnosticsError as error:
            blamed = _blamed(error, plugins)
            raised = DiagnosticsError(error.diagnostics, help=_whose(error, plugins))
        if not blamed:
            raise raised
        broken += [blamed[owner] for owner in sorted(blamed)]
        plugins = plugins.without_definitions(blamed)


def _whose(error: DiagnosticsError, plugins: PluginSet) -> str:
    """That there are errors in files that come with Morello, or empty."""
    wrong = {diagnostic.span.source.name for diagnostic in error.diagnostics}
    own = [f for f in plugins.files if f.name in wrong and is_own(f.owner)]
    if not own:
        return ""
    named = ", ".join(f"'{file.resource}'" for file in own)
    verb, them = ("comes", "it") if len(own) == 1 else ("come", "them")
    return f"{named} {verb} with Morello: if no file of yours clashes with {them}, {REINSTALL}"


def _strange(error: FileError) -> bool:
    return not is_own(error.owner)


def _blamed(error: DiagnosticsError, plugins: PluginSet) -> dict[Owner, BrokenPlugin]:
    """Reports of the plugins of others that have errors in their files."""
    owners = {file.name: file.owner for file in plugins.files if not is_own(file.owner)}
    found: dict[Owner, list[Diagnostic]] = {}
    for diagnostic in error.diagnostics:
        owner = owners.get(diagnostic.span.source.name)
        if owner is not None:
            found.setdefault(owner, []).append(diagnostic)
    return {owner: _report(owner, map(_in_one_line, every)) for owner, every in found.items()}


def _in_one_line(diagnostic: Diagnostic) -> str:
    return f"{diagnostic.span}: {diagnostic.message} [{diagnostic.code}]"


def _report(owner: Owner, causes: Iterable[object]) -> BrokenPlugin:
    first, *others = map(str, causes)
    cause = f"{first}, and {len(others)} more" if others else first
    return BrokenPlugin(
        owner.distribution, owner.version, owner.entry_point, cause, definitions_only=True
    )
