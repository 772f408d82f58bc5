"""``morello rules``, ``operators``, ``kernels`` and ``targets``: what is in force."""

from __future__ import annotations

import io
import json
import re
from importlib import import_module
from pathlib import Path

import pytest
from rich.console import Console

from morello.cli.session import Session
from morello.cli.tables import show_table
from morello.definitions import Definitions
from tests.cli.conftest import Run

TABLES = ("rules", "operators", "kernels", "targets")


def _names(definitions: Definitions, table: str) -> set[str]:
    match table:
        case "rules":
            return {rule.name for rule in definitions.rules}
        case "operators":
            return set(definitions.operators)
        case "targets":
            return set(definitions.targets)
    return {kernel.name for target in definitions.targets.values() for kernel in target.kernels}


@pytest.mark.parametrize("table", TABLES)
def test_everything_is_listed(table: str, run: Run, definitions: Definitions) -> None:
    """As text and as JSON, with a sentence for each."""
    text = run(table)
    assert (text.exit_code, text.stderr) == (0, "")
    document = json.loads(run(table, "--json").stdout)
    rows = document[table]
    assert {row["name"] for row in rows} == _names(definitions, table)
    for row in rows:
        (line,) = [line for line in text.stdout.splitlines() if line.split()[:1] == [row["name"]]]
        assert row["meaning"]
        assert row["meaning"] in line


@pytest.mark.parametrize("table", ["rules", "operators", "kernels"])
def test_places_are_where_things_are_written(table: str, run: Run) -> None:
    """The line of the place holds the name, perhaps without the type and lanes that it is for."""
    rows = json.loads(run(table, "--json").stdout)[table]
    for row in rows:
        file, _, line = row["place"].partition(":")
        package, _, name = file.partition("/")
        module = import_module(package)
        text = (Path(str(module.__file__)).parent / name).read_text()
        written = text.splitlines()[int(line) - 1]
        one_of_several = row["name"].startswith(written.partition(" for ")[0].split()[-1])
        assert row["name"] in written or (" for " in written and one_of_several)


def test_kernels_of_one_target(run: Run, definitions: Definitions, target: str) -> None:
    """With what it inherits, and without what others add."""
    rows = json.loads(run("kernels", "--target", target, "--json").stdout)["kernels"]
    assert {row["name"] for row in rows} == {k.name for k in definitions.targets[target].kernels}
    assert len(rows) < len(json.loads(run("kernels", "--json").stdout)["kernels"])


def test_what_kernels_promise(run: Run, definitions: Definitions) -> None:
    """Always, or where coefficients say so, as it is written."""
    rows = json.loads(run("kernels", "--json").stdout)["kernels"]
    direct = {row["name"]: row["direct"] for row in rows}
    for kernel in (k for target in definitions.targets.values() for k in target.kernels):
        assert (direct[kernel.name] == "") == (kernel.clauses.direct is None)
        assert (direct[kernel.name] == "always") == (kernel.clauses.direct == ())
        if direct[kernel.name] not in ("", "always"):
            text = kernel.declaration.span.source.text.split(f"kernel {kernel.name} ")[1]
            assert f"direct where {direct[kernel.name]}\n" in text
    assert {"", "always"} < set(direct.values())


def test_coefficients_of_one_target(run: Run, definitions: Definitions, target: str) -> None:
    """Each with its value and with where that is from."""
    rows = json.loads(run("targets", target, "--json").stdout)["coefficients"]
    found = {row["coefficient"]: row["cycles"] for row in rows}
    for name, coefficient in definitions.targets[target].coefficients.items():
        assert found[name] == coefficient.value
    assert any("." in name for name in found), "those of the levels too"
    assert all(row["source"] for row in rows)


def test_a_target_is_described(run: Run, target: str, definitions: Definitions) -> None:
    """Its levels, and the flags that its C is compiled with, above the coefficients."""
    described = json.loads(run("targets", target, "--json").stdout)
    assert described["name"] == target
    assert described["flags"] == list(definitions.targets[target].flags)
    assert len(described["levels"]) == len(definitions.targets[target].levels)
    lines = run("targets", target).stdout.splitlines()
    assert f"flags:   {' '.join(described['flags'])}" in lines


@pytest.mark.parametrize("arguments", [("targets",), ("kernels", "--target")])
def test_an_unknown_target_is_an_error(arguments: tuple[str, ...], run: Run, target: str) -> None:
    """With a name that is like it."""
    result = run(*arguments, target + "x")
    assert result.exit_code == 1
    assert f"there is no target '{target}x'" in result.stderr
    assert f"did you mean '{target}'?" in result.stderr


def test_rules_of_a_file_are_listed_too(run: Run) -> None:
    """``--rules`` adds what is not installed."""
    Path("mine.mrules").write_text(
        'rule mine\n  "Accumulate."\n  match f: op\n  where reduces(f)\n'
        "  yield fill(f.out, identity(f)); accumulating f\n"
    )
    rows = json.loads(run("rules", "--json", "-r", "mine.mrules").stdout)["rules"]
    assert {
        "name": "mine",
        "matches": "f: op",
        "meaning": "Accumulate.",
        "place": "mine.mrules:1",
    } in rows


@pytest.mark.parametrize("table", ["rules", "operators", "kernels"])
def test_lists_are_filtered(table: str, run: Run, definitions: Definitions) -> None:
    """By a part of a name, in any case; where nothing has it, that is an error with advice."""
    rows = json.loads(run(table, "AD", "--json").stdout)[table]
    assert {row["name"] for row in rows} == {n for n in _names(definitions, table) if "ad" in n}
    name = max(_names(definitions, table), key=len)
    result = run(table, f"{name}x")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        f"error: no {table[:-1]} has '{name}x' in its name",
        f" = help: did you mean '{name}'?",
    ]


ROWS = [
    {"name": "a_name_that_is_rather_long", "meaning": "What it means, in so many words.", "to": ""},
    {"name": "short", "meaning": "Nothing.", "to": "a/place/that/cannot/be/folded.mrules:38"},
]


def _on_a_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    stream = io.StringIO()
    session = Session()
    console = Console(file=stream, force_terminal=True, no_color=True, width=width)
    monkeypatch.setattr(session, "out", console)
    show_table(session, "rows", ("name", "meaning", "to"), ROWS)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue()).splitlines()
    assert max(map(len, lines)) <= width
    return [line.rstrip() for line in lines]


def test_tables_fit_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """No name is folded, nor any word; where there is no room for columns, rows are paragraphs."""
    assert _on_a_terminal(100, monkeypatch)[3:] == [
        " a_name_that_is_rather_long   What it means, in so many",
        "                              words.",
        " short                        Nothing.                     "
        "a/place/that/cannot/be/folded.mrules:38",
        "",
    ]
    assert _on_a_terminal(60, monkeypatch) == [
        "a_name_that_is_rather_long",
        "  meaning  What it means, in so many words.",
        "",
        "short",
        "  meaning  Nothing.",
        "  to       a/place/that/cannot/be/folded.mrules:38",
        "",
    ]
