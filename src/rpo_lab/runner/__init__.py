"""The machinery of every experiment: runs by specification, stacked, resumable; selection, results, figures."""
