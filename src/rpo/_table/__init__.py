"""A table with its roles: what each column is, target and domain checked, features as numbers."""

from rpo._table.preparing import Prepared, prepare

__all__ = ["Prepared", "prepare"]
