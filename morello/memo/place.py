"""Where the memo is, unless the user names a file: one a user, in the directory of caches."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path

from morello.resources import path_in

VARIABLE = "MORELLO_MEMO"
"""Environment variable that may name the file."""


OFF = "off"
"""Its value where there is to be no file."""


def is_off() -> bool:
    """Whether the environment says that nothing is kept on disk."""
    return os.environ.get(VARIABLE) == OFF


def named_path() -> Path | None:
    """The file that the environment names, if it does.

    Raises:
        UsageError: It is in the home directory of nobody.
    """
    return path_in(VARIABLE)


def default_path() -> Path:
    """The file that is used where none is named."""
    return user_cache_path("morello") / "memo.sqlite"
