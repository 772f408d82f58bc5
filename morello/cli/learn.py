"""``morello learn``: a corpus of measured programs, and a performance model of it.

See also the modules ``learn_*``.
"""

from __future__ import annotations

import click

from morello.cli.learn_corpus import check, collect, merge
from morello.cli.learn_model import evaluate, train
from morello.cli.options import examples


@click.group(
    epilog=examples(
        "morello learn collect --minutes 60",
        "morello learn train",
        "morello learn evaluate --split operator",
        "morello learn COMMAND --help",
    )
)
def learn() -> None:
    """Learn from measured programs which are fast.

    Programs of many goals are measured on this machine and kept in a corpus. A model that is
    trained on it ranks the programs of other goals.
    """


for _command in (collect, merge, check, train, evaluate):
    learn.add_command(_command)
