"""Learning what programs take from programs that were measured.

`collect` draws and measures programs of many goals, and keeps them in a `corpus`. `training` makes
a model of one (`morello.ranking.model`), `evaluation` says how well that ranks goals that it has
not seen.
"""
