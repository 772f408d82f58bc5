"""``morello memo``: what was solved and is kept on disk; see also the modules ``memo_*``."""

from __future__ import annotations

import click

from morello.cli.memo_contents import gc, path, stats
from morello.cli.memo_fill import fill
from morello.cli.memo_picture import picture
from morello.cli.memo_transfer import export, import_
from morello.cli.memo_verify import verify
from morello.cli.options import examples


@click.group(
    epilog=examples(
        "morello memo stats --family",
        "morello memo fill model.mspec -t native",
        "morello memo gc --max-size 100MiB --older-than 30d",
        "morello memo COMMAND --help",
    )
)
def memo() -> None:
    """Look at the memo: what was solved and is kept.

    One file holds what to choose for every Spec that was solved. It only saves time: where it is
    missing or wrong, it is solved again. The file is the one that --memo or the variable
    MORELLO_MEMO names, else one in the user's directory of caches.
    """


for _command in (path, stats, fill, gc, export, import_, verify, picture):
    memo.add_command(_command)
