"""Finding a compiler, in each of the ways, and what is said where there is none."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from morello.errors import MorelloError
from morello.toolchain import compilers
from morello.toolchain.compilers import (
    Compiler,
    describe,
    find_compiler,
    supports_openmp,
    try_program,
    unsupported_flags,
)
from morello.toolchain.machine import Machine
from morello.toolchain.sanitizers import supports_sanitizers

Fake = Callable[[str, str], Path]


def test_this_machine_has_a_compiler(compiler: Compiler) -> None:
    assert compiler.kind in ("gcc", "clang")
    assert any(c.isdigit() for c in compiler.version)
    assert compiler.command[0] in str(compiler)


def test_cc_comes_first_and_may_hold_arguments(fake: Fake) -> None:
    program = fake("mycc", "echo mycc 3.1")
    fake("gcc", "echo gcc")
    path = str(program.parent)
    found = find_compiler({"CC": f"{shlex.quote(str(program))} -DX='a b'", "PATH": path})
    assert found == Compiler((str(program), "-DX=a b"), "other", "mycc 3.1")
    assert find_compiler({"CC": "mycc", "PATH": path}).command == (str(program),)


def test_a_relative_cc_is_found_from_everywhere(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compilers run in temporary directories."""
    program = fake("mycc", "echo mycc 3.1")
    monkeypatch.chdir(program.parent.parent)
    for variables in ({"CC": "./bin/mycc"}, {"CC": "mycc", "PATH": "bin"}):
        assert find_compiler(variables).command == (str(program),)
    fake("gcc", "echo gcc")
    assert find_compiler({"PATH": "bin"}).command == (str(program.parent / "gcc"),)


def test_an_empty_cc_is_no_cc(fake: Fake) -> None:
    program = fake("gcc", "echo gcc")
    assert find_compiler({"CC": " ", "PATH": str(program.parent)}).command == (str(program),)


def test_names_are_tried_in_order(fake: Fake) -> None:
    path = {"PATH": str(fake("cc", "echo cc").parent)}
    expected = ["cc", "gcc-9", "clang-9", "clang-19", "clang", "gcc"]
    found = []
    for name in expected:
        fake(name, f"echo {name}")
        found.append(find_compiler(path).version)
    assert found == expected


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("gcc (Distribution) 12.2.0\nCopyright (C) Free Software Foundation, Inc.", "gcc"),
        ("Distribution clang version 19.1.7", "clang"),
        ("tcc version 0.9", "other"),
    ],
)
def test_a_compiler_says_its_kind(fake: Fake, answer: str, kind: str) -> None:
    program = fake("anything", f"cat <<'END'\n{answer}\nEND")
    described = describe((str(program),))
    assert described.kind == kind
    assert described.version == answer.splitlines()[0]


def test_without_any_compiler_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(compilers, "find_spec", lambda name: None)
    for path in ("", str(tmp_path), str(tmp_path / "missing")):
        with pytest.raises(MorelloError, match="there is no C compiler") as error:
            find_compiler({"PATH": path})
        assert "install gcc or clang, set CC" in error.value.help


def test_the_python_package_is_the_last_resort(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "ziglang"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text("import sys; print('clang version 18', *sys.argv[1:])\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = find_compiler({"PATH": ""})
    assert found.command == (sys.executable, "-m", "ziglang", "cc")
    assert found.kind == "clang"
    assert found.version == "clang version 18 cc --version"


def test_a_cc_that_does_not_exist_is_not_replaced(fake: Fake) -> None:
    path = str(fake("gcc", "echo gcc").parent)
    with pytest.raises(MorelloError, match="CC is 'nocc -O2', but there is no program") as error:
        find_compiler({"CC": "nocc -O2", "PATH": path})
    assert "unset it" in error.value.help
    with pytest.raises(MorelloError, match="No closing quotation"):
        find_compiler({"CC": "gcc 'x", "PATH": path})


def test_a_cc_that_fails_is_shown(fake: Fake) -> None:
    program = fake("broken", "echo licence expired; exit 7")
    with pytest.raises(MorelloError, match="does not work") as error:
        find_compiler({"CC": str(program), "PATH": ""})
    assert "exit status 7" in str(error.value)
    assert "licence expired" in str(error.value)


def test_a_cc_that_hangs_is_stopped_with_its_children(fake: Fake, tmp_path: Path) -> None:
    program = fake("slow", f"(sleep 2; touch {tmp_path}/late) & wait")
    with pytest.raises(MorelloError, match=r"did not end within 0\.3 seconds"):
        describe((str(program),), timeout=0.3)
    assert not (tmp_path / "late").exists()


def test_a_cc_that_is_no_program_is_named(tmp_path: Path) -> None:
    program = tmp_path / "cc"
    program.write_bytes(b"\x00\x01")
    program.chmod(0o755)
    with pytest.raises(MorelloError, match="cannot run"):
        describe((str(program),))


def test_questions_to_a_compiler(compiler: Compiler) -> None:
    assert unsupported_flags(compiler, ()) == ()
    assert unsupported_flags(compiler, ("-O2", "-fno-such-flag", "-g")) == ("-fno-such-flag",)
    done = try_program(compiler, '#include <stdio.h>\nint main(void) { puts("x"); return 4; }\n')
    assert done is not None
    assert (done.status, done.output) == (4, "x\n")
    assert try_program(compiler, "syntax error") is None


def test_a_compiler_without_openmp_or_sanitizers_is_recognised(
    fake: Fake, compiler: Compiler
) -> None:
    real = shlex.join(compiler.command)
    refuse = 'case "$*" in *-fopenmp*|*-fsanitize*) exit 1;; esac'
    poor = describe((str(fake("poor", f'{refuse}\nexec {real} "$@"')),))
    assert try_program(poor, "int main(void) { return 0; }\n") is not None
    assert not supports_openmp(poor)
    assert not supports_sanitizers(Machine(poor))
    drop = 'for a; do shift; case $a in -fsanitize*) ;; *) set -- "$@" "$a";; esac; done'
    deaf = describe((str(fake("deaf", f'{drop}\nexec {real} "$@"')),))
    assert not supports_sanitizers(Machine(deaf))
    assert supports_sanitizers(Machine(compiler))
    generous = Compiler((str(fake("generous", 'for last; do :; done; : > "$last"')),), "other", "")
    assert supports_openmp(generous)
