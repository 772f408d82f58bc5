"""Running compiled kernels: loading, calling, timing, sanitizing, and choosing by measurement."""
