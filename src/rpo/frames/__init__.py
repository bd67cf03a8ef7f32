"""A table with its roles: what each column is, target and domain checked, features as numbers."""

from rpo.frames.preparing import Prepared, prepare

__all__ = ["Prepared", "prepare"]
