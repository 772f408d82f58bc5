"""All definitions that are in force: loaded from plugins and files, checked, and kept."""

from __future__ import annotations

from morello.definitions.load import (
    Definitions,
    calibration_specs,
    check_edited,
    check_target_of,
    load_definitions,
    sources_in_force,
    spec_errors,
)

__all__ = [
    "Definitions",
    "calibration_specs",
    "check_edited",
    "check_target_of",
    "load_definitions",
    "sources_in_force",
    "spec_errors",
]
