"""Tables: kinds and roles of columns, checks of target and domain, features as numbers."""

from rpo._table.table import Table, prepare

__all__ = ["Table", "prepare"]
