"""Filling a memo: many goals, on the cores of this machine or of others."""
