"""Strata from the class label: the paper's choice for images, where there are no named features."""

import numpy as np
from numpy.typing import ArrayLike

from rpo.grouping.cells import codes
from rpo.grouping.strata import NamedStrata


def strata_from_classes(y: ArrayLike) -> NamedStrata:
    """k(i) = y_i: one stratum a class.

    >>> strata_from_classes(["cat", "dog", "cat"])
    NamedStrata(labels=array([0, 1, 0]), names=('cat', 'dog'))
    """
    labels, classes = codes(np.asarray(y), "classes")
    return NamedStrata(labels, tuple(map(str, classes)))
