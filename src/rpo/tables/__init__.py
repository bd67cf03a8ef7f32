"""Your own table: reading, preparing columns, judging quality, fitting, predicting, comparing methods."""

from rpo.tables.preparing import Prepared, prepare
from rpo.tables.reading import read_table, write_table

__all__ = ["Prepared", "prepare", "read_table", "write_table"]
