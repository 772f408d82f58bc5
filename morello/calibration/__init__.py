"""Fitting a target's coefficients to a machine: programs are drawn, measured, and explained.

`drawing` makes programs that use the coefficients in different proportions, `measuring` counts the
cycles that they take, `fitting` finds the coefficients that predict those, and `profile` keeps them
for later compiles.
"""
