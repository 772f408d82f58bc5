"""What needs Dask is imported when it is asked for."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Any

from morello.errors import MorelloError


def with_dask(module: str) -> Any:
    """A module that imports Dask.

    Raises:
        MorelloError: It is not installed.
    """
    try:
        found = import_module(module)
    except ImportError as error:
        raise MorelloError(
            f"a cluster needs the package '{error.name}'",
            help="install the extra 'dask': pip install 'morello[dask]'",
        ) from error
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what counts is said as an error
    return found
