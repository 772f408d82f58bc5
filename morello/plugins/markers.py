"""The name of the plugin project, its markers and its version: what a plugin module writes.

No hooks here (`morello.plugins.hookspecs`) and no loading (`morello.plugins.loading`).
"""

from __future__ import annotations

from typing import Final

import pluggy

from morello.startup.entry_points import PROJECT

API_VERSION: Final = 4
"""The version of the hooks. A plugin may state the one it was written for: ``MORELLO_API = 4``."""

OLDEST_API: Final = 1
"""The oldest version that plugins may be written for.

Version 2 added ``morello_commands``, version 3 ``morello_learning_files``,
version 4 ``morello_memo_files``.
"""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks a function of a plugin module as the implementation of the hook of its name."""
