"""Graphs of operations, and the one operator that each of them is as a whole."""
