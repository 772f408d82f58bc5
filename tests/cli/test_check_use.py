"""``morello check --use``: which specs, which targets, what is counted, what is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from morello.cli import use
from morello.definitions import Definitions
from morello.language.source import Source
from tests.cli.conftest import Run

RULES = """
op same(X: T[i...]) -> Y: T[i...] { Y[i...] = X[i...] * 1 }

rule cancel
  "What is multiplied by one is itself."
  match  f: same
  yield  copy(f.X, f.Y)

rule dear
  "The same, at a loop more."
  match  f: same
  cost   loop_step
  yield  copy(f.X, f.Y)
"""

KERNEL = """
target mine.small extends x86.scalar
  "A smaller one."
{
  level reg { capacity 4 vectors }
}

kernel one_element on mine.small
  "One element."
  match  copy(X: f32[...] at l1, Y: f32[...] at l1)
  cost   scalar_load
  emit   ```
    {{ Y[0] }} = {{ X[0] }};
  ```
"""

COPIED = "spec copied(M = 3) { input x: f32[M]; output y: f32[M]; y = copy(x) }\n"
SPEC = f"spec itself(N) {{ input x: f32[N]; output y: f32[N]; y = same(x) }}\n{COPIED}"
ODD = "spec odd() { input x: bf16[3]; output y: bf16[3]; y = exp(x) }\n"


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    """In the working directory, which `run` makes of it."""
    (tmp_path / "mine.mrules").write_text(RULES)
    (tmp_path / "mine.mtarget").write_text(KERNEL)
    (tmp_path / "mine.mspec").write_text(SPEC)


def test_tables_notes_and_a_line(run: Run) -> None:
    """Tables on the standard output, notes on the other; what is of no use is no error."""
    options = ("-D", "N=6", "-t", "x86.scalar", "--no-memo")
    result = run("check", "--use", "mine.mrules", "mine.mspec", *options)
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    (row,) = [line for line in lines if line.startswith("itself x86.scalar")]
    assert row.endswith("cancel, dear cancel")  # both fire, one wins
    assert any(line.startswith("rule 'cancel' (mine.mrules:4) 1 of 2") for line in lines)
    assert lines[-2] == "2 rules: 2 fired, 1 won; over 2 specs of mine.mspec for x86.scalar"
    assert lines[-1] == "checked 2 files: no errors, 1 note"
    assert result.stderr.startswith("note[N002]: rule 'dear' never wins")
    assert "fires in 1 of 2 compiles" in result.stderr


def test_the_plugins_specs_are_the_default(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the targets that the files declare, or declare kernels for."""
    text = SPEC.replace("(N)", "(N = 4)").replace("same", "copy")
    monkeypatch.setattr(use, "calibration_specs", lambda _: [Source("given.mspec", text)])
    result = run("check", "--use", "--json", "mine.mtarget", "--no-memo")
    document = json.loads(result.stdout)
    compiled = [(c["spec"], c["file"], c["target"]) for c in document["use"]["specs"]]
    assert compiled == [(s, "given.mspec", "mine.small") for s in ("itself", "copied")]
    (kernel,) = document["use"]["kernels"]
    assert (kernel["name"], kernel["fired"], kernel["line"]) == ("one_element", 2, 8)
    assert document["use"]["rules"] == []


@pytest.mark.parametrize("declared", [(), ("only.mrules",)], ids=["none", "operators"])
def test_all_are_counted_where_none_are_declared(
    declared: tuple[str, ...], run: Run, definitions: Definitions
) -> None:
    """Every rule, and every kernel of the targets that are compiled for."""
    Path("only.mrules").write_text(RULES.split("\n\n", maxsplit=1)[0])
    options = ("--json", "--no-memo", "-t", "x86.scalar")
    result = run("check", "--use", "-", *declared, *options, input=COPIED)
    document = json.loads(result.stdout)
    assert {r["name"] for r in document["use"]["rules"]} == {r.name for r in definitions.rules}
    kernels = {k.name for k in definitions.targets["x86.scalar"].kernels}
    assert {k["name"] for k in document["use"]["kernels"]} == kernels
    assert any(k["won"] for k in document["use"]["kernels"])


def test_several_targets(run: Run) -> None:
    """Each spec for each; a kernel is counted where it could be used."""
    files = ("mine.mtarget", "mine.mrules", "mine.mspec")
    options = ("-D", "N=2", "-t", "mine.small", "-t", "x86.scalar", "--no-memo")
    document = json.loads(run("check", "--use", "--json", *files, *options).stdout)
    assert len(document["use"]["specs"]) == 4
    assert [k["compiles"] for k in document["use"]["kernels"]] == [2]
    assert [r["compiles"] for r in document["use"]["rules"]] == [4, 4]


def test_the_document_is_as_the_page_says(run: Run, project: Path) -> None:
    """Every key of it stands in the table of ``docs/verification.md``."""
    page = (project / "docs" / "verification.md").read_text()
    options = ("-D", "N=2", "-t", "x86.scalar", "--no-memo")
    result = run("check", "--use", "--json", "mine.mrules", "mine.mspec", *options)
    document = json.loads(result.stdout)
    used = document["use"]
    parts = [document, *used["specs"], *used["rules"], *document["notes"]]
    parts += [part for rule in used["rules"] for part in (*rule["in"], rule["closest"] or {})]
    assert set(used) == {"specs", "left_out", "rules", "kernels"}
    for key in {key for part in parts for key in part} - {"use"}:
        assert f"`{key}`" in page, key


def test_a_kernel_for_none_of_the_targets_is_said(run: Run) -> None:
    """It is a warning, since nothing is known of it."""
    files = ("mine.mtarget", "mine.mrules", "mine.mspec")
    result = run("check", "--use", *files, "-D", "N=2", "-t", "x86.scalar", "--no-memo")
    assert result.exit_code == 0
    assert "warning: kernel 'one_element' is for none of the targets" in result.stderr
    assert "one_element'" not in result.stderr.replace("kernel 'one_element' is for", "")


def test_specs_that_nothing_implements_are_left_out(run: Run) -> None:
    """With a warning; if that is all of them, there is nothing to count, which is an error."""
    Path("mine.mspec").write_text(ODD + COPIED)
    options = ("-t", "x86.scalar", "--no-memo")
    result = run("check", "--use", "mine.mrules", "mine.mspec", *options)
    assert result.exit_code == 0
    assert "warning: odd for x86.scalar is left out: nothing implements" in result.stderr
    assert "over 1 spec of mine.mspec" in result.stdout
    Path("mine.mspec").write_text(ODD)
    result = run("check", "--use", "mine.mrules", "mine.mspec", *options)
    assert result.exit_code == 1
    assert "error: no spec could be compiled" in result.stderr


def test_options_of_compiling_belong_to_it(run: Run) -> None:
    """Without it they would do nothing; and a target has to be there."""
    result = run("check", "mine.mrules", "-t", "x86.scalar")
    assert result.exit_code == 2
    assert "belong to --use" in result.stderr
    result = run("check", "--use", "mine.mrules", "-t", "x86.scalr")
    assert result.exit_code == 1
    assert "did you mean 'x86.scalar'?" in result.stderr


def test_nothing_is_counted_where_there_are_errors(run: Run) -> None:
    """They come first."""
    Path("mine.mrules").write_text(RULES.replace("f.Y)", "g)", 1))
    result = run("check", "--use", "--json", "mine.mrules", "mine.mspec")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert "use" not in document
    assert document["errors"]
