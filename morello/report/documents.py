"""Documents for tools: plain values, as JSON has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None

Document = dict[str, Json]
"""What is written."""

Part = Mapping[str, Any]
"""What is read of a document, by keys that its page in the documentation names."""
