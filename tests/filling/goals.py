"""Goals to fill memos with, and what is in a memo."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path

from morello.checking.goal_list import ListedGoal, read_goal_list
from morello.definitions import Definitions, load_definitions
from morello.filling.fill import Filling
from morello.filling.work import Setting, setting_of

TARGET = "x86.scalar"

TEXT = """
[[goal]]
spec = '''
spec ramp(M = 6, N = 5) {
  input x: f32[M, N]
  output y: f32[M, N]
  y = relu(x)
}
'''
sizes = { M = [3, 6, 11], N = [2, 5] }

[[goal]]
spec = '''
spec twice(M = 6, N = 5) {
  input x: u8[M, N]
  output y: u8[M, N]
  y = add(x, x)
}
'''
sizes = { M = [4, 7], N = [9, 3] }

[[goal]]
spec = '''
spec turned(M = 6, N = 5) {
  input x: s32[M, N]
  output y: s32[N, M]
  y = transpose(x)
}
'''
sizes = { M = [2, 9], N = [8, 5] }
"""

Pages = list[tuple[bytes, ...]]


@cache
def definitions() -> Definitions:
    return load_definitions()


def goals(text: str = TEXT, targets: tuple[str, ...] = (TARGET,)) -> list[tuple[ListedGoal, str]]:
    listed = read_goal_list("goals.toml", text, definitions().operators)
    return [(goal, target) for goal in listed for target in targets]


def filling(text: str = TEXT, targets: tuple[str, ...] = (TARGET,)) -> Filling:
    return Filling(definitions(), goals(text, targets), lambda _: None)


def setting() -> Setting:
    return setting_of(definitions(), (), [TARGET])


def pages(path: Path) -> Pages:
    """Everything that is in a memo, but when it was written."""
    with closing(sqlite3.connect(path)) as connection:
        select = "SELECT fingerprint, family, axes, data FROM pages"
        return sorted(connection.execute(select).fetchall())
