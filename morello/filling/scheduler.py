"""The connection to a Dask scheduler: functions go to workers, and what they return comes back."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import distributed
from distributed.scheduler import KilledWorker
from msgspec import Struct

from morello.errors import MorelloError, UsageError
from morello.filling.workers import LostWorkerError

_WAIT: Any = distributed.wait
"""Its functions have no types, though it says that it has."""

_BASE: Any = distributed.Client

CONNECTING_SECONDS = 10.0
MOMENT = 1.0
"""Seconds after which it is looked which workers there are."""


class _Client(_BASE):  # type: ignore[misc]
    """A client that is closed by `Scheduler.close`, and by nothing else."""

    def __del__(self) -> None:
        """One that could not connect would wait here."""


class _Call(Struct, frozen=True):
    """A call on its way: ``sent`` to some workers alone, or to all."""

    token: object
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    allowed: Callable[[], Sequence[str] | None] | None
    sent: frozenset[str] | None


class Returned(Struct, frozen=True):
    """What came of a call: ``value`` is what it returned, or that its workers were lost."""

    token: object
    value: Any


class Scheduler:
    """Calls of functions on whatever workers there are at the time."""

    def __init__(self, address: str, resource: str | None = None) -> None:
        """Connect.

        Args:
            address: Of the scheduler.
            resource: What a worker has to have been begun with, and has one call of at a time.

        Raises:
            UsageError: That is no address.
            MorelloError: There is no scheduler.
        """
        self._address = address
        self._resource = resource
        host, port = _place(address)
        try:
            socket.create_connection((host, port), CONNECTING_SECONDS).close()
            self._client: Any = _Client(address, timeout=CONNECTING_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError, TypeError) as error:
            raise MorelloError(
                f"there is no scheduler at '{address}': {error}",
                help="begin one: dask scheduler; and workers: dask worker ADDRESS",
            ) from error
        self._begun: dict[Any, _Call] = {}
        self._known: list[str] = []
        self._looked = -MOMENT

    @property
    def begun(self) -> int:
        """Calls that have not returned."""
        return len(self._begun)

    def workers(self) -> list[str]:
        """Addresses of workers that have the resource, as of a moment ago."""
        if time.monotonic() - self._looked >= MOMENT:
            self._looked = time.monotonic()
            try:
                found = self._client.scheduler_info(n_workers=-1)["workers"]
            except (OSError, ValueError, KeyError) as error:
                raise self._gone() from error
            self._known = sorted(
                address
                for address, about in found.items()
                if self._resource is None or about["resources"].get(self._resource)
            )
        return self._known

    def call(
        self,
        token: object,
        function: Callable[..., Any],
        *arguments: Any,
        allowed: Callable[[], Sequence[str] | None] | None = None,
    ) -> None:
        """Have a function called by some worker.

        Args:
            token: What tells the call from others.
            function: Of a module that workers have.
            arguments: Of the function.
            allowed: Tells the addresses of workers that may do it, or None for all of them. It is
                asked again where they have gone.
        """
        workers = None if allowed is None else allowed()
        resources = None if self._resource is None else {self._resource: 1}
        future = self._client.submit(
            function, *arguments, pure=False, workers=workers, resources=resources
        )
        sent = None if workers is None else frozenset(workers)
        self._begun[future] = _Call(token, function, arguments, allowed, sent)

    def returned(self) -> Sequence[Returned]:
        """Wait until a call has returned, at most a moment; those that have.

        Raises:
            MorelloError: The scheduler is gone.
        """
        if not self._begun:
            time.sleep(MOMENT)
            self._require_scheduler()
            return []
        try:
            with self._client.as_current():
                begun = list(self._begun)
                done = _WAIT(begun, MOMENT, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            self._require_scheduler()
            self._call_again()
            return []
        except CancelledError as error:
            raise self._gone() from error
        return [self._value(future, self._begun.pop(future).token) for future in done]

    def _call_again(self) -> None:
        """Send what waits for workers that have gone to others, once there are some."""
        here = frozenset(self.workers())
        lost = [f for f, c in self._begun.items() if c.sent is not None and not c.sent & here]
        for future in lost:
            call = self._begun[future]
            if call.allowed is not None and call.allowed():
                del self._begun[future]
                self._client.cancel([future], force=True)
                self.call(call.token, call.function, *call.arguments, allowed=call.allowed)

    def close(self) -> None:
        """Take back what was sent, and leave the scheduler as it is."""
        with suppress(Exception):  # it may be gone
            self._client.cancel(list(self._begun), force=True)
        self._begun.clear()
        with suppress(Exception):
            self._client.close()

    def _value(self, future: Any, token: object) -> Returned:
        try:
            return Returned(token, future.result())
        except KilledWorker as error:
            return Returned(token, LostWorkerError(str(error).split(". ")[0]))
        except CancelledError as error:
            raise self._gone() from error

    def _require_scheduler(self) -> None:
        if self._client.status not in ("running", "connecting"):
            raise self._gone()

    def _gone(self) -> MorelloError:
        return MorelloError(
            f"the scheduler at '{self._address}' is gone",
            help="what came back is kept: begin again, and it goes on",
        )


def _place(address: str) -> tuple[str, int]:
    """Host and port of an address.

    Raises:
        UsageError: It has none.
    """
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or not port:
        raise UsageError(
            f"'{address}' is no address of a scheduler", help="such as tcp://10.0.0.1:8786"
        )
    return host, port
