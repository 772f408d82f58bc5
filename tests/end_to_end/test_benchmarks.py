"""The measuring scripts run, and the pages quote what was measured.

Those of matrix products are in `test_benchmarks_matmul`.
"""

from __future__ import annotations

import json
import re
from math import isfinite
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import calls, figures, growth, memo, search, startup
from benchmarks.apart import apart
from benchmarks.cases import Case
from benchmarks.machine import environment
from morello.definitions import Definitions
from morello.records import replace
from morello.rewriting.context import Context
from morello.runtime.timing import Contender
from morello.search.search import search as search_for
from morello.toolchain.compilers import find_compiler

TINY = Case(3, 5, 4)


@pytest.mark.slow
def test_starts_are_timed(tmp_path: Path) -> None:
    """The compile with what is kept from earlier ones, and without, among them."""
    output = tmp_path / "startup.json"
    done = CliRunner().invoke(startup.main, ["--repeats", "1", "--json", str(output)])
    assert done.exit_code == 0, done.output
    document = json.loads(output.read_text())
    assert [record["case"] for record in document["cases"]] == list(startup.CONTENDERS)
    for record in document["cases"]:
        assert 0 <= record["compiling_seconds"] < record["seconds"]
        assert f"| `{record['case']}` |" in done.output


def test_a_search_is_measured_in_a_fresh_process() -> None:
    """Counts, seconds and memory of one size."""
    document = search.run([TINY], "x86.scalar")
    (record,) = document["cases"]
    assert (record["case"], record["cells"] > record["families"] > 0) == ("3x5x4", True)
    assert 0 < record["seconds"] < 600
    assert 10 < record["peak_mib"] < 4096
    assert set(record["level_axes"]) <= {"0", "1"}  # what docs/search.md says of placing in order
    assert "| 3 x 5 x 4 |" in search.table(document)


def test_calls_are_timed() -> None:
    """Each of them computes something, and all of them the same."""
    results = [call() for call in calls.calls().values()]
    assert all(np.array_equal(results[0], result) for result in results)
    done = CliRunner().invoke(calls.main, ["--json"])
    assert list(json.loads(done.output)) == list(calls.calls())


@pytest.mark.slow
def test_a_memo_is_measured_cold_warm_and_for_a_part() -> None:
    """New processes; the second is answered from the file, and so is half of the size."""
    document = memo.run([Case(4, 4, 4), Case(2, 2, 2)], "x86.scalar", 1)
    assert ["4x4x4", "2x2x2"] == [record["case"] for record in document["cases"]]
    assert all(r["cells"] >= r["boxes"] > 0 < r["file_bytes"] for r in document["cases"])
    assert [("2x2x2", "4x4x4")] == [(r["case"], r["after"]) for r in document["parts"]]
    assert "| 4 x 4 x 4 |" in memo.table(document)
    assert "2 x 2 x 2 after 4 x 4 x 4" in memo.parts_text(document)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["x86.scalar", "x86.avx512"])
def test_a_target_without_a_level_still_has_programs(definitions: Definitions, name: str) -> None:
    """In fewer families; kernels whose costs name the level are among those that are left."""
    target = definitions.targets[name]
    full = Context(target, definitions.operators, definitions.rules)
    less = replace(full, target=growth.without_level(target, "l2"))
    found = [search_for(used, growth.goal(TINY, used)) for used in (full, less)]
    assert found[1].families < found[0].families
    assert isfinite(found[1].intensity(growth.goal(TINY, less)))


def test_the_pages_quote_what_was_measured() -> None:
    """``python -m benchmarks.figures --write-only`` would change nothing."""
    found = figures.tables()
    marked = set()
    for page in figures.PAGES:
        text = (figures.PROJECT / page).read_text()
        marked |= {match[2] for match in figures.MARKED.finditer(text)}
        assert text == figures.updated(text, found), f"{page}: run python -m benchmarks.figures"
    assert set(found) == marked
    for name in figures.kept(figures.PRODUCTS):
        assert (figures.RESULTS / f"{name}.svg").is_file(), "run python -m benchmarks.figures"


def test_the_machine_is_described() -> None:
    """All that one needs to judge a number; the commit only where there is one to ask for."""
    found = environment(find_compiler())
    assert all(found[name] for name in ("processor", "cores", "system", "compiler"))
    assert {"python", "numpy", "morello"} <= set(found["versions"])
    assert found["commit"] is None or re.fullmatch(r"[0-9a-f]{12}\+?", found["commit"])


def _writing(path: str) -> Contender:
    def run(count: int) -> None:
        with open(path, "a") as file:
            file.write("x" * count)

    return run


def _nothing() -> None:
    return None


def test_a_contender_apart_works_while_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As often as it is told, and for a time to wake up; where there is none, none is yielded."""
    now = iter([0.0, 0.0, 0.02, 0.049, 0.051])
    monkeypatch.setattr("benchmarks.harness.monotonic", lambda: next(now))
    path = tmp_path / "written"
    with apart(_writing, str(path)) as contender:
        assert contender is not None
        contender(3)
        contender.wake()
        contender(2)
    assert "x" * 8 == path.read_text()
    with apart(_nothing) as none:
        assert none is None
