"""The target `portable.vectors`, and a command that tries it with the C compilers of a machine.

The target is the ``.mtarget`` file beside this module. Its C is written by the emitter that it
inherits.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable

import click

from morello.plugins import definitions_in, hookimpl

from .command import try_compilers

MORELLO_API = 2


@hookimpl
def morello_definition_files() -> Sequence[Traversable]:
    """The definitions of this package."""
    return definitions_in(files(__name__))


@hookimpl
def morello_commands() -> Sequence[click.Command]:
    """``morello try-compilers``."""
    return [try_compilers]
