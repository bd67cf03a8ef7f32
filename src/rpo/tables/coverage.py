"""What intervals held of training domains, when they were made from all the others."""

from typing import Any

import numpy as np
import pandas as pd

from rpo.functional.conformal import quantiles_of_others
from rpo.functional.ridge import Array
from rpo.models.intervals import half_width
from rpo.models.reference import Reference

LEVELS = (0.5, 0.8, 0.9, 0.95)


def coverage(model: Any) -> pd.DataFrame:
    """What intervals (for classes, sets) of a fitted Quality model held of each training domain not counted in them.

    Over all domains `covered` is at least the level, whatever the domains: that is what the interval is made for.
    `lowest`, the least of any domain, is what a new domain may meet; `lowest_domain` names it. Levels that all domains
    but one cannot promise are left out. `size` is half the width of an interval where errors are ordinary, or the mean
    number of classes in a set. Where there is one domain only, every row stands for one, and none is the worst.

    >>> import numpy as np, rpo
    >>> X = np.random.default_rng(0).normal(size=(120, 2))
    >>> model = rpo.QualityRegressor("linear", weights="off", screen="off")
    >>> coverage(model.fit(X, X[:, 0] + X[:, 1] ** 2, domains=np.arange(120) % 6))["level"].tolist()
    [0.5, 0.8]
    """
    reference: Reference = model.reference_
    units, score = reference.units, _scores(reference)
    number = len(np.unique(units))
    rows = []
    for level in LEVELS:
        if level > (number - 1) / number + 1e-9:
            continue
        inside = score <= quantiles_of_others(score, units, reference.count, level)[units] + 1e-12
        if reference.classes:  # a set is never empty
            inside |= reference.value.argmax(1) == reference.target
        total = np.bincount(units, reference.count)
        there = np.flatnonzero(total > 0)
        held = np.bincount(units, reference.count * inside)[there] / total[there]
        half = half_width(reference, level)
        if reference.classes:
            chosen = 1 - reference.value <= half + 1e-12
            size = float(np.average(np.maximum(chosen.sum(1), 1), weights=reference.count))
        else:
            size = half * float(np.median(reference.scale))
        worst = int(held.argmin())
        row = {"level": level, "size": size, "covered": float(held.mean())}
        if len(reference.rows) > 1:
            row |= {"lowest": float(held[worst]), "lowest_domain": model.domains_[there[worst]]}
        rows.append(row)
    return pd.DataFrame(rows, columns=["level", "size", "covered"] if not rows else None)


def _scores(reference: Reference) -> Array:
    """|y − f|/σ(x) of every row, or 1 − p_y for classes."""
    if reference.classes:
        label = reference.target.astype(np.intp)
        return np.asarray(1 - reference.value[np.arange(len(label)), label])
    return np.asarray(np.abs(reference.residual) / reference.scale)
