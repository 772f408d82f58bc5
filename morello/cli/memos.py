"""The memo that a command uses: which file, and what is said where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from morello.cli.session import Session
from morello.errors import MorelloError, UsageError
from morello.memo.database import Warn
from morello.memo.memo import Memo
from morello.memo.place import VARIABLE, default_path, is_off, named_path
from morello.memo.store import Store


def open_memo(session: Session, path: str | None, *, off: bool, fill: bool = False) -> Memo:
    """The memo for a search: never a reason not to compile; what is wrong with it is a warning.

    Args:
        session: Takes the warnings.
        path: What ``--memo`` names, if it is given.
        off: Whether ``--no-memo`` is given.
        fill: Whether what other goals need is solved, too.

    Raises:
        UsageError: Both are given, or the path holds something that is no memo.
    """
    if off and path is not None:
        raise UsageError("--memo and --no-memo exclude each other", help="leave one of them out")
    return Memo(fill=fill) if off else Memo.open(_named(path), warn=session.warn, fill=fill)


@contextmanager
def memo_with_pages(
    session: Session, path: str | None, *, off: bool, fill: bool = False
) -> Iterator[Memo]:
    """The memo that is asked for, or one for this run where that keeps nothing."""
    with open_memo(session, path, off=off, fill=fill) as memo:
        if memo.store is not None and memo.store.writable:
            yield memo
            return
    with (
        TemporaryDirectory(prefix="morello-") as directory,
        Memo.open(Path(directory, "memo.sqlite"), warn=session.warn, fill=fill) as memo,
    ):
        yield memo


def memo_path(path: str | None) -> Path:
    """Where the memo is, or is to be, that ``--memo`` names, or else the environment or nobody.

    Raises:
        MorelloError: The environment says that there is none.
    """
    named = _named(path)
    if named is not None:
        return named
    if is_off():
        raise MorelloError(
            f"there is no memo: {VARIABLE} switches it off", help="name a file with --memo"
        )
    return named_path() or default_path()


@contextmanager
def open_store(
    session: Session, path: str | None, *, begin: bool = False, warn: Warn | None = None
) -> Iterator[Store]:
    """The pages of a memo, for the commands that are about them.

    Args:
        session: Takes warnings of what is wrong with it.
        path: What ``--memo`` names, if it is given.
        begin: Whether to begin a file where there is none.
        warn: Takes them in place of the session.

    Raises:
        MorelloError: There is none, or it cannot be used.
        UsageError: The path holds something that is no memo.
    """
    where = memo_path(path)
    if not begin and not where.exists():
        raise MorelloError(
            f"there is no memo '{where}'",
            help="the first 'morello compile' begins it; another one is named with --memo",
        )
    with Store.open(where, warn=warn or session.warn) as store:
        if store.path is None:  # why was a warning
            raise MorelloError(f"the memo '{where}' cannot be used", help="name another: --memo")
        yield store


def _named(path: str | None) -> Path | None:
    if path == "":
        raise UsageError("the memo's path is empty", help="write --memo PATH")
    return None if path is None else Path(path)
