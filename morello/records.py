"""Values that do not change.

Most are `msgspec.Struct`: made, compared and hashed in C, and a class of theirs costs an import
nothing. A class is a dataclass where a value is to be worked out once, or some fields are not to be
compared.
"""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import msgspec

Record = TypeVar("Record")


def replace(record: Record, **changes: Any) -> Record:
    """A copy of a record of either kind with other values in some fields."""
    if isinstance(record, msgspec.Struct):
        return msgspec.structs.replace(record, **changes)
    copy: Record = dataclasses.replace(record, **changes)  # type: ignore[type-var]
    return copy
