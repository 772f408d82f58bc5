"""The command line: one module a sub-command. It formats; the work is done by `morello`."""
