"""Arguments and environments that make no sense: an error with advice, before any work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import morello
from morello.definitions.profile import profile_path
from morello.errors import UsageError
from morello.memo.place import VARIABLE
from morello.runtime.timing import time_alternately

SPEC = "spec f(N = 4) { input x: f32[N] output y: f32[N] y = relu(x) }"
NOBODY = "~nobody-here/x"


def _open(**options: Any) -> morello.Memo:
    return morello.Memo.open("memo.sqlite", **options)


def _measured(count: int) -> object:
    return morello.compile(SPEC, target="x86.scalar", memo=morello.Memo(), measure=count)


def _load(files: Any) -> object:
    return morello.load_definitions(files)


Case = tuple[Callable[[], object], str, str]

CASES: Mapping[str, Case] = {
    "a link to itself": (lambda: morello.Memo.open("loop"), "leads nowhere", "name a memo"),
    "a path that is too long": (lambda: morello.Memo.open("x" * 5000), "leads nowhere", "name a"),
    "a path with a zero": (lambda: morello.Memo.open("a\0b"), "'a\\x00b' cannot be", "None"),
    "a number for a path": (lambda: morello.Memo.open(5), "5 cannot be", "None"),  # type: ignore[arg-type]
    "less than no memory": (lambda: _open(budget=-1), "budget=-1", "1 << 30"),
    "a text for a budget": (lambda: _open(budget="1 MiB"), "budget='1 MiB'", "1 << 30"),
    "none to measure": (lambda: _measured(0), "measure 0", "from 1 to 1,000"),
    "23 digits to measure": (lambda: _measured(10**22), "so many programs", "from 1 to 1,000"),
    "5,000 digits to measure": (lambda: _measured(10**5000), "so many programs", "from 1 to"),
    "a number for definitions": (lambda: _load([5]), "5 (int) is no file", "morello.Source"),
    "a number for a list": (lambda: _load(5), "5 (int) is no file", "morello.Source"),
    "a text for repeats": (lambda: time_alternately({}, repeats="3"), "time '3' batches", "1"),  # type: ignore[arg-type]
    "part of a batch": (lambda: time_alternately({}, repeats=1.5), "time 1.5 batches", "1"),  # type: ignore[arg-type]
    "a text for warmup": (lambda: time_alternately({}, warmup="2"), "after '2'", "at least 0"),  # type: ignore[arg-type]
    "a batch for ever": (
        lambda: time_alternately({}, min_seconds=float("inf")),
        "min_seconds=inf",
        "0 to 3600",
    ),
    "no number of seconds": (
        lambda: time_alternately({}, min_seconds=float("nan")),
        "min_seconds=nan",
        "0 to 3600",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_a_wrong_use(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what was given, and the advice what is expected; no file is left."""
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    use, message, advice = CASES[name]
    with pytest.raises(UsageError) as refused:
        use()
    assert message in str(refused.value)
    assert advice in refused.value.help
    assert ["loop"] == [path.name for path in tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("variable", "use"),
    [(VARIABLE, morello.Memo.open), ("MORELLO_PROFILE", profile_path)],
    ids=["memo", "profile"],
)
def test_an_environment_may_name_the_home_of_nobody(
    variable: str, use: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable is named, and what to do."""
    monkeypatch.setenv(variable, NOBODY)
    with pytest.raises(UsageError, match=f"{variable} is '{NOBODY}'") as refused:
        use()
    assert "write the directory out" == refused.value.help
