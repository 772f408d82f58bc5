"""The parts of the document that others read, too: their keys. docs/explain.md has them all."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from morello.report.plan import PlanStep


class Usage(TypedDict):
    """What is in use of a level while a line runs."""

    level: str
    unit: str
    in_use: int
    limit: int


class Peak(Usage):
    """The most that is in use of a level, and the first line where it is."""

    line: int


class Held(TypedDict):
    """What a line holds nearer."""

    tensor: str
    level: str
    copied: bool
    size: int | None
    unit: str


class Cost(TypedDict):
    """What a coefficient makes of all cycles."""

    coefficient: str
    count: float
    value: float
    cycles: float
    share: float
    doc: str
    source: str


class Node(PlanStep):
    """A step of the plan, with what its line costs and uses; a sequence has no line."""

    line: NotRequired[int]
    decision: NotRequired[int]
    runs: NotRequired[int]
    total_cycles: NotRequired[float]
    costs: NotRequired[dict[str, float]]
    memory: NotRequired[list[Usage]]
    placed: NotRequired[list[Held]]
    children: list[Node]


class Limit(TypedDict):
    """The most operations a cycle, and the least cycles, as far as they are known."""

    roof: float | None
    cycles: float | None


class Computed(Limit):
    """Operations of a kind, and the kernel that does the most of them a cycle."""

    computes: str
    operations: int
    kernel: str | None


class Arithmetic(Limit):
    """The limit of all operations."""

    by: list[Computed]


class LevelLimit(Limit):
    """The limit of a level of memory."""

    level: str
    bytes: int
    intensity: float | None
    bytes_per_cycle: float | None
    source: str | None


class Bound(TypedDict):
    """The limit that is reached first."""

    by: str
    cycles: float


class Roofline(TypedDict):
    """A program against the limits of its target."""

    operations: int
    cycles: float
    operations_per_cycle: float
    arithmetic: Arithmetic
    levels: list[LevelLimit]
    bound: Bound | None
