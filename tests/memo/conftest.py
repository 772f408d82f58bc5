"""Fixtures of the memo's tests: a file that holds every family."""

from __future__ import annotations

from pathlib import Path

import pytest

from morello.memo.store import Store
from tests.memo.files import fill


@pytest.fixture(scope="session")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The content of the file."""
    path = tmp_path_factory.mktemp("healthy") / "memo.sqlite"
    with Store.open(path, warn=pytest.fail) as store:
        fill(store)
    return path.read_bytes()


@pytest.fixture
def path(tmp_path: Path, healthy: bytes) -> Path:
    """The file."""
    path = tmp_path / "memo.sqlite"
    path.write_bytes(healthy)
    return path
