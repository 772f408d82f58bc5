"""The plugin interface: all that a target or a package of rules needs from the engine.

The hooks are described in `morello.plugins.hookspecs`.
"""

from __future__ import annotations

from morello.plugins.loading import (
    BrokenPlugin,
    DefinitionFile,
    Owner,
    PluginError,
    PluginSet,
    load_plugins,
)
from morello.plugins.markers import API_VERSION, GROUP, hookimpl
from morello.plugins.resources import DEFINITION_SUFFIXES, definitions_in
from morello.program.source import CSource, EmitOptions, Emitter

__all__ = [
    "API_VERSION",
    "DEFINITION_SUFFIXES",
    "GROUP",
    "BrokenPlugin",
    "CSource",
    "DefinitionFile",
    "EmitOptions",
    "Emitter",
    "Owner",
    "PluginError",
    "PluginSet",
    "definitions_in",
    "hookimpl",
    "load_plugins",
]
