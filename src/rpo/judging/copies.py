"""Rows that repeat others in every column: they make everything look surer than it is."""

import numpy as np

from rpo.grouping.folds import content
from rpo.judging.residuals import Problem
from rpo.mapped import blocks

FEWEST, SHARE = 10, 0.01  # rows, and their share, from which on copies are told
_NEARLY = 0.9  # of the rows that share their columns with another share the target, too
_TELLING = 0.5  # of the different rows, the different values of one column: chance does not repeat such rows


def copied(problem: Problem) -> int:
    """How many rows repeat an earlier one in columns, target and domain; 0 where equal rows are ordinary.

    Rows of a few categories are equal by chance. They are copies if a column that hardly repeats by itself repeats, and
    if the target repeats with it.

    >>> x = np.random.default_rng(0).normal(size=(100, 2))
    >>> y, zero = x[:, 0], np.zeros(100, np.intp)
    >>> copied(Problem(x, y, zero, 1, 0, np.ones(100)))
    0
    >>> twice = np.arange(200) % 100
    >>> copied(Problem(x[twice], y[twice], zero[twice], 1, 0, np.ones(200)))
    100
    """
    there = problem.weight > 0
    X, y = problem.X[there], np.column_stack([problem.y[there], problem.domain[there]])
    n = len(X)
    if n == 0:
        return 0
    rows, whole = content(X[some] for some in blocks(n)), content(y[some] for some in blocks(n))
    distinct = len(np.unique(rows))
    again, equal = n - distinct, n - len(np.unique(rows * np.uint64(0x9E3779B97F4A7C15) ^ whole))
    if equal < max(FEWEST, SHARE * n) or equal < _NEARLY * again:
        return 0
    most = max(len(np.unique(column)) for column in X.T)
    return equal if most >= _TELLING * distinct else 0
