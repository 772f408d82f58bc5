"""Profiles: coefficients that were fitted to a machine, kept for its later compiles.

One file for each processor, in the user's data directory; the environment variable `VARIABLE`
names another, or ``off``. It holds a fit for each target that was calibrated, with what it is from
and how well it predicts. Coefficients that a target no longer has are ignored; those that a profile
does not have keep the values of the target's files.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from morello.errors import MALFORMED, MorelloError
from morello.ir.target import Coefficient, Target
from morello.records import replace
from morello.resources import OFF, file_word, own_file, processor, write_whole

VARIABLE = "MORELLO_PROFILE"
FORMAT = 1


class TargetProfile(Struct, frozen=True):
    """The fit of one target.

    ``median_error`` and ``largest_error`` are relative, of the predictions for the ``programs``
    that it was fitted to; ``rank_correlation`` is Spearman's.
    """

    coefficients: Mapping[str, float]
    date: str
    compiler: str
    version: str
    programs: int
    median_error: float
    largest_error: float
    rank_correlation: float


class Profile(Struct, frozen=True):
    """The fits of one machine, by target."""

    processor: str
    targets: Mapping[str, TargetProfile]

    def fitted(self, target: Target) -> Target:
        """The target with the coefficients that were fitted, if it was calibrated."""
        found = self.targets.get(target.name)
        if found is None:
            return target

        def change(name: str, coefficient: Coefficient) -> Coefficient:
            if name not in found.coefficients:
                return coefficient
            source = f"calibrated {found.date}"
            return replace(coefficient, value=found.coefficients[name], source=source)

        return target.with_coefficients(change)


def profile_path() -> Path | None:
    """Where this machine's profile is, whether it exists or not; none if there is to be none."""
    return own_file(VARIABLE, "profiles", f"{_own_word()}.json")


@cache
def _own_word() -> str:
    """This processor's name, for a file's. Every compile asks; many cores make a long list."""
    return file_word(processor() or "unknown processor")


def profile_version() -> tuple[Path | None, int]:
    """The profile's place, and what tells one that is there from others: when it was written."""
    path = profile_path()
    try:
        return path, path.stat().st_mtime_ns if path else 0
    except OSError:
        return path, 0


def read_profile(path: Path | None) -> Profile | None:
    """The profile in a file; none if there is no file.

    Raises:
        MorelloError: It cannot be read, or is no profile.
    """
    try:
        text = None if path is None else path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise _unusable(path, str(getattr(error, "strerror", "") or error).lower()) from error
    if text is None:
        return None
    import json  # noqa: PLC0415 - most machines have no profile, and every start looks for one

    try:
        return _profile(json.loads(text))
    except MALFORMED as error:
        raise _unusable(path, "it is no profile") from error


def write_profile(path: Path, profile: Profile) -> None:
    """Write a profile; the file is whole or as it was.

    Raises:
        MorelloError: It cannot be written.
    """
    import json  # noqa: PLC0415

    targets = {name: to_builtins(fit) for name, fit in sorted(profile.targets.items())}
    document = {"format": FORMAT, "processor": profile.processor, "targets": targets}
    try:
        write_whole(path, f"{json.dumps(document, indent=2)}\n".encode())
    except OSError as error:
        raise MorelloError(
            f"cannot write the profile '{path}': {(error.strerror or str(error)).lower()}",
            help=f"name another file with -o, and in {VARIABLE} for those who are to use it",
        ) from error


def _profile(document: Any) -> Profile:
    if document["format"] != FORMAT:
        raise ValueError(document["format"])
    targets = {name: TargetProfile(**fit) for name, fit in document["targets"].items()}
    values = [v for fit in targets.values() for v in fit.coefficients.values()]
    if not all(isinstance(v, int | float) and isfinite(v) and v >= 0 for v in values):
        raise ValueError("a coefficient is no number of cycles")
    return Profile(str(document["processor"]), targets)


def _unusable(path: Path | None, reason: str) -> MorelloError:
    return MorelloError(
        f"cannot use the profile '{path}': {reason}",
        help=f"remove it, calibrate again, or set {VARIABLE}={OFF}",
    )
