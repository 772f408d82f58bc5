"""Loading plugins: every entry point on its own, so that a broken one breaks nothing else.

Each plugin is registered with a plugin manager of its own, which is what makes its failures its
own: an import error, a misspelt hook, a hook with other parameters, an exception in a hook, a
result of the wrong type. Files are listed here but not read; that is `morello.definitions`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from importlib.resources.abc import Traversable
from types import ModuleType

import pluggy

from morello.errors import MorelloError
from morello.plugins import hookspecs
from morello.plugins.markers import API_VERSION, GROUP, PROJECT
from morello.plugins.resources import DEFINITION_SUFFIXES, SPEC_SUFFIX
from morello.program.source import Emitter


@dataclass(frozen=True, slots=True, order=True)
class Owner:
    """Who a plugin is: distribution, its version, and ``name = module`` of the entry point."""

    distribution: str
    version: str
    entry_point: str
    module: str

    def __str__(self) -> str:
        return f"{self.distribution} {self.version} ({self.entry_point} = {self.module})"


@dataclass(frozen=True, slots=True)
class BrokenPlugin:
    """A plugin that was left out. ``cause`` is the type of the exception and its message."""

    distribution: str
    version: str
    entry_point: str
    cause: str

    def __str__(self) -> str:
        return (
            f"plugin '{self.entry_point}' of {self.distribution} {self.version} is left out: "
            f"{self.cause}"
        )


@dataclass(frozen=True, slots=True)
class DefinitionFile:
    """A file of definitions or specs. ``name`` is what diagnostics print: ``module/file``."""

    owner: Owner
    name: str
    resource: Traversable


@dataclass(frozen=True, slots=True)
class PluginSet:
    """What all plugins give. ``emitters`` is sorted by name, the rest by distribution."""

    files: tuple[DefinitionFile, ...]
    calibration: tuple[DefinitionFile, ...]
    emitters: Mapping[str, Emitter]
    broken: tuple[BrokenPlugin, ...]


class PluginError(MorelloError):
    """A plugin does not keep to the rules of the interface."""


@dataclass(frozen=True, slots=True)
class _Plugin:
    owner: Owner
    files: tuple[DefinitionFile, ...]
    calibration: tuple[DefinitionFile, ...]
    emitters: Mapping[str, Emitter]


def load_plugins(points: Iterable[EntryPoint] | None = None) -> PluginSet:
    """Load every plugin that is installed.

    Args:
        points: Entry points to load instead of those of the group ``morello.plugins``.

    Raises:
        PluginError: Two plugins give an emitter of one name.
    """
    installed = entry_points(group=GROUP) if points is None else points
    loaded: list[_Plugin] = []
    broken: list[BrokenPlugin] = []
    for owner, point in sorted(((_owner(p), p) for p in installed), key=lambda pair: pair[0]):
        try:
            loaded.append(_load(owner, point))
        except (Exception, SystemExit) as error:  # whatever a stranger's module does
            broken.append(_report(owner, error))
    files = tuple(file for plugin in loaded for file in plugin.files)
    calibration = tuple(file for plugin in loaded for file in plugin.calibration)
    return PluginSet(files, calibration, _merge_emitters(loaded), tuple(broken))


def _owner(point: EntryPoint) -> Owner:
    distribution = point.dist
    if distribution is None:
        return Owner("unknown distribution", "?", point.name, point.value)
    return Owner(distribution.name, distribution.version, point.name, point.value)


def _report(owner: Owner, error: BaseException) -> BrokenPlugin:
    cause = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return BrokenPlugin(owner.distribution, owner.version, owner.entry_point, cause)


def _load(owner: Owner, point: EntryPoint) -> _Plugin:
    module = point.load()
    _check_version(module)
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(module, name=owner.entry_point)
    manager.check_pending()  # a function that is marked but named like no hook
    if not manager.get_hookcallers(module):
        raise PluginError(f"'{owner.module}' implements no hook; is @hookimpl missing?")
    emitters: dict[str, Emitter] = {}
    for result in manager.hook.morello_emitters():
        emitters |= _checked_emitters(result)
    hook = manager.hook
    definitions = _files(owner, hook.morello_definition_files, DEFINITION_SUFFIXES)
    calibration = _files(owner, hook.morello_calibration_files, (SPEC_SUFFIX,))
    return _Plugin(owner, definitions, calibration, emitters)


def _files(
    owner: Owner, hook: pluggy.HookCaller, suffixes: Sequence[str]
) -> tuple[DefinitionFile, ...]:
    listed = (resource for result in hook() for resource in result)
    return tuple(_checked_file(owner, hook.name, resource, suffixes) for resource in listed)


def _check_version(module: ModuleType) -> None:
    stated = getattr(module, "MORELLO_API", API_VERSION)
    if stated != API_VERSION:
        raise PluginError(
            f"it is written for version {stated} of the plugin interface; this is {API_VERSION}"
        )


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


def _checked_emitters(result: object) -> Mapping[str, Emitter]:
    if not isinstance(result, Mapping):
        raise PluginError(f"morello_emitters gives {result!r}, which is not a mapping")
    for name, emitter in result.items():
        if not callable(getattr(emitter, "emit", None)):
            raise PluginError(f"emitter '{name}' is {emitter!r}, which has no method 'emit'")
    return result


def _merge_emitters(plugins: Sequence[_Plugin]) -> Mapping[str, Emitter]:
    giver: dict[str, _Plugin] = {}
    for plugin in plugins:
        for name in plugin.emitters:
            first = giver.setdefault(name, plugin)
            if first is not plugin:
                raise PluginError(
                    f"emitter '{name}' is given twice: by {first.owner} and by {plugin.owner}",
                    help="uninstall one of the two distributions",
                )
    return {name: giver[name].emitters[name] for name in sorted(giver)}
