"""How rules and kernels fare in searches: where they apply, what is chosen, and notes about it."""
