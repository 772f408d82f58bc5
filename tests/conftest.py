"""Fixtures that several directories of tests use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from morello.definitions import Definitions, load_definitions

settings.register_profile("long", max_examples=1000, deadline=None)

os.environ["MORELLO_MEMO"] = "off"  # tests that want one name it
os.environ["MORELLO_PROFILE"] = "off"

PROJECT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session", autouse=True)
def _own_cache_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests, and the processes that they start, neither read nor fill the user's caches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def project() -> Path:
    """The checkout."""
    return PROJECT


@pytest.fixture(scope="session")
def definitions() -> Definitions:
    """Everything that the installed plugins define."""
    return load_definitions()
