"""What commands that draw have in common: where pictures go, and whether there is matplotlib."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from morello.errors import MorelloError, UsageError

KINDS = (".svg", ".png")

Draw = TypeVar("Draw")


def picture_path(output: str | None, *, force: bool, option: str = "-o") -> Path:
    """Where a picture is to be written.

    Raises:
        UsageError: It has no name, or that of another kind of file.
        MorelloError: It is there already, or its directory is not.
    """
    if output is None:
        raise UsageError(
            "nothing says where to write", help=f"name a .svg or .png file with {option}"
        )
    path = Path(output)
    if path.suffix not in KINDS:
        raise UsageError(f"'{output}' is neither a .svg nor a .png file", help="end it so")
    if path.exists() and not force:
        raise MorelloError(f"'{output}' exists", help="choose another place, or add --force")
    if not path.parent.is_dir():
        raise MorelloError(f"there is no directory '{path.parent}' to write to")
    return path


def drawing(imported: Callable[[], Draw]) -> Draw:
    """What draws. It is imported for pictures only, and before there is much work.

    Raises:
        MorelloError: There is no matplotlib.
    """
    try:
        return imported()
    except ImportError as error:
        raise MorelloError(
            f"pictures need matplotlib: {error}",
            help="install it with: python -m pip install 'morello[pictures]'",
        ) from error
