"""Experiments as a system: runs by specification, stacked, resumable; selection, significance, tables, figures."""

from rpo.experiments import photo_problems
from rpo.experiments.records import Measured, Record
from rpo.experiments.runner import execute, plan
from rpo.experiments.selection import RULES, get_rule
from rpo.experiments.significance import compare, holm, stars, welch
from rpo.experiments.specification import DataSpec, Run, Training
from rpo.experiments.store import Store
from rpo.experiments.study import Row, Setting, Study
from rpo.experiments.tables import Table, make_table

__all__ = [
    "RULES",
    "DataSpec",
    "Measured",
    "Record",
    "Row",
    "Run",
    "Setting",
    "Store",
    "Study",
    "Table",
    "Training",
    "compare",
    "execute",
    "get_rule",
    "holm",
    "make_table",
    "photo_problems",
    "plan",
    "stars",
    "welch",
]
