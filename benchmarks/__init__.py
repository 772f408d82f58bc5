"""Measurements. Each module is a command: ``python -m benchmarks.matmul``, ``... --help``."""
