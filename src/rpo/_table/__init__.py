"""A table with its roles: what each column is, target and domain checked, features as numbers."""

from rpo._table.table import Table, prepare

__all__ = ["Table", "prepare"]
