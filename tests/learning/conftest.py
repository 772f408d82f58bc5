"""A cluster of one worker that measures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clusters import local_cluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Any]:
    with local_cluster(tmp_path, 1, resources={"measure": 1}) as found:
        yield found
