"""The definition files of packages: listing and reading them.

A resource is a `Traversable`: a file of an installed package, which need not be a path on disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources.abc import Traversable
from pathlib import Path

from morello.errors import MorelloError
from morello.language.load import source_from_bytes
from morello.language.source import Source

RULES_SUFFIX = ".mrules"
TARGET_SUFFIX = ".mtarget"
SPEC_SUFFIX = ".mspec"
GOALS_SUFFIX = ".toml"
MODEL_SUFFIX = ".npz"
MEMO_SUFFIX = ".sqlite"
DEFINITION_SUFFIXES = (RULES_SUFFIX, TARGET_SUFFIX)


def definitions_in(directory: Traversable) -> Sequence[Traversable]:
    """The definition files directly in a directory of a package, sorted by name.

    What a plugin returns: ``definitions_in(importlib.resources.files(__name__))``.
    """
    found = [item for item in directory.iterdir() if item.name.endswith(DEFINITION_SUFFIXES)]
    return sorted(found, key=lambda item: item.name)


def load_resource(resource: Traversable, name: str) -> Source:
    """Read a definition file of a package; ``name`` is what diagnostics call it.

    Raises:
        MorelloError: It cannot be read, or see `morello.language.load.source_from_bytes`.
    """
    try:
        data = resource.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise MorelloError(f"cannot read '{name}': {reason}") from error
    return source_from_bytes(data, name, resource if isinstance(resource, Path) else None)
