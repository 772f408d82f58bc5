"""``morello learn``: from goals to a corpus, to a model, to a program that it chose."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from morello.definitions import Definitions
from morello.learning.corpus import Group, read_group, write_group
from morello.ranking.files import read_model
from morello.records import replace
from tests.cli.conftest import Run
from tests.learning.groups import group

Arguments = list[str | Path]

LIST = """
[[goal]]
spec = '''
spec product(M = 9) {
  input a: f32[M, 7]
  input b: f32[7, 8]
  output c: f32[M, 8]
  c = matmul(a, b)
}
'''
sizes = { M = [9, 10, 12] }
"""


def made_up(count: int, definitions: Definitions) -> Iterator[Group]:
    """Groups with the costs that the target has."""
    coefficients = definitions.targets["x86.scalar"].every_coefficient.items()
    for number in range(count):
        costs = {name: c.value for name, c in coefficients}
        yield replace(group(number, noise=0.01), coefficients=costs)


def test_from_goals_to_a_ranked_program(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    small_spec: Path,
    definitions: Definitions,
) -> None:
    """What is collected is checked, merged, learned from, and ranks the programs of a compile."""
    goals, corpus, model = (tmp_path / name for name in ("goals.toml", "corpus", "model.npz"))
    goals.write_text(LIST)
    options: Arguments = ["--programs", "4", "--busy", "-t", "x86.scalar", "-o", corpus]
    collected = run("learn", "collect", goals, *options)
    assert (collected.exit_code, collected.stderr) == (0, "")
    assert "of 3 goals are new in" in collected.stdout
    again = json.loads(run("learn", "collect", goals, *options, "--json").stdout)
    assert (again["goals"], again["left_out"]) == (0, 0)
    checked = run("learn", "check", corpus)
    assert (checked.exit_code, checked.stderr) == (0, "")
    assert run("learn", "merge", corpus, "-o", tmp_path / "all", "--json").exit_code == 0
    for one in made_up(8, definitions):  # of another processor: there is enough to learn from
        write_group(tmp_path / "all", one)
    small = run("learn", "train", tmp_path / "all", "-o", model)
    assert "8 goals that another processor measured are left out" in small.stderr
    assert not model.exists()
    for path in corpus.iterdir():
        (tmp_path / "all" / path.name).unlink()
    trained = run("learn", "train", tmp_path / "all", "-o", model)
    assert (trained.exit_code, trained.stderr) == (0, "")
    assert "96 programs of 8 goals, trees: " in trained.stdout
    digest = read_model(model).digest
    monkeypatch.setenv("MORELLO_MODEL", str(model))
    out: Arguments = ["-o", tmp_path / "ranked", "--rank", "learned", "--from", "8"]
    ranked = run("compile", small_spec, "-t", "x86.scalar", *out)
    assert (ranked.exit_code, ranked.stderr) == (0, "")
    assert f"the model {digest}: of " in ranked.stdout
    assert f"ranked by the model {digest}" in (tmp_path / "ranked.c").read_text()
    told = run("explain", small_spec, "-t", "x86.scalar", "--rank", "learned")
    assert (told.exit_code, told.stderr) == (0, "")
    assert f"the model {digest}: of " in told.stdout
    assert "by model" in told.stdout
    out = [
        "-o",
        tmp_path / "fast",
        "--rank",
        "learned",
        "--from",
        "128",
        "--measure",
        "2",
        "--json",
    ]
    document = json.loads(run("compile", small_spec, "-t", "x86.scalar", *out).stdout)
    assert document["ranking"]["model"] == digest
    assert len(document["measured"]["programs"]) == 2
    plain = run("compile", small_spec, "-t", "x86.scalar", "-o", tmp_path / "plain")
    assert plain.exit_code == 0
    assert "model" not in (tmp_path / "plain.c").read_text()


def test_an_evaluation_is_shown(run: Run, tmp_path: Path) -> None:
    for number in range(8):
        write_group(tmp_path, group(number, noise=0.01))
    shown = run("learn", "evaluate", tmp_path)
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert "by goal: 8 goals, x86.scalar on a processor" in shown.stdout
    assert "ceiling" in shown.stdout
    drawn = tmp_path / "regrets.svg"
    options: Arguments = ["--split", "held-out", "--split", "size", "--json", "--picture", drawn]
    splits = json.loads(run("learn", "evaluate", tmp_path, *options).stdout)["splits"]
    assert [(one["split"], one["goals"]) for one in splits] == [("held-out", 2), ("size", 4)]
    assert splits[0]["methods"]["trees if sure"]["better"] == 1
    assert "by held-out: 2 goals" in drawn.read_text()
    assert "by size: 4 goals" in drawn.read_text()
    twice = run("learn", "evaluate", tmp_path, "--picture", drawn)
    assert f"'{drawn}' exists" in twice.stderr


def test_a_model_that_is_not_better_is_not_kept(run: Run, tmp_path: Path) -> None:
    """Where all programs take what is predicted, there is nothing to gain."""
    for number in range(8):
        write_group(tmp_path, group(number, noise=0.001, slow=0.0))
    model = tmp_path / "model.npz"
    refused = run("learn", "train", tmp_path, "-o", model)
    assert refused.exit_code == 1
    assert "not better than the cost model for sure" in refused.stderr
    assert not model.exists()
    elsewhere = run("learn", "train", tmp_path, "--force")
    assert "was measured on another processor: a processor" in elsewhere.stderr
    assert "is a directory" in run("learn", "train", tmp_path, "-o", tmp_path).stderr
    forced = run("learn", "train", tmp_path, "-o", model, "--force")
    assert forced.exit_code == 0
    assert "for sure" in forced.stdout
    assert model.exists()


def test_what_is_left_of_a_corpus_is_collected_again(
    run: Run, tmp_path: Path, definitions: Definitions
) -> None:
    """A goal whose programs are others today is removed; one for a plugin that is gone stays."""
    goals, corpus = tmp_path / "goals.toml", tmp_path / "corpus"
    goals.write_text(LIST.replace("9, 10, 12", "9"))
    options: Arguments = ["--programs", "4", "--busy", "-t", "x86.scalar", "-o", corpus]
    assert run("learn", "collect", goals, *options).exit_code == 0
    (path,) = corpus.iterdir()
    kept = read_group(path)
    programs = tuple(replace(program, text="other") for program in kept.programs)
    write_group(corpus, replace(kept, programs=programs))
    away = write_group(corpus, replace(group(1), target="no.such"))
    assert run("learn", "check", corpus).exit_code == 1
    updated = run("learn", "check", corpus, "--update")
    assert updated.exit_code == 0
    assert "is removed" in updated.stderr
    assert "there is no target 'no.such'" in updated.stderr
    assert [*corpus.iterdir()] == [away]
    assert "1 goals are new" in run("learn", "collect", goals, *options).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["learn", "train", "nowhere"], "there is no corpus 'nowhere'"),
        (["learn", "evaluate", "."], "there is nothing in '.'"),
        (["learn", "collect", "no.toml"], "there is no file 'no.toml'"),
        (["learn", "collect", "-t", "x87"], "there is no target 'x87'"),
        (["learn", "check", "nowhere"], "there is no corpus 'nowhere'"),
        (["learn", "check", "."], "there is nothing in '.'"),
        (["learn", "merge", "nowhere", "-o", "all"], "there is no corpus 'nowhere'"),
        (["learn", "collect", "--minutes", "-1"], "-1"),
    ],
)
def test_wrong_uses_are_said(
    arguments: list[str], message: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    result = run(*arguments)
    assert result.exit_code in (1, 2)
    assert message in result.stderr


def test_ranking_needs_a_model(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    small_spec: Path,
    definitions: Definitions,
) -> None:
    """None, one that is switched off, damaged, for another target, or for other costs."""
    out: Arguments = ["-t", "x86.scalar", "--rank", "learned", "-o", tmp_path / "x"]
    monkeypatch.setenv("MORELLO_MODEL", str(tmp_path / "missing.npz"))
    missing = run("compile", small_spec, *out)
    assert missing.exit_code == 1
    assert f"cannot read '{tmp_path / 'missing.npz'}'" in missing.stderr
    monkeypatch.delenv("MORELLO_MODEL")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    none = run("compile", small_spec, *out)
    assert "there is no model for 'x86.scalar' on this processor" in none.stderr
    monkeypatch.setenv("MORELLO_MODEL", "off")
    assert "models are switched off" in run("compile", small_spec, *out).stderr
    damaged = tmp_path / "damaged.npz"
    damaged.write_bytes(b"PK")
    monkeypatch.setenv("MORELLO_MODEL", str(damaged))
    assert "is no model that can be used" in run("compile", small_spec, *out).stderr
    for number in range(4):
        write_group(tmp_path, group(number, noise=0.01))
    assert run("learn", "train", tmp_path, "-o", damaged, "--force").exit_code == 0
    other: Arguments = ["-t", "c.scalar", *out[2:]]
    assert "is a model for 'x86.scalar'" in run("compile", small_spec, *other).stderr
    for one in made_up(4, definitions):
        write_group(tmp_path, replace(one, coefficients={"scalar_load": 1.0}))
    assert run("learn", "train", tmp_path, "-o", damaged, "--force").exit_code == 0
    assert "was trained for other costs" in run("compile", small_spec, *out).stderr
    several: Arguments = ["-t", "x86.scalar,x86.avx2", *out[2:]]
    assert "--rank is for one target" in run("compile", small_spec, *several).stderr
