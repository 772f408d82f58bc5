"""What was solved: whole searches in memory, and choices of families in a file.

A search for one goal solves every Spec below it. A later goal that is among those is answered from
its tables, or, in another process, from the pages of the file.
"""

from __future__ import annotations

import atexit
import threading
import warnings
from collections.abc import Iterable, Set
from functools import cache
from pathlib import Path
from typing import Protocol

from cachetools import Cache, LRUCache

from morello.errors import UsageError
from morello.ir.spec import Spec
from morello.memo.database import Warn
from morello.memo.pages import Pages, UnreadPages
from morello.memo.place import is_off
from morello.memo.recall import Recalled
from morello.memo.records import Key
from morello.memo.store import Store
from morello.memo.transfer import Imported, export_memo, import_memo
from morello.rewriting.context import Context
from morello.search.results.refusals import implemented
from morello.search.results.solution import Solution
from morello.search.tables.memo_backend import MemoBackend, NullMemo

BUDGET = 1 << 30
"""Bytes of tables that are kept in memory."""


class Search(Protocol):
    """A search for one goal that may recall what a memo has: see `solve_goal`."""

    def __call__(self, *, memo: MemoBackend, single_goal: bool) -> Solution:
        """Search, whether or not there is a program for the goal."""


_SEARCHING = threading.RLock()
"""Held by the one thread of the process that searches.

A search plans with all memory and all cores that there are. Who has waited for one looks
again: it may have been for the same goal.
"""

_OPENING = threading.Lock()


class Memo:
    """Solved tables within a budget of bytes, the least recently used forgotten first; and a file.

    It may be used from several threads. What is known is answered at once; of all that has to be
    searched in a process, one goal is searched at a time. ``Memo()`` is in memory only; with a
    file, it is closed at the end of a ``with`` statement, or by `close`:

        with Memo.open("memo.sqlite") as memo:
            kernel = morello.compile("matmul.mspec", memo=memo)
    """

    def __init__(
        self,
        store: Store | None = None,
        budget: int = BUDGET,
        *,
        fill: bool = False,
        warn: Warn | None = None,
    ) -> None:
        """A memo in memory, and in a store if there is one, which it closes.

        Args:
            store: Where pages are kept.
            budget: Bytes of tables that are kept in memory.
            fill: Whether searches also solve what their own goals do not need and others may: of
                loops, every size that may be left over. That takes two to three times as long, and
                what a file has is not asked.
            warn: Takes a sentence about anything that is wrong with files of packages.

        Raises:
            UsageError: The budget is no number of bytes.
        """
        _check_budget(budget)
        self._single_goal = not fill
        self._warn = warn or _warn
        self._solutions: LRUCache[int, Solution] = LRUCache(budget, getsizeof=lambda s: s.bytes)
        self._pages = None if store is None else Pages(store)
        self._lock = threading.Lock()
        self._next = 0

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        warn: Warn | None = None,
        budget: int = BUDGET,
        fill: bool = False,
    ) -> Memo:
        """A memo in a file, which is begun where there is none.

        Args:
            path: The file; None for the user's: the one that ``MORELLO_MEMO`` names, or the
                default, or none where it says ``off``.
            warn: Takes a sentence about anything that is wrong with the file, and never stops the
                work; by default that is a `RuntimeWarning`.
            budget: Bytes of tables that are kept in memory.
            fill: Whether searches also solve what only other goals need: see `Memo`.

        Raises:
            UsageError: The path holds something else, or is none; or the budget is no number.
        """
        if not isinstance(path, str | Path | None) or "\0" in str(path):
            raise UsageError(
                f"{path!r} cannot be the path of a memo",
                help="pass the path of a file, or None for the user's memo",
            )
        if path is None and is_off():
            return cls(budget=budget, fill=fill)
        _check_budget(budget)
        named = None if path is None else Path(path)
        return cls(Store.open(named, warn=warn or _warn), budget, fill=fill, warn=warn)

    def __enter__(self) -> Memo:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, if there is one; what is in memory stays."""
        if self._pages is not None:
            self._pages.store.close()

    def answers(
        self, context: Context, goal: Spec, search: Search, *, full: bool = True
    ) -> Solution | Recalled:
        """What is known of a goal and of what is below it; it is searched if need be.

        Args:
            context: Target, operators and rules.
            goal: The Spec.
            search: Searches for the goal.
            full: Whether to answer from what was solved for this very target. A budget may ask for
                a coarser one; then it is the search that says which, and asks for its families.

        Raises:
            NoImplementationError: Nothing implements the goal, as is known or turns out.
        """
        if not self._single_goal:
            return self.solution(context, goal, search, full=full)
        found = self._recalled(context, goal, search) if full else None
        if found is not None:
            return found
        with _SEARCHING:
            found = self._recalled(context, goal, search) if full else None
            return self._searched(context, goal, search) if found is None else found

    def consult(self, files: Iterable[Path]) -> None:
        """Ask memos that packages bring, too, where this one is in a file and has no answer."""
        if self._pages is not None:
            self._pages.consult(files, self._warn)

    def recalls(self, context: Context, goal: Spec) -> Set[Key]:
        """The pages of the file that a goal's plan is read off; none if it has to be searched."""
        if self._pages is None:
            return frozenset()
        recalled = Recalled(context, self._pages, _never_searched)
        return recalled.keys if recalled.covers(goal) else frozenset()

    def export(self, path: str | Path) -> int:
        """Write all pages of the file to a new one, to be shipped.

        Returns:
            How many there are.

        Raises:
            UsageError: This memo has no file, or there is something at the path.
            MorelloError: It cannot be written.
        """
        return export_memo(self._required(), Path(path))

    def add(self, path: str | Path) -> Imported:
        """Copy the pages of another memo's file into this one's. That file is only read.

        Its pages are believed to be right: take it from whom you trust.

        Returns:
            How many were copied, known, and damaged.

        Raises:
            UsageError: This memo has no file, or the path is no memo of this version.
            MorelloError: The file is damaged, or this one cannot be written.
        """
        return import_memo(self._required(), Path(path), warn=_warn)

    def _required(self) -> Store:
        if self._pages is None or self._pages.store.path is None:
            raise UsageError("this memo has no file", help="open one: morello.Memo.open(path)")
        return self._pages.store

    def _recalled(self, context: Context, goal: Spec, search: Search) -> Solution | Recalled | None:
        """What answers without a search, as far as can be told."""
        known = self._known(context, goal)
        if known is not None:
            return implemented(known, goal)
        if self._pages is None:
            return None
        recalled = Recalled(context, self._pages, lambda: self._complete(goal, search))
        return recalled if recalled.covers(goal) else None

    def _searched(self, context: Context, goal: Spec, search: Search) -> Solution | Recalled:
        """Search with what the pages know of other goals."""
        if self._pages is None:
            return self._complete(goal, search)
        found = search(memo=self._pages, single_goal=self._single_goal)
        if found.complete:
            return self._keep(goal, found)
        if found.intensity(goal) == float("inf"):
            return self._anew(self._pages, goal, search, found)
        self._pages.keep(found.context, found.tried)
        recalled = Recalled(
            found.context, self._pages, lambda: self._complete(goal, search), found.coarsening
        )
        if not recalled.covers(goal):
            return self._complete(goal, search)
        recalled.counts = found.counts
        return recalled

    def _anew(self, pages: Pages, goal: Spec, search: Search, believed: Solution) -> Solution:
        """Search without recalling anything, what was believed having led to no program.

        If there is one, pages that were believed are wrong.
        """
        solution = implemented(search(memo=NullMemo(), single_goal=self._single_goal), goal)
        for variant in believed.recalled:
            pages.reject(believed.context, variant, believed.boxes[variant])
        return self._keep(goal, solution)

    def solution(
        self, context: Context, goal: Spec, search: Search, *, full: bool = True
    ) -> Solution:
        """Tables of a goal and of everything below it, for those who need the costs of many Specs.

        Arguments are those of `answers`.

        Raises:
            NoImplementationError: Nothing implements the goal, as is known or turns out.
        """
        known = self._known(context, goal) if full else None
        if known is not None:
            return implemented(known, goal)
        with _SEARCHING:
            known = self._known(context, goal) if full else None
            return self._complete(goal, search) if known is None else implemented(known, goal)

    def _complete(self, goal: Spec, search: Search) -> Solution:
        """Search without recalling anything; what is found is kept."""
        with _SEARCHING:
            memo = NullMemo() if self._pages is None else UnreadPages(self._pages)
            return self._keep(goal, search(memo=memo, single_goal=self._single_goal))

    def _known(self, context: Context, goal: Spec) -> Solution | None:
        with self._lock:
            for key in list(self._solutions):
                known = Cache.__getitem__(self._solutions, key)  # only looks: that is no use
                if known.context.same_definitions(context) and known.covers(goal):
                    return self._solutions[key]  # this look-up marks it as used
        return None

    def _keep(self, goal: Spec, found: Solution) -> Solution:
        """Keep what was chosen in the file and, if there is a program, all tables in memory."""
        if self._pages is not None:
            self._pages.keep(found.context, found.tried)
        implemented(found, goal)
        with self._lock:
            self._next += 1
            if found.bytes <= self._solutions.maxsize:
                self._solutions[self._next] = found
        return found

    @property
    def store(self) -> Store | None:
        """The pages on disk, if there is a file."""
        return None if self._pages is None else self._pages.store

    @property
    def solutions(self) -> int:
        """Number of searches whose tables are kept in memory."""
        return len(self._solutions)


def _never_searched() -> Solution:
    raise AssertionError("to look what is there needs no search")


def _check_budget(budget: object) -> None:
    if not isinstance(budget, int) or budget < 0:
        raise UsageError(
            f"a memo cannot keep budget={budget!r} in memory",
            help="give a number of bytes, such as 1 << 30, or 0",
        )


def process_memo() -> Memo:
    """Shared by all compiles of this process that do not bring their own.

    Its file is the user's; what is wrong with that is a `RuntimeWarning`.
    """
    with _OPENING:
        return _process_memo()


@cache
def _process_memo() -> Memo:
    memo = Memo.open()
    atexit.register(memo.close)
    return memo


def _warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=3)
