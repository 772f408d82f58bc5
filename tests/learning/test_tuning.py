"""Tuning finds the fastest program once, and keeps how it is made."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from morello.cli.main import main
from morello.definitions import Definitions
from morello.language.source import Source
from morello.learning.tuning import Tuned, tune
from morello.memo.memo import Memo

TARGET = "x86.scalar"
TEXT = """
spec product(M) { input x: f32[M, 6] input w: f32[6, 5] output y: f32[M, 5] y = matmul(x, w) }
"""


@pytest.fixture(autouse=True)
def few_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    _measure_few(monkeypatch)


def _measure_few(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("morello.learning.tuning.PROGRAMS", 2)
    patch.setattr("morello.learning.tuning.DRAWN", 16)


def _tuned(
    definitions: Definitions,
    memo: Memo,
    *,
    again: bool = False,
    name: str | None = None,
    annotate: bool = False,
    rows: int = 7,
) -> Tuned:
    return tune(
        Source("<text>", TEXT),
        defines={"M": rows},
        target=TARGET,
        definitions=definitions,
        memo=memo,
        again=again,
        name=name,
        annotate=annotate,
        warn=pytest.fail,
    )


def _files(path: Path) -> list[Path]:
    return sorted(path.with_suffix(".tuned").iterdir())


@pytest.fixture(scope="module")
def once(definitions: Definitions, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a memo and what was tuned."""
    directory = tmp_path_factory.mktemp("tuned")
    with pytest.MonkeyPatch.context() as patch:
        _measure_few(patch)
        with Memo.open(directory / "memo.sqlite") as memo:
            assert not _tuned(definitions, memo).known
    return directory


@pytest.fixture
def kept(once: Path, tmp_path: Path) -> Path:
    """A memo beside which it is kept."""
    shutil.copytree(once, tmp_path / "copied")
    return tmp_path / "copied" / "memo.sqlite"


def test_what_is_known_is_not_measured_again(definitions: Definitions, tmp_path: Path) -> None:
    path = tmp_path / "memo.sqlite"
    with Memo.open(path) as memo:
        first = _tuned(definitions, memo)
        assert not first.known
        assert first.gain >= 1
        assert first.programs == len(first.kernel.measurements) > 1
    with Memo.open(path) as memo:
        then = _tuned(definitions, memo)
        assert then.known
        assert then.kernel.source == first.kernel.source
        assert (then.gain, then.programs) == (first.gain, first.programs)
        assert then.kernel.verification == first.kernel.verification
        assert then.kernel.statistics.from_memo
        then.kernel.verify()
        assert len(_files(path)) == 1
        assert not _tuned(definitions, memo, rows=8).known
        assert len(_files(path)) == 2
        assert not _tuned(definitions, memo, again=True).known
        assert len(_files(path)) == 2


def test_the_name_and_notes_are_those_that_are_asked_for(
    definitions: Definitions, kept: Path
) -> None:
    with Memo.open(kept) as memo:
        other = _tuned(definitions, memo, name="other", annotate=True)
        assert other.known
        assert other.kernel.name == "other"
        assert ".mrules:" in other.kernel.source


class MeasuredError(Exception):
    """Programs would be measured."""


@pytest.mark.parametrize(
    "content",
    ["", "[]", '{"format": 1}', {"text": "0" * 64}, {"format": 0}, {"recipe": {"options": []}}],
)
def test_what_says_nothing_or_makes_another_program_is_not_used(
    content: str | dict[str, object],
    definitions: Definitions,
    kept: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def measure(*_: object, **__: object) -> None:
        raise MeasuredError

    monkeypatch.setattr("morello.learning.tuning.compile_spec", measure)
    (file,) = _files(kept)
    with Memo.open(kept) as memo:
        assert _tuned(definitions, memo).known
        said = {**json.loads(file.read_text()), **content} if isinstance(content, dict) else content
        file.write_text(said if isinstance(said, str) else json.dumps(said))
        with pytest.raises(MeasuredError):
            _tuned(definitions, memo)


def test_where_nothing_can_be_kept_that_is_said(definitions: Definitions, tmp_path: Path) -> None:
    assert not _tuned(definitions, Memo()).known
    path = tmp_path / "memo.sqlite"
    path.with_suffix(".tuned").write_text("a file of somebody")
    said: list[str] = []
    with Memo.open(path) as memo:
        source, defines = Source("<text>", TEXT), {"M": 7}
        tune(
            source,
            defines=defines,
            target=TARGET,
            definitions=definitions,
            memo=memo,
            warn=said.append,
        )
    (warning,) = said
    assert warning.startswith("what tuning found is not kept: ")


def _run(tmp_path: Path, *options: str) -> Result:
    file = tmp_path / "product.mspec"
    file.write_text(TEXT)
    command: Sequence[str] = ["compile", str(file), "-D", "M=7", "-t", TARGET, "-o", f"{tmp_path}/"]
    return CliRunner().invoke(main, [*command, "--memo", str(tmp_path / "m.sqlite"), *options])


def test_the_command_says_what_it_gained(tmp_path: Path) -> None:
    first = _run(tmp_path, "--tune")
    assert first.exit_code == 0, first.output
    assert "times as fast as the first choice" in first.stdout
    assert "and that is kept" in first.stdout
    assert "verified: equal to the reference" in first.stdout
    then = _run(tmp_path, "--tune", "--json")
    document = json.loads(then.stdout)
    assert document["verified"]
    assert document["tuned"]["known"]
    assert document["tuned"]["gain"] >= 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--tune", "--measure", "3"), "--tune chooses by itself what --measure says"),
        (("--tune", "--rank", "learned"), "--tune chooses by itself what --rank says"),
        (("--again",), "--again is for --tune"),
        (("--tune", "-t", "x86.scalar,x86.avx2"), "--tune is for one target"),
    ],
)
def test_options_that_make_no_sense_together(
    options: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    refused = _run(tmp_path, *options)
    assert refused.exit_code == 2
    assert said in refused.stderr
    assert not list(tmp_path.glob("*.c"))
