"""The names of Morello's own sub-commands, for the command and for the loader of plugins."""

from __future__ import annotations

SUMMARIES = {
    "bench": "Compile a spec, run it, and time it.",
    "calibrate": "Fit the costs of a target to this machine.",
    "check": "Report every error in files.",
    "compile": "Compile a spec to NAME.c and NAME.h.",
    "explain": "Show the plan of a spec, its costs and its alternatives.",
    "import": "Compile a whole network to a C library.",
    "kernels": "List the microkernels.",
    "learn": "Learn from measured programs which are fast.",
    "lsp": "Serve an editor: errors, completion, meanings, definitions.",
    "memo": "Look at the memo: what was solved and is kept.",
    "new": "Write a skeleton of a rule, kernel, target or plugin.",
    "operators": "List the operators.",
    "rules": "List the rewrite rules.",
    "targets": "List the targets, or all about one.",
}
"""The sub-commands, each in the module of `morello.cli` of its name, and what the list says.

A name that Python reserves has an underscore there.
"""
