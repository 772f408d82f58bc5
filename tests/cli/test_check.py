"""``morello check``: all diagnostics of all files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from morello.cli.session import MOST_SHOWN
from tests.cli.conftest import SMALL, Run


def test_what_ships_has_no_errors(run: Run, project: Path) -> None:
    """The files of the installed plugins count once, though they are named again."""
    kinds = ("rules/*.mrules", "targets/*/*.mtarget", "examples/*.mspec")
    files = [path for pattern in kinds for path in sorted(project.glob(pattern))]
    result = run("check", *files)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"checked {len(files)} files: no errors\n"


def test_all_errors_of_all_files_are_reported(run: Run, small_spec: Path) -> None:
    """Of every kind of file, of files that cannot be read, and their number at the end."""
    Path("bad.mspec").write_text(small_spec.read_text().replace("K, N]", "K, Q]"))
    Path("bad.mrules").write_text('rule a "A rule."\n  match f: op\n  yield g\n')
    Path("bad.mtarget").write_text("target {")
    Path("odd.mspec").write_bytes(b"spec \xff")
    result = run("check", "bad.mspec", "bad.mrules", "bad.mtarget", "odd.mspec", "gone.mspec")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "error: there is no file 'gone.mspec'" in result.stderr
    assert "--> bad.mtarget:1:8" in result.stderr
    assert "--> odd.mspec:1:6" in result.stderr
    assert result.stderr.endswith("\nfound 3 errors\n")  # the rest waits for sound syntax


def test_of_thousands_of_errors_the_first_are_shown(run: Run) -> None:
    """All are counted, and tools get all."""
    statements = "\n".join(f"  h{i} = nothing(x)" for i in range(MOST_SHOWN))
    head = "spec s(N = 8) { input x: f32[N]  output y: f32[N]  y = relu(x)"
    Path("bad.mspec").write_text(f"{head}\n{statements} }}")
    result = run("check", "bad.mspec")
    assert result.stderr.count("--> bad.mspec") == MOST_SHOWN
    end = f"and {MOST_SHOWN} more; --json lists all\nfound {2 * MOST_SHOWN} errors\n"
    assert result.stderr.endswith(end)
    listed = json.loads(run("check", "bad.mspec", "--json").stdout)["errors"]
    assert len(listed) == 2 * MOST_SHOWN


def test_a_diagnostic_shows_line_and_caret(run: Run, small_spec: Path) -> None:
    """Message, place, source line, caret, help."""
    Path("bad.mspec").write_text(small_spec.read_text().replace("= matmul", "= matmull"))
    result = run("check", "bad.mspec")
    lines = result.stderr.splitlines()
    assert lines[0].startswith("error[S030]: unknown operator 'matmull'")
    assert lines[1].strip() == "--> bad.mspec:8:7"
    assert lines[2] == "8 |   c = matmull(a, b)"
    assert lines[3].startswith("  |       ^^^^^^^")
    assert "did you mean 'matmul'?" in lines[4]
    assert lines[-1] == "found 1 error"


def test_an_unknown_target_has_a_place(run: Run, small_spec: Path, target: str) -> None:
    """The name is found in the file, and names like it are offered."""
    small_spec.write_text(small_spec.read_text().replace(target, target[:-1]))
    result = run("check", small_spec.name)
    assert result.exit_code == 1
    assert f"error[P002]: unknown target '{target[:-1]}'" in result.stderr
    assert f"did you mean '{target}'?" in result.stderr
    assert "--> product.mspec:2:8" in result.stderr


def test_specs_may_use_what_is_checked_beside_them(run: Run, target: str) -> None:
    """Definitions that are not installed yet are in force for the other files."""
    Path("mine.mrules").write_text(
        'op twice(X: T[i...]) -> Y: T[i...]\n  "Double."\n{\n  Y[i...] = X[i...] + X[i...]\n}\n'
    )
    Path("mine.mspec").write_text(
        f"target {target}\nspec s() {{ input x: f32[4] output y: f32[4] y = twice(x) }}\n"
    )
    assert run("check", "mine.mspec").exit_code == 1
    assert run("check", "mine.mspec", "mine.mrules").exit_code == 0


def test_parameters_without_default_are_set(run: Run, small_spec: Path) -> None:
    """``-D`` reaches the specs that have such a parameter."""
    small_spec.write_text(small_spec.read_text().replace("M = 4", "M"))
    assert run("check", small_spec.name).exit_code == 1
    assert run("check", small_spec.name, "-D", "M=4", "-D", "OTHER=1").exit_code == 0


def test_every_spec_of_a_file_is_checked(run: Run, small_spec: Path) -> None:
    """Not only the first, and not only one that is asked for."""
    body = small_spec.read_text().split("\n\n", 1)[1]
    second = body.replace("product", "second").replace("a, b)", "a, x)")
    small_spec.write_text(small_spec.read_text() + second)
    result = run("check", small_spec.name)
    assert result.exit_code == 1
    assert "'x'" in result.stderr
    assert "found 1 error" in result.stderr


def test_the_standard_input_is_a_spec(run: Run, target: str) -> None:
    """Its name in diagnostics says so."""
    assert run("check", "-", input=SMALL.format(target=target)).exit_code == 0
    result = run("check", "-", input=SMALL.format(target=target).replace("f32[M, K]", "f32[M, 0]"))
    assert result.exit_code == 1
    assert "--> <stdin>:5:" in result.stderr


@pytest.mark.parametrize("content", [b"", b"# nothing\n", b"\x00\x01", b"\xff\xfe"])
def test_files_that_are_no_specs(content: bytes, run: Run) -> None:
    """Empty, binary, not UTF-8: a message each, no traceback."""
    Path("odd.mspec").write_bytes(content)
    result = run("check", "odd.mspec")
    assert result.exit_code == 1
    assert "odd.mspec" in result.stderr
    assert result.stderr.endswith("found 1 error\n")


def test_files_of_other_kinds_are_refused(run: Run) -> None:
    """The suffix says how a file is read."""
    Path("notes.txt").write_text("hello")
    result = run("check", "notes.txt")
    assert result.exit_code == 1
    assert "'notes.txt' is of no kind that can be checked" in result.stderr
    assert ".mspec, .mrules, .mtarget" in result.stderr


def test_json_has_places(run: Run, small_spec: Path) -> None:
    """One document, with what an editor needs."""
    small_spec.write_text(small_spec.read_text().replace("= matmul", "= matmull"))
    result = run("check", "--json", small_spec.name)
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document["files"] == [small_spec.name]
    (error,) = document["errors"]
    assert (error["file"], error["line"], error["column"]) == (small_spec.name, 8, 7)
    assert (error["code"], error["length"]) == ("S030", len("matmull"))
    assert json.loads(run("check", "--json", "gone.mspec").stdout)["errors"][0]["message"]


def test_no_files_is_a_usage_error(run: Run) -> None:
    """There is nothing to check."""
    assert run("check").exit_code == 2
