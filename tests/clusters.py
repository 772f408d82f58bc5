"""Clusters of a few processes on this machine."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest


def local_cluster(directory: Path, workers: int, **options: Any) -> AbstractContextManager[Any]:
    """So many workers of one thread, with files in a directory; without Dask a test is skipped."""
    distributed = pytest.importorskip("distributed")
    found: AbstractContextManager[Any] = distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        local_directory=str(directory / "dask"),
        silence_logs=50,
        **options,
    )
    return found
