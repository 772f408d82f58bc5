"""Ranking plans by what was learned from programs that were measured.

`description` tells of a plan in numbers, `model` says from these how far its predicted cost is off,
and `rank` chooses among the plans of a pool. How a model comes to be is in `morello.learning`.
"""
