"""Folds, learners and the verdict of a comparison on your own table."""
