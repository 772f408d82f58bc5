"""Wrong rules and kernels, in files; a comment before each is a pattern of what is said of it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from morello.definitions import Definitions, load_definitions
from morello.language.source import Source

HERE = Path(__file__).parent
FILES = ("planted.mrules", "planted.mtarget")

_EXPECTED = re.compile(r"^# wrong: (.*)\n(?:rule|kernel) (\w+)", re.MULTILINE)


def expected(file: str) -> dict[str, str]:
    """Pattern by the name of the rule or kernel."""
    return {name: pattern for pattern, name in _EXPECTED.findall((HERE / file).read_text())}


@cache
def definitions() -> Definitions:
    """What ships, and what is wrong: the loader accepts all of it."""
    return load_definitions([Source(file, (HERE / file).read_text()) for file in FILES])
