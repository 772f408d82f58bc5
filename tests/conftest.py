"""Fixtures that several directories of tests use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from morello.definitions import Definitions, load_definitions
from morello.resources import available_cores

SLOW = [HealthCheck.too_slow]  # other tests run beside these: nothing may depend on the clock
settings.register_profile("same", derandomize=True, deadline=None, suppress_health_check=SLOW)
settings.register_profile("long", max_examples=1000, deadline=None, suppress_health_check=SLOW)
settings.load_profile("same")  # --hypothesis-profile=long comes later, and counts more

os.environ["MORELLO_MEMO"] = "off"  # tests that want one name it
os.environ["MORELLO_PROFILE"] = "off"

PROJECT = Path(__file__).resolve().parent.parent


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """A process for each core; none besides this one where only files or single tests are named.

    Their output is then there as it comes, and the first of them begins at once.
    """
    files_alone = all(".py" in argument for argument in config.args)
    return 0 if files_alone else available_cores()


@pytest.fixture(scope="session", autouse=True)
def _own_cache_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests, and the processes that they start, neither read nor fill the user's caches.

    All processes of a run keep in one file what `tests.end_to_end.kernels` solves.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("MORELLO_TEST_KERNELS", str(shared / "kernels.memo"))
        yield


@pytest.fixture(scope="session")
def project() -> Path:
    """The checkout."""
    return PROJECT


@pytest.fixture(scope="session")
def definitions() -> Definitions:
    """Everything that the installed plugins define."""
    return load_definitions()
