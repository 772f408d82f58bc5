"""The connection to a Dask scheduler: functions go to workers, and what they return comes back."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import distributed
from distributed.scheduler import KilledWorker

from morello.errors import MorelloError
from morello.filling.workers import LostWorkerError

_CLIENT: Any = distributed.Client
_WAIT: Any = distributed.wait
"""Its functions have no types, though it says that it has."""

CONNECTING_SECONDS = 10.0
MOMENT = 1.0
"""Seconds after which it is looked which workers there are."""


@dataclass(frozen=True, slots=True)
class Returned:
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
            MorelloError: There is no scheduler.
        """
        self._address = address
        self._resource = resource
        try:
            self._client: Any = _CLIENT(address, timeout=CONNECTING_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise MorelloError(
                f"there is no scheduler at '{address}': {error}",
                help="begin one: dask scheduler; and workers: dask worker ADDRESS",
            ) from error
        self._begun: dict[Any, object] = {}
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
            except (OSError, ValueError) as error:
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
        workers: Collection[str] | None = None,
    ) -> None:
        """Have a function called by some worker, or by one of those named."""
        resources = None if self._resource is None else {self._resource: 1}
        future = self._client.submit(
            function, *arguments, pure=False, workers=workers, resources=resources
        )
        self._begun[future] = token

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
            return []
        return [self._value(future, self._begun.pop(future)) for future in done]

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
        except distributed.client.FutureCancelledError as error:
            raise self._gone() from error

    def _require_scheduler(self) -> None:
        if self._client.status not in ("running", "connecting"):
            raise self._gone()

    def _gone(self) -> MorelloError:
        return MorelloError(
            f"the scheduler at '{self._address}' is gone",
            help="what came back is kept: begin again, and it goes on",
        )
