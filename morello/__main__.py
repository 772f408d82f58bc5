"""``python -m morello`` is the command ``morello``."""

from morello.cli.main import main

if __name__ == "__main__":
    main(prog_name="morello")
