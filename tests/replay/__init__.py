"""A replay: the C of many specs on every target, before and after a change that changes no program.

    python -m tests.replay save before.json
    python -m tests.replay compare before.json

The specs are the examples and what the benchmarks measure. Comments do not count. A budget keeps
each search to a second or two; ``--budget ""`` makes whole searches, which takes an hour.
"""
