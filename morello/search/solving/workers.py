"""Solving variants in the order of their dependencies, by several threads on shared tables.

The solver in C holds no lock of the interpreter, so that threads run side by side. A table depends
on its children's alone: results do not depend on the order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence, Set
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

Work = Callable[[int], None]


class _Order:
    """What may be begun: items for which nothing is waited any more, the earliest first."""

    def __init__(self, waits: Sequence[Set[int]]) -> None:
        self._left = [len(before) for before in waits]
        self._after: list[list[int]] = [[] for _ in waits]
        for item, before in enumerate(waits):
            for other in before:
                self._after[other].append(item)
        self.ready = deque(item for item, left in enumerate(self._left) if not left)

    def done(self, item: int) -> None:
        """What waited for this item alone is ready."""
        for other in self._after[item]:
            self._left[other] -= 1
            if not self._left[other]:
                self.ready.append(other)


def run_in_order(waits: Sequence[Set[int]], work: Work, finished: Work, workers: int) -> None:
    """Call ``work`` and then ``finished`` for every item, after those that it waits for.

    Args:
        waits: For each item, by number, others that it waits for. Without cycles.
        work: What to do; it is called once for each item, in a thread if there are several.
        finished: Called here after each.
        workers: How many threads; 1 is this one.

    Raises:
        Exception: What ``work`` raised; nothing is begun after that.
    """
    order = _Order(waits)
    if workers > 1:
        _run_in_threads(order, work, finished, workers)
        return
    while order.ready:
        item = order.ready.popleft()
        work(item)
        finished(item)
        order.done(item)


def _run_in_threads(order: _Order, work: Work, finished: Work, workers: int) -> None:
    pool = ThreadPoolExecutor(workers, "morello-search")
    running: dict[Future[None], int] = {}
    try:
        while order.ready or running:
            while order.ready:
                item = order.ready.popleft()
                running[pool.submit(work, item)] = item
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                item = running.pop(future)
                future.result()
                finished(item)
                order.done(item)
    finally:
        pool.shutdown(cancel_futures=True)  # what has been begun ends soon
