"""Solving families in the order of their dependencies, several at a time.

Threads suffice: nearly all of the work is in array operations, during which other threads run. Each
family's table depends on its children's alone, so that results do not depend on the order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

Item = TypeVar("Item")


def run(items: Mapping[Item, Set[Item]], work: Callable[[Item], None], workers: int) -> None:
    """Call ``work`` once for every item, after it has returned for all that the item waits for.

    Args:
        items: For each item, others that it waits for. Without cycles.
        work: What to do; with several workers it is called from several threads.
        workers: How many calls may run at a time.

    Raises:
        Exception: Whatever a call raises; no further one is begun.
    """
    waits = {item: len(before) for item, before in items.items()}
    after: dict[Item, list[Item]] = {item: [] for item in items}
    for item, before in items.items():
        for other in before:
            after[other].append(item)
    ready = [item for item, count in waits.items() if not count]
    with ThreadPoolExecutor(max_workers=workers) as pool:
        running: dict[Future[None], Item] = {}
        try:
            while ready or running:
                running |= {pool.submit(work, item): item for item in ready}
                ready = []
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                    for item in after[running.pop(future)]:
                        waits[item] -= 1
                        if not waits[item]:
                            ready.append(item)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
