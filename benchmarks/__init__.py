"""Measured ratios. `python -m benchmarks` runs them all; each module has a function `rows` that gives some."""
