"""The plugin interface: all that a target or a package of rules needs from the engine.

The hooks are described in `morello.plugins.hookspecs`.
"""

from __future__ import annotations

from morello.ir.programs.emitted import CSource, EmitOptions, Emitter
from morello.plugins.loading import PluginError, is_own, load_plugins
from morello.plugins.markers import API_VERSION, OLDEST_API, hookimpl
from morello.plugins.records import BrokenPlugin, DefinitionFile, Owner, Plugin, PluginSet
from morello.plugins.resources import DEFINITION_SUFFIXES, definitions_in
from morello.startup.entry_points import GROUP

__all__ = [
    "API_VERSION",
    "DEFINITION_SUFFIXES",
    "GROUP",
    "OLDEST_API",
    "BrokenPlugin",
    "CSource",
    "DefinitionFile",
    "EmitOptions",
    "Emitter",
    "Owner",
    "Plugin",
    "PluginError",
    "PluginSet",
    "definitions_in",
    "hookimpl",
    "is_own",
    "load_plugins",
]
