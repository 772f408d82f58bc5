"""Specs built from Python objects, to the same syntax trees as those of ``.mspec`` files."""
