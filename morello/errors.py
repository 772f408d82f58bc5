"""The one error root. Everything that a user can cause is a `MorelloError` with advice in it."""

from __future__ import annotations


class MorelloError(Exception):
    """Base of all errors that this package raises on purpose.

    Attributes:
        help: What the user can do about it, or an empty string.
    """

    def __init__(self, message: str, *, help: str = "") -> None:
        super().__init__(message)
        self.help = help

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled and copied by its state: a subclass's arguments are not those of `Exception`."""
        return _restored, (type(self), self.args), self.__dict__


def _restored(kind: type[MorelloError], args: tuple[object, ...]) -> MorelloError:
    """An error whose ``__init__`` is not called: all that it has set is in its state."""
    return kind.__new__(kind, *args)


class InternalError(MorelloError):
    """This package was about to do something wrong, and noticed it. No input should cause that."""

    def __init__(self, message: str) -> None:
        help = "if no rule is wrong ('morello check --execute' tries them), please report it"
        super().__init__(f"internal error: {message}", help=help)


class UsageError(MorelloError):
    """A command or function was called with arguments that make no sense (exit status 2)."""


def not_installed(what: str, library: str, extra: str) -> MorelloError:
    """Something needs a library that comes with an extra."""
    return MorelloError(
        f"{what} needs {library}, which is not installed",
        help=f"install the extra '{extra}': pip install 'morello[{extra}]'",
    )


MALFORMED = (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError)
"""What reading a document ends with that is another one, nested deeply, or of huge numbers."""
