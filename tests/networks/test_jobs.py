"""Kernels of a network are searched in several processes at once, and come out the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import helper

import morello.filling.ahead as module
from morello.filling.work import OtherDefinitionsError, Solved, Task
from morello.filling.workers import LostWorkerError, Outcome, Processes

from .models import Arrays, model_of, random, saved
from .test_networks import TARGET, imported

UNARY = ("Relu", "Neg", "Tanh", "Sigmoid")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Four inputs, and a kernel of each."""
    inputs: Arrays = {f"x{place}": random(3, 4 + place) for place in range(len(UNARY))}
    nodes = [
        helper.make_node(name, [f"x{place}"], [f"y{place}"]) for place, name in enumerate(UNARY)
    ]
    return saved(model_of(nodes, inputs, [n.output[0] for n in nodes], {}), tmp_path)


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    """What processes were given."""
    found: list[Task] = []

    class Noted(Processes):
        def begin(self, task: Task) -> None:
            found.append(task)
            super().begin(task)

    monkeypatch.setattr(module, "Processes", Noted)
    return found


def _files(model: Path, name: str, *options: str) -> dict[str, bytes]:
    """What is written, but for the manifest, which has times."""
    directory = model.parent / name
    result = imported([str(model), "-o", str(directory), "-t", TARGET, *options])
    assert result.exit_code == 0, result.output
    paths = (p for p in directory.rglob("*") if p.is_file() and p.suffix != ".json")
    return {str(p.relative_to(directory)): p.read_bytes() for p in paths}


def test_files_are_the_same(model: Path, begun: list[Task]) -> None:
    alone = _files(model, "alone", "--no-memo", "--jobs", "1")
    assert not begun
    memo = str(model.parent / "memo.sqlite")
    assert _files(model, "together", "--memo", memo, "--jobs", "2") == alone
    count = len(begun)
    assert count == len(UNARY)
    assert _files(model, "warm", "--memo", memo, "--jobs", "2") == alone
    assert len(begun) == count
    assert _files(model, "again", "--no-memo", "--jobs", "2") == alone
    assert len(begun) == 2 * count


@pytest.mark.parametrize(
    "error", [LostWorkerError("it is gone"), OtherDefinitionsError("other rules")]
)
def test_what_processes_fail_to_search_is_searched_all_the_same(
    error: LostWorkerError | OtherDefinitionsError, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(Processes):
        def outcomes(self) -> list[Outcome]:
            return [
                Outcome(o.task, error if isinstance(o.found, Solved) else o.found)
                for o in super().outcomes()
            ]

    monkeypatch.setattr(module, "Processes", Failing)
    failed = _files(model, "failed", "--no-memo", "--jobs", "2")
    assert failed == _files(model, "alone", "--no-memo", "--jobs", "1")
