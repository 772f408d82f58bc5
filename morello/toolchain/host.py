"""What machine this is: its clock, if that is fixed."""

from __future__ import annotations

from pathlib import Path

CPU_FREQUENCIES = Path("/sys/devices/system/cpu")
"""Holds for every core the limits of its clock, in kHz, where the system governs it."""


def fixed_clock() -> float | None:
    """Hertz of all cores, where they are known not to change: their limits are one value."""
    files = CPU_FREQUENCIES.glob("cpu[0-9]*/cpufreq/scaling_m[ia][nx]_freq")
    try:
        limits = {int(file.read_text()) for file in files}
    except (OSError, ValueError):
        return None
    return limits.pop() * 1e3 if len(limits) == 1 else None
