"""Programs are measured by workers: one goal at a time, where there is the resource for it."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from morello.checking.goal_list import read_goal_list
from morello.definitions import Definitions
from morello.errors import InternalError, MorelloError
from morello.filling.work import setting_of
from morello.learning.collect import collect
from morello.learning.corpus import groups_in
from morello.learning.merging import replayed
from morello.records import replace
from morello.resources import processor_model

from .test_collect import LIST

pytest.importorskip("distributed")

from morello.filling.scheduler import Scheduler
from morello.learning.remote import (
    Batch,
    collect_by_workers,
    measured_by_worker,
)

TARGET = "x86.scalar"


@pytest.fixture
def batch(definitions: Definitions) -> Batch:
    goals = tuple(read_goal_list("l.toml", LIST, definitions.operators))
    setting = setting_of(definitions, (), [TARGET])
    return Batch(setting, TARGET, goals, frozenset(), programs=2, busy=True, verify=True)


def test_groups_come_back_and_are_not_measured_twice(
    cluster: Any, batch: Batch, definitions: Definitions, tmp_path: Path
) -> None:
    directory = tmp_path / "corpus"
    with closing(Scheduler(cluster.scheduler_address, "measure")) as scheduler:
        found = list(collect_by_workers(scheduler, batch, directory, lambda _: None))
        assert sorted(str(one.goal) for one in found) == ["product M=12", "product M=9", "two"]
        groups = list(groups_in(directory))
        assert {group.processor for group in groups} == {processor_model()}
        assert all(len(p.runs) == 2 for group in groups for p in group.programs)
        again = list(collect_by_workers(scheduler, batch, directory, lambda _: None))
    assert not again
    target = definitions.targets[TARGET]
    here = collect(definitions, target, batch.goals, directory, lambda _: None, busy=True)
    assert not list(here), "they are known here, too"
    for group in groups:
        assert all(one.same for one in replayed(definitions, group))


def test_workers_without_the_resource_are_not_asked(cluster: Any, batch: Batch) -> None:
    with closing(Scheduler(cluster.scheduler_address, "zen9")) as scheduler:
        assert scheduler.workers() == []
        scheduler.call("one", measured_by_worker, batch)
        assert not scheduler.returned()
        assert scheduler.begun == 1


def test_what_cannot_be_measured_is_said(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = measured_by_worker(
        replace(batch, target="z80", setting=replace(batch.setting, coefficients={"z80": {}}))
    )
    assert isinstance(refused, MorelloError)
    assert "has no target 'z80'" in str(refused)
    monkeypatch.setattr(sys, "executable", "false")
    crashed = measured_by_worker(batch)
    assert isinstance(crashed, list)
    assert len(crashed) == 3
    assert all(isinstance(one.refused, InternalError) for one in crashed)
