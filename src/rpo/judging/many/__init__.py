"""More rows than memory: models of a sample, and sums over all rows that add up from part to part."""

from rpo.judging.many.columns import ColumnRuler
from rpo.judging.many.quality import Remarkable, of_all_rows
from rpo.judging.many.ruler import Ruler

__all__ = ["ColumnRuler", "Remarkable", "Ruler", "of_all_rows"]
