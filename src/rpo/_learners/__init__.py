"""Learners for tables, and the one way to predict rows with models that have not seen them."""
