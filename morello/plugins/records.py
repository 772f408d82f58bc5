"""What plugins are and what they give, as data. Loading is `morello.plugins.loading`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from morello.ir.programs.emitted import Emitter
from morello.records import replace

if TYPE_CHECKING:
    import click


class Owner(Struct, frozen=True, order=True):
    """Who a plugin is: distribution, its version, and ``name = module`` of the entry point."""

    distribution: str
    version: str
    entry_point: str
    module: str

    def __str__(self) -> str:
        return f"{self.distribution} {self.version} ({self.entry_point} = {self.module})"


class BrokenPlugin(Struct, frozen=True):
    """A plugin that was left out, or whose definitions were.

    ``cause`` is the type of the exception and its message, or what a diagnostic says.
    """

    distribution: str
    version: str
    entry_point: str
    cause: str
    definitions_only: bool = False

    def __str__(self) -> str:
        name = f"plugin '{self.entry_point}' of {self.distribution} {self.version}"
        if self.definitions_only:
            return f"the definitions of {name} are left out: {self.cause}"
        return f"{name} is left out: {self.cause}"


class DefinitionFile(Struct, frozen=True):
    """A file that a plugin gives. ``name`` is what diagnostics print: ``module/file``."""

    owner: Owner
    name: str
    resource: Traversable


class Plugin(Struct, frozen=True):
    """What one plugin gives. ``commands`` are in the order of its own list."""

    owner: Owner
    files: tuple[DefinitionFile, ...] = ()
    calibration: tuple[DefinitionFile, ...] = ()
    learning: tuple[DefinitionFile, ...] = ()
    memos: tuple[DefinitionFile, ...] = ()
    emitters: Mapping[str, Emitter] = field(default_factory=dict)
    commands: Mapping[str, click.Command] = field(default_factory=dict)


class PluginSet(Struct, frozen=True):
    """All plugins that could be loaded, and reports of the others.

    Plugins of this distribution come first, the others are sorted by theirs. No two of them give
    an emitter or a command of one name.
    """

    plugins: tuple[Plugin, ...] = ()
    broken: tuple[BrokenPlugin, ...] = ()

    @property
    def files(self) -> tuple[DefinitionFile, ...]:
        """Files of definitions, by plugin."""
        return tuple(file for plugin in self.plugins for file in plugin.files)

    @property
    def calibration(self) -> tuple[DefinitionFile, ...]:
        """Files of specs to measure, by plugin."""
        return tuple(file for plugin in self.plugins for file in plugin.calibration)

    @property
    def learning(self) -> tuple[DefinitionFile, ...]:
        """Lists of goals, and models, by plugin."""
        return tuple(file for plugin in self.plugins for file in plugin.learning)

    @property
    def memos(self) -> tuple[DefinitionFile, ...]:
        """Memos, by plugin."""
        return tuple(file for plugin in self.plugins for file in plugin.memos)

    @property
    def emitters(self) -> dict[str, Emitter]:
        """Emitters, sorted by name."""
        return dict(sorted(item for plugin in self.plugins for item in plugin.emitters.items()))

    @property
    def commands(self) -> dict[str, click.Command]:
        """Sub-commands, sorted by name."""
        return dict(sorted(item for plugin in self.plugins for item in plugin.commands.items()))

    def without_definitions(self, owners: Collection[Owner]) -> PluginSet:
        """The same, but for the files of some plugins; their emitters and commands stay."""
        nothing: dict[str, Any] = {"files": (), "calibration": (), "learning": (), "memos": ()}
        plugins = tuple(
            replace(plugin, **nothing) if plugin.owner in owners else plugin
            for plugin in self.plugins
        )
        return replace(self, plugins=plugins)
