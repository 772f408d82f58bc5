"""Building: what is written, and what is not when something fails."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from morello.errors import MorelloError
from morello.toolchain.build import build
from morello.toolchain.compilers import Compiler
from morello.toolchain.process import Completed, run_command

Fake = Callable[[str, str], Path]

GOOD = {
    "f.c": '#include "f.h"\nint f(void) { return ONE; }\n',
    "f.h": "#define ONE 1\nint f(void);\n",
}


def files(directory: Path) -> list[str]:
    return sorted(p.name for p in directory.iterdir())


def test_a_library_is_built_and_nothing_else(compiler: Compiler, tmp_path: Path) -> None:
    output = build(GOOD, compiler, (), tmp_path / "f.so")
    assert output == tmp_path / "f.so"
    assert output.read_bytes()[:4] == b"\x7fELF"
    assert files(tmp_path) == ["f.so"]


def test_a_program_is_built(compiler: Compiler, tmp_path: Path) -> None:
    text = "#include <math.h>\nint main(int n, char **v) { (void)v; return (int)sqrt(n + 8.0); }\n"
    program = build({"m.c": text}, compiler, ("-O0",), tmp_path / "m", executable=True)
    assert run_command((str(program),), timeout=60).status == 3


def test_errors_show_command_and_message_and_leave_no_file(
    compiler: Compiler, tmp_path: Path
) -> None:
    with pytest.raises(MorelloError) as error:
        build({"f.c": "int f(void) { return nothing; }\n"}, compiler, ("-DX",), tmp_path / "f.so")
    message = str(error.value)
    assert message.startswith("the C compiler failed\n  $ ")
    assert "-std=c11 -O3 -Wall -Wextra -Werror -DX" in message
    assert "exit status 1" in message
    assert "f.c:1:" in message
    assert "nothing" in message
    assert files(tmp_path) == []


def test_warnings_are_errors(compiler: Compiler, tmp_path: Path) -> None:
    with pytest.raises(MorelloError, match="unused"):
        build({"f.c": "int f(int x) { int y; return x; }\n"}, compiler, (), tmp_path / "f.so")


def test_a_failure_leaves_the_old_file(compiler: Compiler, tmp_path: Path) -> None:
    output = tmp_path / "f.so"
    output.write_text("old")
    with pytest.raises(MorelloError):
        build({"f.c": "?"}, compiler, (), output)
    assert output.read_text() == "old"
    assert files(tmp_path) == ["f.so"]
    build(GOOD, compiler, (), output)
    assert output.read_bytes()[:4] == b"\x7fELF"


def test_long_messages_are_cut(fake: Fake, tmp_path: Path) -> None:
    noisy = Compiler(
        (str(fake("noisy", "for i in $(seq 50); do echo line $i; done; exit 1")),), "", ""
    )
    with pytest.raises(MorelloError) as error:
        build(GOOD, noisy, (), tmp_path / "f.so")
    assert "line 20\n  | ... 30 more lines" in str(error.value)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("kill -SEGV $$", "killed by SIGSEGV"),
        ("exit 0", "the C compiler wrote nothing"),
        ("echo no space left >&2; exit 3", "no space left"),
        ("sleep 20", "did not end within 0.3 seconds"),
    ],
)
def test_compilers_that_misbehave(fake: Fake, tmp_path: Path, script: str, message: str) -> None:
    bad = Compiler((str(fake("bad", script)),), "other", "")
    folder = tmp_path / "out"
    folder.mkdir()
    with pytest.raises(MorelloError, match=message):
        build(GOOD, bad, (), folder / "f.so", timeout=0.3)
    assert files(folder) == []


def test_a_compiler_that_vanished_is_named(tmp_path: Path) -> None:
    with pytest.raises(MorelloError, match="cannot run '/nowhere/cc': No such file"):
        build(GOOD, Compiler(("/nowhere/cc",), "other", ""), (), tmp_path / "f.so")


def test_outputs_that_cannot_be_written(compiler: Compiler, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    places = {"file/f.so": "Not a directory", "no/f.so": "No such file", "folder": "directory"}
    for place, reason in places.items():
        with pytest.raises(MorelloError, match=f"cannot write '.*{place}': .*{reason}"):
            build(GOOD, compiler, (), tmp_path / place)
    assert files(tmp_path) == ["file", "folder"]


def test_source_names_may_not_leave_the_directory(compiler: Compiler, tmp_path: Path) -> None:
    for name in ("../f.c", "/f.c", "result.out", ""):
        with pytest.raises(MorelloError, match="is not the name of a source file"):
            build({name: "int x;\n"}, compiler, (), tmp_path / "f.so")


def test_builds_of_one_file_at_once(compiler: Compiler, tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: build(GOOD, compiler, (), tmp_path / "f.so"), range(6)))
    assert files(tmp_path) == ["f.so"]


@pytest.mark.parametrize(
    ("options", "added"),
    [
        ({}, ""),
        ({"openmp": True}, "-fopenmp"),
        ({"sanitize": True}, "-fsanitize=address,undefined,float-cast-overflow"),
        ({"executable": True}, ""),
    ],
)
def test_options_become_flags(
    fake: Fake, tmp_path: Path, options: dict[str, bool], added: str
) -> None:
    recorder = Compiler((str(fake("recorder", 'echo "$@" > result.out')), "-own"), "other", "")
    build(GOOD, recorder, ("-given",), tmp_path / "f", **options)
    flags = (tmp_path / "f").read_text().split()
    assert flags[0] == "-own"
    assert flags.index("-std=c11") < flags.index("-given") < flags.index("f.c")
    assert "f.h" not in flags
    assert ("-shared" in flags) != options.get("executable", False)
    for option in ("-fopenmp", "-fsanitize=address,undefined,float-cast-overflow"):
        assert (option in flags) == (option == added)


@pytest.mark.parametrize(
    ("status", "words"),
    [(0, "exit status 0"), (-11, "killed by SIGSEGV"), (-250, "killed by signal 250")],
)
def test_endings_in_words(status: int, words: str) -> None:
    assert Completed(("x",), status, "").ending == words


def test_a_report_begins_with_an_error_that_would_not_be_shown() -> None:
    """Warnings before it may be many; where it is among the first lines, so are they."""
    output = "\n".join([*["a.c:1:1: warning: odd"] * 5, "a.c:2:1: error: wrong", "  note"])
    done = Completed(("cc",), 1, output)
    assert done.report(3).splitlines()[2:] == ["  | a.c:2:1: error: wrong", "  |   note"]
    assert done.report(6).splitlines()[2] == "  | a.c:1:1: warning: odd"
