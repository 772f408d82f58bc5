"""The real server, as a process of its own, asked through the protocol."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from morello.cli.main import main

SECONDS = 60

pytestmark = pytest.mark.process


class Client:
    """The editor's side: messages with a header, answers by their number."""

    def __init__(self, directory: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "morello", "lsp", "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=directory,
        )
        self.number = 0
        self.published: dict[str, list[Any]] = {}

    def notify(self, method: str, parameters: object) -> None:
        self._send({"method": method, "params": parameters})

    def request(self, method: str, parameters: object) -> Any:
        self.number += 1
        self._send({"id": self.number, "method": method, "params": parameters})
        while True:
            message = self._receive()
            if message.get("id") == self.number and "method" not in message:
                assert "error" not in message, message
                return message["result"]

    def errors_of(self, uri: str) -> list[Any]:
        """The next errors that are published of a file."""
        while uri not in self.published:
            self._receive()
        return self.published.pop(uri)

    def _send(self, message: dict[str, object]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def _receive(self) -> Any:
        stream = self.process.stdout
        assert stream is not None
        length = 0
        while (line := stream.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        assert length, "the server has ended"
        message = json.loads(stream.read(length))
        if message.get("method") == "textDocument/publishDiagnostics":
            self.published[message["params"]["uri"]] = message["params"]["diagnostics"]
        return message


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    pytest.importorskip("pygls")
    client = Client(tmp_path)
    try:
        client.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        client.notify("initialized", {})
        yield client
        client.request("shutdown", None)
        client.notify("exit", None)
        assert client.process.wait(SECONDS) == 0
    finally:
        client.process.kill()
        client.process.communicate()


def _open(client: Client, path: Path, text: str) -> str:
    uri = path.as_uri()
    document = {"uri": uri, "languageId": "morello", "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": document})
    return uri


SPEC = """\
# \U0001f600: two units in the editor's count, one character in ours
spec product(M = 4, K = 4, N = 4) {
  input  a: f32[M, K]
  input  b: f32[K, N]
  output c: f32[M, N]
  c = matmull(a, b) # \U0001f600
}
"""


def test_errors_meanings_and_definitions(client: Client, tmp_path: Path) -> None:
    """A file is opened, mended, asked about and closed; positions are the editor's."""
    uri = _open(client, tmp_path / "product.mspec", SPEC)
    (error,) = client.errors_of(uri)
    assert error["code"] == "S030"
    assert error["range"]["start"] == {"line": 5, "character": 6}
    assert error["range"]["end"] == {"line": 5, "character": 13}
    assert "did you mean 'matmul'?" in error["message"]

    change = {"range": error["range"], "text": "/* \U0001f600 */ matmul"}
    changes = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [change]}
    client.notify("textDocument/didChange", changes)
    assert {error["code"] for error in client.errors_of(uri)} == {"E003"}
    whole = SPEC.replace("matmull", "matmul")
    changes = {"textDocument": {"uri": uri, "version": 3}, "contentChanges": [{"text": whole}]}
    client.notify("textDocument/didChange", changes)
    assert client.errors_of(uri) == []

    place = {"textDocument": {"uri": uri}, "position": {"line": 5, "character": 8}}
    assert "Matrix product" in client.request("textDocument/hover", place)["contents"]["value"]
    (location,) = client.request("textDocument/definition", place)
    assert location["uri"].endswith("/matmul.mrules")
    names = {item["label"] for item in client.request("textDocument/completion", place)}
    assert {"matmul", "gelu"} <= names
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert client.errors_of(uri) == []


def test_operators_of_an_open_file_are_known(client: Client, tmp_path: Path) -> None:
    """Before it is saved; and where it is broken, its own error is shown in it."""
    rules = 'op twice(X: T[i]) -> Y: T[i]\n  "Twice."\n{\n  Y[i] = X[i] + X[i]\n}\n'
    uri = _open(client, tmp_path / "mine.mrules", rules)
    assert client.errors_of(uri) == []
    spec = "spec s(N = 4) {\n  input a: f32[N]\n  output b: f32[N]\n  b = twice(a)\n}\n"
    of_spec = _open(client, tmp_path / "s.mspec", spec)
    assert client.errors_of(of_spec) == []
    place = {"textDocument": {"uri": of_spec}, "position": {"line": 3, "character": 8}}
    (location,) = client.request("textDocument/definition", place)
    assert location == {
        "uri": uri,
        "range": {"start": {"line": 0, "character": 3}, "end": {"line": 0, "character": 8}},
    }
    assert client.errors_of(uri) == []  # checked with the spec
    changes = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": rules[:40]}]}
    client.notify("textDocument/didChange", changes)
    assert len(client.errors_of(uri)) == 1
    assert client.errors_of(of_spec) == []  # without sound definitions it is only parsed
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert [error["code"] for error in client.errors_of(of_spec)] == ["S030"]


def test_without_pygls_there_is_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    """And no traceback."""
    monkeypatch.setitem(sys.modules, "pygls", None)
    monkeypatch.delitem(sys.modules, "morello.editor.server", raising=False)
    monkeypatch.setitem(sys.modules, "pygls.lsp.server", None)
    done = CliRunner().invoke(main, ["lsp"])
    assert done.exit_code == 1
    assert "the language server needs pygls" in done.output
    assert "python -m pip install 'morello[lsp]'" in done.output
    assert "Traceback" not in done.output
