"""Your own table: reading, judging quality, fitting, predicting."""

from rpo.tables.reading import read_table, write_table

__all__ = ["read_table", "write_table"]
