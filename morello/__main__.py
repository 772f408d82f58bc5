"""The command ``morello``, also as ``python -m morello``: what comes before all imports."""

from __future__ import annotations

from morello.startup import process


def main() -> None:
    """Run the command and exit."""
    finish = process.begin()
    # Only now: they import for longer than it takes to think better of it and press Ctrl-C.
    from morello.cli.main import main as command  # noqa: PLC0415
    from morello.cli.session import Session  # noqa: PLC0415

    command(prog_name="morello", obj=Session(started=finish))


if __name__ == "__main__":
    main()
