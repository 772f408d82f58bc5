"""Commands in other environments than the one that the tests run in."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

SECONDS = 600
OWN = ("PYTHON", "PYTEST", "COV_")
"""How variables begin that are for this environment's Python and tests."""


def output_of(command: Iterable[str | Path], cwd: Path, **variables: str) -> str:
    """What a command prints, away from this environment's paths; a failure is one of the test."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OWN)}
    finished = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**kept, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout
    return finished.stdout
