"""Contests that a worker holds: what it times is what is written here."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from morello.cli.main import main
from morello.compiler import compile_spec
from morello.definitions import Definitions
from morello.errors import InternalError, MorelloError
from morello.filling.work import setting_of
from morello.ir.programs.emitted import EmitOptions
from morello.kernel import Kernel
from morello.language.source import Source
from morello.learning.remaking import digest, recipe_for
from morello.records import replace
from morello.resources import processor

pytest.importorskip("distributed")

from morello.filling.scheduler import Scheduler
from morello.learning.contest import (
    Sent,
    WorkerContest,
    held_by_worker,
)

TARGET = "x86.scalar"
TEXT = """
spec two(M) {
  input x: f32[M, 6]
  output y: f32[M, 6]
  output z: f32[M]
  y = exp(x)
  z = row_sum(y)
}
"""


@pytest.fixture
def kernel(definitions: Definitions) -> Kernel:
    return compile_spec(TEXT, defines={"M": 7}, target=TARGET, definitions=definitions)


@pytest.fixture
def sent(kernel: Kernel, definitions: Definitions) -> Sent:
    recipe = recipe_for(kernel.plan)
    return Sent(
        setting_of(definitions, (), [TARGET]),
        Source("<text>", TEXT),
        None,
        {"M": 7},
        TARGET,
        "two",
        EmitOptions(),
        "",
        ((recipe, digest(kernel.source)),),
    )


def test_a_worker_chooses_among_the_programs_that_would_be_measured_here(
    cluster: Any, definitions: Definitions
) -> None:
    with closing(Scheduler(cluster.scheduler_address, "measure")) as scheduler:
        kernel = compile_spec(
            TEXT,
            defines={"M": 7},
            target=TARGET,
            definitions=definitions,
            measure=3,
            name="other",
            annotate=True,
            contest=WorkerContest(scheduler, "measure"),
        )
    assert [row.rank for row in kernel.measurements] == [1, 2, 3]
    (winner,) = (row for row in kernel.measurements if row.chosen)
    assert winner.description == kernel.plan.summary()
    assert winner.predicted_cycles == kernel.cost
    assert kernel.verification is not None
    assert kernel.verification.elements == kernel.verification.total
    assert kernel.measured_on is not None
    assert kernel.measured_on.processor == processor()


def test_the_command_asks_a_worker(cluster: Any, tmp_path: Path) -> None:
    file = tmp_path / "two.mspec"
    file.write_text(TEXT)
    command = ["compile", str(file), "-D", "M=7", "-t", TARGET, "-o", f"{tmp_path}/", "--no-memo"]
    command += ["--measure", "2", "--json", "--dask", cluster.scheduler_address]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["verified"]
    assert len(document["measured"]["programs"]) == 2
    assert document["measured"]["processor"] == processor()
    assert (tmp_path / "two.measured.json").exists()

    refused = CliRunner().invoke(main, [*command, "--on", "zen9"])
    assert refused.exit_code == 1
    assert "no worker measures 'two'" in refused.stderr
    assert '--resources "zen9=1"' in refused.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "--dask needs --measure"),
        (("--measure", "2", "--cc", "gcc"), "a worker has its own compiler"),
    ],
)
def test_options_that_make_no_sense_together(
    options: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    file = tmp_path / "two.mspec"
    file.write_text(TEXT)
    command = ["compile", str(file), "-D", "M=7", "-t", TARGET, "--dask", "tcp://127.0.0.1:1"]
    result = CliRunner().invoke(main, [*command, *options])
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_worker_that_would_write_other_code_is_refused(sent: Sent) -> None:
    ((recipe, _),) = sent.programs
    found = held_by_worker(replace(sent, programs=((recipe, "0" * 64),)))
    assert isinstance(found, MorelloError)
    assert "other rules, kernels or another version: its C code is another one" in str(found)
    strange = {**recipe, "options": [["no_such_rule"]] * len(recipe["options"])}
    found = held_by_worker(replace(sent, programs=((strange, "0" * 64),)))
    assert isinstance(found, MorelloError)
    assert "there is no 'no_such_rule()'" in str(found)


def test_a_crash_of_what_measures_is_said(sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "false")
    assert isinstance(held_by_worker(sent), InternalError)


def test_where_no_worker_is_none_is_waited_for(kernel: Kernel, cluster: Any) -> None:
    with closing(Scheduler(cluster.scheduler_address, "zen9")) as scheduler:
        contest = WorkerContest(scheduler, "zen9")
        with pytest.raises(MorelloError, match="no worker measures 'two'"):
            contest.check(kernel.goal, kernel.program.target)
