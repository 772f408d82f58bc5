"""The hooks that a plugin may implement. A plugin is a module; it implements what it needs.

Specifications only: markers are in `morello.plugins.markers`, loading in `morello.plugins.loading`.
A plugin module that adds rules and a target reads, in full::

    from importlib.resources import files
    from morello.plugins import definitions_in, hookimpl

    MORELLO_API = 2

    @hookimpl
    def morello_definition_files():
        return definitions_in(files(__name__))

and its distribution names the module in the entry-point group ``morello.plugins``::

    [project.entry-points."morello.plugins"]
    mine = "my_package"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

from morello.ir.programs.emitted import Emitter
from morello.plugins.markers import hookspec

if TYPE_CHECKING:
    import click


@hookspec
def morello_definition_files() -> Sequence[Traversable]:
    """Files that declare operators and rules (``.mrules``), or targets and kernels (``.mtarget``).

    A `pathlib.Path` is a Traversable. Files may refer to what the files of other plugins declare;
    the order of files and of plugins has no meaning.
    """
    raise NotImplementedError


@hookspec
def morello_calibration_files() -> Sequence[Traversable]:
    """Files of specs (``.mspec``) that are measured when a target is fitted to a machine.

    Every parameter has a default. The specs should spend their time in what the distribution
    brings: its operators and kernels, in shapes that are large and small, even and odd.
    """
    raise NotImplementedError


@hookspec
def morello_learning_files() -> Sequence[Traversable]:
    """Files to learn performance with. Since version 3 of the interface.

    A list of goals (``.toml``, see `morello.checking.goal_list`) says what is measured where nobody
    names one. A model (``.npz``, what ``morello learn train`` writes) ranks programs for its target
    on processors of the model that it was trained on.
    """
    raise NotImplementedError


@hookspec
def morello_memo_files() -> Sequence[Traversable]:
    """Memos (``.sqlite``) that ``morello memo export`` has written. Since version 4.

    Compiles are answered from them where the user's own memo has no answer. One answers for the
    definitions that it was solved under. The files have to lie in a directory, not in an archive.
    """
    raise NotImplementedError


@hookspec
def morello_emitters() -> Mapping[str, Emitter]:
    """Emitters by name: what the ``emitter NAME`` of a target refers to.

    Names are shared by all plugins: one that gives a name which another one gives is left out.
    """
    raise NotImplementedError


@hookspec
def morello_commands() -> Sequence[click.Command]:
    """Sub-commands of ``morello``, made with click. Since version 2 of the interface.

    They are listed by ``morello --help`` and cannot replace Morello's own. The module is imported
    whenever plugins are loaded, so that what takes time is better imported by the command when it
    runs. A `morello.MorelloError` that a command raises is shown as every other one is.
    """
    raise NotImplementedError
