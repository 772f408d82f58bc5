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


class InternalError(MorelloError):
    """This package was about to do something wrong, and noticed it. No input should cause that."""

    def __init__(self, message: str) -> None:
        super().__init__(f"internal error: {message}", help="please report it, with the input")


class UsageError(MorelloError):
    """A command or function was called with arguments that make no sense (exit status 2)."""
