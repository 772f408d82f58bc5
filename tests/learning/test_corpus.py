"""A corpus keeps what was measured; files that are no groups are refused, and merged once."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from morello.learning.corpus import SUFFIX, CorpusError, groups_in, read_group, write_group
from morello.learning.merging import Merged, merge
from morello.records import replace
from tests.learning.groups import group


def test_groups_are_read_as_they_were_written(tmp_path: Path) -> None:
    groups = [group(number, noise=0.1) for number in range(3)]
    for one in groups:
        write_group(tmp_path, one)
    found = list(groups_in(tmp_path))
    assert {one.key: one for one in found} == {one.key: one for one in groups}
    assert len({one.key for one in groups}) == 3
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(one.file for one in groups)
    program = groups[0].programs[0]
    assert min(program.runs[0]) <= program.cycles_in(0) <= max(program.runs[0])


def changed(path: Path, change: Any) -> None:
    """A group's file with other lines."""
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
    change(lines)
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[0].update(format=99),
        lambda lines: lines[0].pop("spec"),
        lambda lines: lines[0].update(more=1),
        lambda lines: lines[0].update(name="../elsewhere"),
        lambda lines: lines[0].update(spec=5),
        lambda lines: lines[0].update(target=["x86.scalar"]),
        lambda lines: lines[0].update(defines=[1]),
        lambda lines: lines[0].update(coefficients=[1.0]),
        lambda lines: lines[0].update(flags=[1]),
        lambda lines: lines[1].update(runs=[[10**400]]),
        lambda lines: lines[1].update(predicted=-1.0),
        lambda lines: lines[1].update(runs=[]),
        lambda lines: lines[1].update(runs=[[]]),
        lambda lines: lines[1].update(runs=[[0.0]]),
        lambda lines: lines[1].update(runs=[["x"]]),
        lambda lines: lines[1].update(features={"a": "b"}),
        lambda lines: lines[1].pop("text"),
        lambda lines: lines.clear(),
        lambda lines: lines.append([1]),
    ],
)
def test_what_is_no_group_is_refused(change: Any, tmp_path: Path) -> None:
    path = write_group(tmp_path, group(1))
    changed(path, change)
    with pytest.raises(CorpusError, match="is no group of a corpus"):
        read_group(path)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / f"x{SUFFIX}"
    good = write_group(tmp_path, group(1)).read_bytes()
    flipped = good[:60] + bytes(255 - byte for byte in good[60:100]) + good[100:]
    nested = gzip.compress(b"[" * 100_000)
    for contents in (b"", b"{}", good[:50], gzip.compress(b"\xff"), flipped, nested):
        path.write_bytes(contents)
        with pytest.raises(CorpusError, match="is no group of a corpus"):
            read_group(path)
    with pytest.raises(CorpusError, match="there is no corpus"):
        list(groups_in(tmp_path / "nowhere"))


def test_merging_unites_runs_once(tmp_path: Path) -> None:
    """Other runs of the same programs are added; the same ones are not, and other programs not."""
    one, two, all_ = (tmp_path / name for name in ("one", "two", "all"))
    for directory in (one, two, all_):
        directory.mkdir()
    first = group(1, noise=0.1)
    again = replace(
        first,
        programs=tuple(replace(p, runs=((p.predicted, p.predicted),)) for p in first.programs),
    )
    others = replace(group(2), programs=group(2).programs[:4])
    write_group(one, first)
    write_group(one, group(2))
    write_group(two, again)
    write_group(two, others)
    assert merge([one, two], all_) == Merged(new=2, longer=1, left_out=1)
    found = {g.key: g for g in groups_in(all_)}
    assert [len(p.runs) for p in found[first.key].programs] == [3] * 12
    assert len(found[others.key].programs) == 12
    assert merge([one, one], all_) == Merged()
    assert {g.key: g for g in groups_in(all_)} == found
