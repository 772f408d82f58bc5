"""Reading files: what is tolerated, and what is refused with which words."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from morello.errors import MorelloError
from morello.language.diagnostics import Diagnostic, DiagnosticsError
from morello.language.load import load_source
from morello.language.source import Source

TEXT = "spec s() {\n}\n"


def write(folder: Path, data: bytes, name: str = "test.mspec") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def refusal(path: Path) -> MorelloError:
    with pytest.raises(MorelloError) as caught:
        load_source(path)
    return caught.value


def diagnostic(path: Path) -> Diagnostic:
    error = refusal(path)
    assert isinstance(error, DiagnosticsError)
    [found] = error.diagnostics
    return found


def test_text(tmp_path: Path) -> None:
    """The name is the path as it was given, a string or a path."""
    path = write(tmp_path, TEXT.encode())
    for given in (path, str(path)):
        source = load_source(given)
        assert (TEXT, str(path), path) == (source.text, source.name, source.path)


@pytest.mark.parametrize(
    "data",
    [b"\xef\xbb\xbf" + TEXT.encode(), TEXT.replace("\n", "\r\n").encode()],
    ids=["byte order mark", "CR LF"],
)
def test_tolerated(tmp_path: Path, data: bytes) -> None:
    assert load_source(write(tmp_path, data)).text == TEXT


@pytest.mark.parametrize("comment", ["#" * 200_000, "# " * 100_000, " \t" * 100_000 + "#"])
def test_long_comments_take_no_time(tmp_path: Path, comment: str) -> None:
    """A line of many '#' is how headings are often drawn."""
    text = f"{comment}\n{TEXT}"
    assert text == load_source(write(tmp_path, text.encode())).text
    assert "E002" == diagnostic(write(tmp_path, f"{comment}\n{comment}".encode())).code


def test_missing_file(tmp_path: Path) -> None:
    """A file with a similar name, of the same kind, is suggested."""
    write(tmp_path, b"", "matmul.mspec")
    write(tmp_path, b"", "matmull.mrules")
    error = refusal(tmp_path / "matmull.mspec")
    assert f"there is no file '{tmp_path / 'matmull.mspec'}'" == str(error)
    assert error.help == "did you mean 'matmul.mspec'?"


def test_missing_directory(tmp_path: Path) -> None:
    error = refusal(tmp_path / "none" / "a.mspec")
    assert f"there is no directory '{tmp_path / 'none'}' either" == error.help


def test_name_too_long() -> None:
    error = refusal(Path("x" * 300))
    assert str(error).endswith(": file name too long")


def test_directory(tmp_path: Path) -> None:
    error = refusal(tmp_path)
    assert (f"'{tmp_path}' is a directory", "name a file in it") == (str(error), error.help)


def test_device() -> None:
    """Something that would be read for ever is not read."""
    error = refusal(Path(os.devnull))
    assert f"'{os.devnull}' is not a regular file" == str(error)


def test_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's reason is passed on; root may read everything, hence the stand-in."""

    def refuse(_self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    path = write(tmp_path, TEXT.encode())
    monkeypatch.setattr(Path, "read_bytes", refuse)
    error = refusal(path)
    assert f"cannot read '{path}': permission denied" == str(error)
    assert error.help == "check its name and its permissions"


def test_binary(tmp_path: Path) -> None:
    path = write(tmp_path, b"\x7fELF\x02\x00\x01")
    error = refusal(path)
    assert f"'{path}' is not a text file: byte 5 is zero" == str(error)
    assert error.help == "source files are text, encoded in UTF-8"


def test_latin_1(tmp_path: Path) -> None:
    """The place counts characters, so one before it in UTF-8 counts once."""
    found = diagnostic(write(tmp_path, "# ä\nspec ".encode() + b"gr\xf6\xdfe() { }\n"))
    assert (found.code, found.message) == ("E001", "this is not UTF-8: byte 0xF6")
    assert (found.span.line, found.span.column) == (2, 8)
    assert found.help == "save the file in the encoding UTF-8"


def test_control_characters_are_not_shown(tmp_path: Path) -> None:
    """A diagnostic must not send what a file holds to the terminal as it is."""
    found = diagnostic(write(tmp_path, b"a \x1b[2J \xff"))
    assert "\x1b" not in found.span.source.text
    assert found.span.start == 7


@pytest.mark.parametrize("data", [b"", b" \r\n\t\n", b"# a\n  # b", b"\xef\xbb\xbf"])
def test_empty(tmp_path: Path, data: bytes) -> None:
    found = diagnostic(write(tmp_path, data))
    assert (found.code, found.message) == ("E002", "this file declares nothing")
    assert (found.span.line, found.span.column) == (1, 1)
    assert found.help == "it has nothing but blank lines and comments: was it saved?"


@pytest.mark.parametrize("text", ["", "a", "a\n", "\n\n", "a\r\nb\r\n\nc"])
def test_lines_of_a_text(text: str) -> None:
    """Without their ends; there is none before the first and behind the last."""
    lines = [line.rstrip("\r") for line in text.split("\n")]
    found = Source("test", text)
    assert ["", *lines, ""] == [found.line(number) for number in range(len(lines) + 2)]
