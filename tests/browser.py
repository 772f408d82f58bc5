"""A headless browser for tests, driven by the DevTools protocol over a pipe: no package is needed.

Chromium reads messages from its descriptor 3 and writes them to 4, each JSON that ends in a NUL.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import signal
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")

LONGEST_WAIT = 60.0
"""Seconds for one answer, on a machine that does much besides."""

SWITCHES = (
    "--headless",
    "--no-sandbox",  # root may not have one; only pages of the tests are opened
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--remote-debugging-pipe",
)

KEYS = {"Home": 36, "End": 35, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
KEYS |= {"Tab": 9, "Enter": 13, " ": 32}
"""Keys that can be pressed, with the codes by which browsers know them."""

TEXTS = {"Enter": "\r", " ": " "}
"""What keys type."""


def find_browser() -> str | None:
    """A Chromium, if there is one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """A page that is open, with everything that it has said since."""

    def __init__(self, connection: _Connection, session: str) -> None:
        self._connection = connection
        self._session = session
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command, with its result."""
        return self._connection.send(method, parameters, self._session)

    def open(self, path: Path) -> None:
        """Show a file, once all of it is loaded; what was said before is forgotten."""
        self._connection.events.clear()
        self.send("Page.navigate", url=path.resolve().as_uri())
        self._connection.wait_for("Page.loadEventFired")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait_until(self, expression: str) -> None:
        """Until a JavaScript expression is true: what an event starts may come a little later."""
        ended = time.monotonic() + LONGEST_WAIT
        while self.evaluate(expression) is not True:
            assert time.monotonic() < ended, expression
            time.sleep(0.01)

    def press(self, key: str, times: int = 1) -> None:
        """A key, as a user does."""
        name = "Space" if key == " " else key
        event = {"key": key, "code": name, "windowsVirtualKeyCode": KEYS[key]}
        typed = {"text": TEXTS[key]} if key in TEXTS else {}
        for _ in range(times):
            down = "keyDown" if typed else "rawKeyDown"
            self.send("Input.dispatchKeyEvent", type=down, **event, **typed)
            self.send("Input.dispatchKeyEvent", type="keyUp", **event)

    def media(self, name: str, **features: str) -> None:
        """As on this medium, with these features; an empty name is the screen."""
        listed = [{"name": n.replace("_", "-"), "value": v} for n, v in features.items()]
        self.send("Emulation.setEmulatedMedia", media=name, features=listed)

    def pdf(self) -> bytes:
        """What comes out of the printer."""
        return b64decode(self.send("Page.printToPDF", preferCSSPageSize=True)["data"])

    @property
    def complaints(self) -> list[Any]:
        """What was logged to the console, and errors that nobody caught."""
        said = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [event["params"] for event in self._connection.events if event["method"] in said]

    @property
    def requested(self) -> list[str]:
        """The addresses that were asked for."""
        events = self._connection.events
        sent = [e["params"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return [request["request"]["url"] for request in sent]


class _Connection:
    """Messages to and from a browser."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing
        self._rest = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def send(self, method: str, parameters: dict[str, Any], session: str = "") -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def wait_for(self, method: str) -> None:
        while all(event.get("method") != method for event in self.events):
            self.events.append(self._receive())

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._reading], [], [], LONGEST_WAIT)
            part = os.read(self._reading, 1 << 16) if ready else b""
            if not part:
                raise RuntimeError("the browser does not answer" if not ready else "it has ended")
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found


@contextmanager
def opened(browser: str) -> Iterator[Page]:
    """A browser with an empty page; it ends with the block."""
    with TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True) as directory:
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        process = _start(browser, directory, theirs_in, theirs_out)
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            connection = _Connection(ours_in, ours_out)
            created = connection.send("Target.createTarget", {"url": "about:blank"})
            wanted = {"targetId": created["targetId"], "flatten": True}
            attached = connection.send("Target.attachToTarget", wanted)
            yield Page(connection, attached["sessionId"])
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)
            os.waitpid(process, 0)
            os.close(ours_in)
            os.close(ours_out)


def _start(browser: str, directory: str, reading: int, writing: int) -> int:
    """A process of its own group whose descriptors 3 and 4 are these."""
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (reading, writing)]
    log = os.path.join(directory, "log")
    try:
        return os.posix_spawn(
            browser,
            [browser, *SWITCHES, f"--user-data-dir={directory}/profile"],
            {**os.environ, "HOME": directory},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, high[0], 3),
                (os.POSIX_SPAWN_DUP2, high[1], 4),
                (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setpgroup=0,
        )
    finally:
        for fd in high:
            os.close(fd)
