"""What some files declare is executed: in Python, and by ``morello check --execute``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from morello.cli.main import main
from morello.definitions import load_definitions
from morello.language.source import Source
from morello.toolchain.compilers import Compiler
from morello.toolchain.machine import Machine
from morello.verify import rule_instances, rules
from morello.verify.declared import NO_INSTANCE, verify_declared

RULES = """
rule initialise
  "Initialise the output, then accumulate into it."
  match  f: op
  where  reduces(f)
  yield  fill(f.out, identity(f)); accumulating f
"""

HUGE = """
rule tile_huge
  "Tile what is huge."
  match  f: op
  choose d in output_dims(f), t in tile_sizes(d)
  where  size(d) > 100000000
  yield  for d step t { f }
"""

WRONG = RULES.replace("identity(f)", "1")

KERNELS = """
kernel one on x86.scalar
  "One element."
  match  copy(X: s32[1] at l1, Y: s32[1] at l1)
  cost   scalar_load
  emit   ```
    {{ Y[0] }} = {{ X[0] }};
  ```
"""


VECTORS = """
target my.vectors extends c.scalar "Vectors of four numbers." {{
  headers "string.h"
  level reg {{ capacity 12 vectors; vector 4, 16; not addressable }}
}}

primitives s32 x 4 on my.vectors {{
  type        "{int}"
  constant    "(({int}){{{{ {{0}}, {{0}}, {{0}}, {{0}} }}}})"
  add         "(({int})(({unsigned}){{0}} {sign} ({unsigned}){{1}}))"
  load        "first({{0}}, 4)"
  store       "store_first({{0}}, {{1}}, 4)"
  load_first  "first({{0}}, {{1}})"
  store_first "store_first({{0}}, {{1}}, {{2}})"
}}

function first on my.vectors
  "The first so many of four numbers."
  emit ```
    static inline {int} first(const int32_t *x, int count) {{
      {int} y = {{0}};
      memcpy(&y, x, 4 * (size_t)count);
      return y;
    }}
  ```

function store_first on my.vectors
  "To memory."
  emit ```
    static inline void store_first(int32_t *y, {int} x, int count) {{
      memcpy(y, &x, 4 * (size_t)count);
    }}
  ```
"""
INT, UNSIGNED = (f"{t} __attribute__((vector_size(16)))" for t in ("int32_t", "uint32_t"))


@pytest.fixture
def _soon_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """After fewer Specs than otherwise it is said that nothing is reached."""
    monkeypatch.setattr(rule_instances, "MISSES", 100)


def _executed(*sources: Source) -> dict[str, tuple[bool, str]]:
    definitions = load_definitions(sources)
    return {v.what: (v.error is None, v.untried) for v in verify_declared(definitions, sources)}


def test_only_what_the_files_declare_is_executed() -> None:
    """Not what is installed beside it."""
    assert _executed(Source("a.mrules", RULES), Source("a.mtarget", KERNELS)) == {
        "rule 'initialise'": (True, ""),
        "kernel 'one'": (True, ""),
    }


def test_all_errors_are_given() -> None:
    """One wrong rule does not hide the kernel after it."""
    wrong = Source("a.mtarget", KERNELS.replace("X[0] }}", "X[0] }} + 1"))
    assert _executed(Source("a.mrules", WRONG), wrong) == {
        "rule 'initialise'": (False, ""),
        "kernel 'one'": (False, ""),
    }


@pytest.mark.usefixtures("_soon_missed")
def test_what_nothing_reaches_is_not_called_right() -> None:
    """The verdict says why it was not tried."""
    assert _executed(Source("a.mrules", HUGE)) == {"rule 'tile_huge'": (True, NO_INSTANCE)}


def test_kernels_for_another_machine_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are left out with the names of what is missing."""
    monkeypatch.setattr(Machine, "lacks", lambda self, flags, features: ["wings", "fins"])
    found = _executed(Source("a.mtarget", KERNELS))
    assert found == {"kernel 'one'": (True, "this machine lacks wings, fins")}


def test_kernels_that_the_compiler_refuses_say_so() -> None:
    """With its error; those beside them are executed."""
    refused = KERNELS.replace("kernel one", "kernel other").replace("X[0] }};", "X[0] }} }")
    found = _executed(Source("a.mtarget", KERNELS), Source("b.mtarget", refused))
    assert found["kernel 'one'"] == (True, "")
    right, why = found["kernel 'other'"]
    assert right
    assert why.startswith("the C compiler refuses b.mtarget:2:8: ")


def test_without_sanitizers_nothing_is_executed() -> None:
    """And no kernel is blamed for it."""
    source = Source("a.mtarget", KERNELS)
    nothing = Machine(Compiler(("/nowhere/cc",), "other", "none"))
    found = list(verify_declared(load_definitions([source]), [source], nothing))
    assert found
    for verdict in found:
        assert verdict.error is None
        assert "/nowhere/cc" in verdict.untried


# ------------------------------------------------------------------------------- command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_shapes_are_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One by one for tools, with as many instances as were executed; in a line for people."""
    monkeypatch.setattr(rules, "BUDGET", 50)
    monkeypatch.setattr(rules, "TURNS", 1)
    (folder / "mine.mtarget").write_text(KERNELS)
    (folder / "mine.mrules").write_text(RULES)
    result = CliRunner().invoke(
        main, ["check", "--execute", "--json", "mine.mtarget", "mine.mrules"]
    )
    rule, kernel = json.loads(result.stdout)["executed"]
    assert (rule["kind"], rule["name"], rule["result"]) == ("rule", "initialise", "equal")
    assert (kernel["name"], kernel["file"], kernel["line"]) == ("one", "mine.mtarget", 2)
    for verdict in (rule, kernel):
        assert verdict["instances"] == sum(shape["instances"] for shape in verdict["shapes"]) > 0
    assert {shape["operation"] for shape in kernel["shapes"]} == {"copy"}
    assert all(shape["dtypes"] == ["s32", "s32"] for shape in kernel["shapes"])
    assert all(shape["sizes"] == {"i0": 1} for shape in kernel["shapes"])
    products = [shape for shape in rule["shapes"] if shape["operation"].startswith("matmul")]
    assert any({"m", "k", "n"} <= set(shape["sizes"]) for shape in products)
    shown = CliRunner().invoke(main, ["check", "--execute", "mine.mtarget"]).stdout
    (line,) = [" ".join(line.split()) for line in shown.splitlines() if "'one'" in line]
    assert line.startswith("kernel 'one' (mine.mtarget:2) equal")
    assert line.endswith("copy s32 s32 i0 1")


@pytest.mark.usefixtures("_soon_missed")
def test_the_command_executes(folder: Path) -> None:
    """On request, after all checks; what was not tried is a warning where that is allowed."""
    (folder / "mine.mrules").write_text(RULES + HUGE)
    command = ["check", "--execute", "--allow-unexecuted", "mine.mrules"]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0
    assert re.search(r"executed 1 rule on [1-9]\d\d instances", result.stdout)
    assert "warning: rule 'tile_huge' was not executed" in result.stderr
    document = json.loads(CliRunner().invoke(main, [*command, "--json"]).stdout)
    assert (document["errors"], document["allow_unexecuted"]) == ([], True)


@pytest.mark.usefixtures("_soon_missed")
def test_what_is_not_executed_is_an_error(folder: Path) -> None:
    """Nobody looked at it; one error for each reason, which says what accepts that."""
    (folder / "mine.mrules").write_text(HUGE + HUGE.replace("tile_huge", "tile_vast"))
    result = CliRunner().invoke(main, ["check", "--execute", "--json", "mine.mrules"])
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert [v["result"] for v in document["executed"]] == ["not executed", "not executed"]
    assert document["allow_unexecuted"] is False
    (error,) = document["errors"]
    named = "rule 'tile_huge', rule 'tile_vast' were not executed: "
    assert error["message"] == named + NO_INSTANCE
    assert "'--allow-unexecuted' accepts that" in error["help"]


def test_what_may_be_unexecuted_is_to_be_executed(folder: Path) -> None:
    """The option is refused where it says nothing."""
    (folder / "mine.mrules").write_text(RULES)
    result = CliRunner().invoke(main, ["check", "--allow-unexecuted", "mine.mrules"])
    assert result.exit_code == 2
    assert "belongs to --execute" in result.stderr


def test_the_command_fails_where_something_is_wrong(folder: Path) -> None:
    """Only then: without the option the file has no error."""
    (folder / "mine.mrules").write_text(WRONG)
    assert CliRunner().invoke(main, ["check", "mine.mrules"]).exit_code == 0
    result = CliRunner().invoke(main, ["check", "--execute", "--json", "mine.mrules"])
    assert result.exit_code == 1
    (error,) = json.loads(result.stdout)["errors"]
    assert error["message"].startswith("rule 'initialise' (mine.mrules:2:6) is wrong:")
    assert "found 1 error" in result.stderr


@pytest.mark.parametrize("sign", ["+", "-"])
def test_vectors_are_executed_with_the_file_that_says_how_they_are_written(sign: str) -> None:
    """In the kernels for every width, which stand in another file."""
    text = VECTORS.format(sign=sign, int=INT, unsigned=UNSIGNED)
    found = _executed(Source("vectors.mtarget", text))
    assert {"kernel 'vector_x4'": (sign == "+", "")} == found
