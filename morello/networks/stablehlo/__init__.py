"""Networks as StableHLO, as JAX lowers functions to it."""
