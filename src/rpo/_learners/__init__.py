"""Learners for tables, and the one way to predict rows with models that have not seen them."""

# What users may ask for by name, besides the methods of the registry: messages and help texts list these.
NAMED = ("auto", "linear", "trees", "network")
