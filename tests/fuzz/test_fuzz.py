"""Damaged files are read, or refused with a diagnostic; and what goes wrong is noticed."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from random import Random

import pytest

from morello.codegen.goals import context_for
from morello.errors import InternalError, MorelloError
from morello.memo.names import variant_of
from tests.fuzz.campaign import SHARES, run
from tests.fuzz.corpus import FAMILIES
from tests.fuzz.mutate import BYTES, LONGEST, TOKENS, Mutation, damaged
from tests.fuzz.readers import READERS, TARGET, Reader, installed
from tests.fuzz.worker import FAULTS, Limits, Outcome

FEW = range(200)


def test_damaged_files_end_in_diagnostics() -> None:
    """Of every kind. More are read by ``python -m tests.fuzz``."""
    report = run(7, FEW)
    assert [] == report.faults
    assert len(FEW) == sum(report.counts.values())


def test_every_kind_of_file_has_a_reader_and_a_share() -> None:
    assert set(READERS) == set(SHARES)


def test_texts_of_families_are_those_of_the_target() -> None:
    """What is damaged is sound before that."""
    known = context_for(installed(), installed().targets[TARGET])
    assert all(variant_of(text, known) for text in FAMILIES)


def _planted(monkeypatch: pytest.MonkeyPatch, read: Reader, limits: Limits) -> list[Outcome]:
    told: list[Outcome] = []
    monkeypatch.setitem(READERS, "profile", read)
    report = run(1, range(2), kinds=["profile"], limits=limits, told=told.append)
    assert len(report.faults) == sum(outcome.kind in FAULTS for outcome in told)
    return told


def _raises_key_error(*_: object) -> None:
    raise KeyError("planted")


def _raises_internal_error(*_: object) -> None:
    raise InternalError("planted")


def _raises_diagnostic(*_: object) -> None:
    raise MorelloError("planted")


def _sleeps(*_: object) -> None:
    time.sleep(60)


def _catches_all_and_sleeps(*_: object) -> None:
    try:
        time.sleep(60)
    except Exception:  # the alarm has to get past it
        time.sleep(60)


def _allocates(*_: object) -> None:
    bytearray(1 << 29)


def _is_killed(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (_raises_key_error, "exception"),
        (_raises_internal_error, "internal"),
        (_raises_diagnostic, "diagnostic"),
        (_sleeps, "hang"),
        (_catches_all_and_sleeps, "hang"),
        (_allocates, "memory"),
        (_is_killed, "signal"),
    ],
)
def test_a_planted_fault_is_caught(
    monkeypatch: pytest.MonkeyPatch, read: Reader, expected: str
) -> None:
    """Also in the input after it."""
    told = _planted(monkeypatch, read, Limits(seconds=0.3, memory=1 << 28))
    assert [(0, expected), (1, expected)] == [(o.number, o.kind) for o in told]


def test_what_failed_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The input, and how to read it again."""
    monkeypatch.setitem(READERS, "profile", _raises_key_error)
    report = run(1, range(1), kinds=["profile"], keep=tmp_path)
    (fault,) = report.faults
    assert "KeyError at ?" == fault["place"]
    assert "python -m tests.fuzz --seed 1 --first 0 --count 1 --kind 'profile'" == fault["again"]
    names = ["exception-1-0-profile.json", "exception-1-0.json"]
    assert names == sorted(path.name for path in tmp_path.iterdir())


@pytest.mark.parametrize("mutation", dict.fromkeys((*BYTES, *TOKENS)))
def test_every_mutation_takes_every_file(mutation: Mutation) -> None:
    """The empty one too, and most of the time the file is another one then."""
    text = b"spec s(M = 64) {\n  input x: f32[M]\n}\n"
    for data in (b"", b"\0\1", text):
        changed = [mutation(Random(seed), data, text) for seed in range(20)]
        assert all(isinstance(new, bytes) for new in changed)
        assert data != text or sum(new != text for new in changed) > 10


def test_damage_is_bounded_and_the_same_for_a_seed() -> None:
    for seed in range(50):
        data = damaged(Random(seed), b"a b c " * 9000, b"other")
        assert len(data) <= LONGEST
        assert data == damaged(Random(seed), b"a b c " * 9000, b"other")
