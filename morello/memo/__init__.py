"""Solved families, kept in memory and in a file as boxes of equal choices."""
