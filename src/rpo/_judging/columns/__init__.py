"""What is wrong with the columns of a table, before any model."""

from rpo._judging.columns.findings import Finding
from rpo._judging.columns.judge import Columns, judge_columns

__all__ = ["Columns", "Finding", "judge_columns"]
