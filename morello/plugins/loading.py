"""Loading plugins: every entry point on its own, so that a broken one breaks nothing else.

Each plugin is registered with a plugin manager of its own, which is what makes its failures its
own: an import error, a misspelt hook, a hook with other parameters, an exception in a hook, a
result of the wrong type, a name that another one gives already. Files are listed here but not read;
that is `morello.definitions`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import EntryPoint
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

import pluggy

from morello.errors import MorelloError
from morello.ir.programs.emitted import Emitter
from morello.plugins import hookspecs
from morello.plugins.markers import API_VERSION
from morello.plugins.records import BrokenPlugin, DefinitionFile, Owner, Plugin, PluginSet
from morello.plugins.resources import (
    DEFINITION_SUFFIXES,
    GOALS_SUFFIX,
    MEMO_SUFFIX,
    MODEL_SUFFIX,
    SPEC_SUFFIX,
)
from morello.plugins.versions import STATED, mismatch, version_in_source
from morello.startup.commands import SUMMARIES
from morello.startup.entry_points import PROJECT, installed_points

if TYPE_CHECKING:
    import click


class PluginError(MorelloError):
    """A plugin does not keep to the rules of the interface."""


def load_plugins(points: Iterable[EntryPoint] | None = None) -> PluginSet:
    """Load every plugin that is installed; those that cannot be are left out, and reported.

    Args:
        points: Entry points to load instead of those of the group ``morello.plugins``.
    """
    installed = installed_points() if points is None else points
    loaded: list[Plugin] = []
    broken: list[BrokenPlugin] = []
    for owner, point in sorted(
        ((_owner(p), p) for p in installed), key=lambda pair: _rank(pair[0])
    ):
        try:
            plugin = _load(owner, point)
            _check_names(plugin, loaded)
        except (Exception, SystemExit) as error:  # whatever a stranger's module does
            broken.append(_report(owner, error))
        else:
            loaded.append(plugin)
    return PluginSet(tuple(loaded), tuple(broken))


def is_own(owner: Owner) -> bool:
    """Whether a plugin comes with Morello itself."""
    return owner.distribution == PROJECT


def _rank(owner: Owner) -> tuple[bool, Owner]:
    """The order of plugins: of two that give the same name, the later one is left out."""
    return not is_own(owner), owner


def _owner(point: EntryPoint) -> Owner:
    distribution = point.dist
    if distribution is None:
        return Owner("unknown distribution", "?", point.name, point.value)
    return Owner(distribution.name, distribution.version, point.name, point.value)


def _report(owner: Owner, error: BaseException) -> BrokenPlugin:
    kind = "" if isinstance(error, PluginError) else type(error).__name__
    cause = ": ".join(filter(None, (kind, str(error))))
    return BrokenPlugin(owner.distribution, owner.version, owner.entry_point, cause)


def _load(owner: Owner, point: EntryPoint) -> Plugin:
    module = _import(point)
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(module, name=owner.entry_point)
    manager.check_pending()  # a function that is marked but named like no hook
    if not manager.get_hookcallers(module):
        raise PluginError(f"'{owner.module}' implements no hook; is @hookimpl missing?")
    hook = manager.hook
    return Plugin(
        owner,
        _files(owner, hook.morello_definition_files, DEFINITION_SUFFIXES),
        _files(owner, hook.morello_calibration_files, (SPEC_SUFFIX,)),
        _files(owner, hook.morello_learning_files, (GOALS_SUFFIX, MODEL_SUFFIX)),
        _files(owner, hook.morello_memo_files, (MEMO_SUFFIX,)),
        {n: e for result in hook.morello_emitters() for n, e in _emitters(result)},
        {n: c for result in hook.morello_commands() for n, c in _commands(result)},
    )


def _import(point: EntryPoint) -> Any:
    """The plugin, if it is written for a version that is known: one that is not may do anything."""
    wrong = ""
    try:
        module = point.load()
        wrong = mismatch(getattr(module, STATED, API_VERSION))
    except (Exception, SystemExit) as error:
        wrong = mismatch(version_in_source(point.module))
        if not wrong:
            raise
        raise PluginError(f"{wrong} ({type(error).__name__}: {error})") from error
    if wrong:
        raise PluginError(wrong)
    return module


def _check_names(plugin: Plugin, before: Iterable[Plugin]) -> None:
    """Emitters and commands have one giver each."""
    for name in plugin.commands:
        if name in SUMMARIES:
            raise PluginError(f"the command '{name}' is Morello's own")
    for other in before:
        for kind, ours, theirs in (
            ("emitter", plugin.emitters, other.emitters),
            ("command", plugin.commands, other.commands),
        ):
            for name in sorted(set(ours) & set(theirs)):
                raise PluginError(f"the {kind} '{name}' is already given by {other.owner}")


def _files(
    owner: Owner, hook: pluggy.HookCaller, suffixes: Sequence[str]
) -> tuple[DefinitionFile, ...]:
    listed = (resource for result in hook() for resource in result)
    return tuple(_checked_file(owner, hook.name, resource, suffixes) for resource in listed)


def _checked_file(
    owner: Owner, hook: str, resource: object, suffixes: Sequence[str]
) -> DefinitionFile:
    if not isinstance(resource, Traversable):
        raise PluginError(f"{hook} gives {resource!r}, which is not a file")
    if not resource.name.endswith(tuple(suffixes)):
        raise PluginError(f"'{resource.name}' does not end in {' or '.join(suffixes)}")
    if not resource.is_file():
        raise PluginError(f"there is no file '{resource}'")
    return DefinitionFile(owner, f"{owner.module}/{resource.name}", resource)


def _emitters(result: object) -> Iterator[tuple[str, Emitter]]:
    if not isinstance(result, Mapping):
        raise PluginError(f"morello_emitters gives {result!r}, which is not a mapping")
    for name, emitter in result.items():
        if not isinstance(name, str) or not callable(getattr(emitter, "emit", None)):
            raise PluginError(f"emitter '{name}' is {emitter!r}, which has no method 'emit'")
        yield name, emitter


def _commands(result: object) -> Iterator[tuple[str, click.Command]]:
    import click  # noqa: PLC0415  # only for plugins that have commands

    if not isinstance(result, Sequence) or isinstance(result, str):
        raise PluginError(f"morello_commands gives {result!r}, which is not a list")
    seen: set[str] = set()
    for command in result:
        if not isinstance(command, click.Command):
            raise PluginError(f"morello_commands gives {command!r}, which is no click command")
        name = command.name or ""
        if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
            raise PluginError(f"'{name}' is no name of a command: small letters, digits and dashes")
        if name in seen:
            raise PluginError(f"the command '{name}' is given twice")
        seen.add(name)
        yield name, command
