"""Intervals, and sets of classes, with coverage on unseen domains, from the errors on held-out domains."""

from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from rpo._mapped import blocks
from rpo._models.reference import Reference
from rpo._stats.conformal import conformal_quantile, domains_needed, quantiles_of_others, row_mass
from rpo._stats.effects import Effects, moved
from rpo._stats.ridge import Array
from rpo.exceptions import InputError

How = Literal["conformal", "model"]
DRAWS = 64  # of a domain's offsets and slope, where domains are taken for normal draws
LEVELS = (0.5, 0.8, 0.9, 0.95)


def max_level(reference: Reference, *, trusted: bool = False) -> float:
    """Return the highest level possible for an unseen domain, E/(E + 1); noisy domains count less if `trusted`."""
    number = float(_trust(reference)[np.unique(reference.units)].sum()) if trusted else len(np.unique(reference.units))
    return number / (number + 1)


def half_width(reference: Reference, level: float, *, trusted: bool = False) -> float:
    """Compute the conformal quantile of |y − f|/σ(x), or of 1 − p_y for classes, over held-out domains."""
    units = reference.units
    mass = row_mass(units, reference.count, _trust(reference) if trusted else None)
    if reference.classes:
        label = reference.target.astype(np.intp)
        score = 1 - reference.value[np.arange(len(label)), label]
    else:
        score = np.abs(reference.residual) / reference.scale
    return conformal_quantile(score, mass, level)


def model_widths(reference: Reference, effects: Effects, design: Array, scale: Array, level: float) -> Array:
    r"""Compute the half widths of intervals by a normal model of domains: t_ν √(zᵀTz + σ²s²) for every row.

    z is the row's `design`, s its local noise; ν by Satterthwaite, E degrees of freedom for T and n − E for σ².
    """
    number = len(np.unique(reference.units))
    between, noise = design**2 @ effects.variance, effects.noise * scale**2
    freedom = (between + noise) ** 2 / (between**2 / number + noise**2 / max(len(reference.target) - number, 1))
    return np.asarray(stdtrit(freedom, (1 + level) / 2) * np.sqrt(between + noise))


def mean_probabilities(log_odds: Array, effects: Effects) -> Array:
    """Average probabilities over domains drawn normally about the model."""
    draws = np.random.default_rng(0).normal(size=(DRAWS // 2, len(effects.variance)))
    value = np.zeros_like(log_odds)
    for u in np.concatenate([draws, -draws]) * np.sqrt(effects.variance):
        for rows in blocks(len(log_odds)):
            value[rows] += moved(log_odds[rows], u) / DRAWS
    return value


def smallest_sets(probability: Array, level: float) -> NDArray[np.bool_]:
    """Return for every row the most likely classes whose probabilities sum to the level, `(n, C)`.

    >>> smallest_sets(np.array([[0.6, 0.3, 0.1]]), 0.8).tolist()
    [[True, True, False]]
    """
    order = np.argsort(-probability, axis=1, kind="stable")
    sorted_ = np.take_along_axis(probability, order, 1)
    before = np.cumsum(sorted_, 1) - sorted_
    inside = np.empty(probability.shape, dtype=bool)
    np.put_along_axis(inside, order, before < level - 1e-12, 1)
    return inside


def check_level(reference: Reference, level: float, method: How, *, trusted: bool = False) -> None:
    """Refuse a level that is none, or that so few domains cannot promise."""
    if method not in get_args(How):
        raise InputError(f"method must be one of {', '.join(get_args(How))}, got {method!r}")
    if isinstance(level, bool) or not isinstance(level, int | float | np.number) or not 0 < level < 1:
        raise InputError(f"level must be a number between 0 and 1, such as 0.9, got {level!r}")
    most = max_level(reference, trusted=trusted)
    if method == "conformal" and level > most + 1e-9:
        number = len(np.unique(reference.units))
        what = "domains" if len(reference.rows) > 1 else "rows"
        less = ", some of which are noisy and count less (trusted=True)" if trusted else ""
        raise InputError(
            f"level {level:g} needs at least {domains_needed(level)} training {what}, but there are {number}{less}: "
            f"the highest level is {np.floor(1000 * most) / 1000:g} (max_level_); use a lower one, or "
            'method="model" (--interval-method model), which assumes normally distributed domain effects'
        )


def _trust(reference: Reference) -> Array:
    """Return the mean weight of each unit by the judgement."""
    return reference.trust if len(reference.rows) > 1 else np.ones(len(reference.domain))


def coverage(model: Any) -> pd.DataFrame:
    """Compute the coverage of intervals (for classes, sets) of a fitted Quality model on held-out training domains.

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
    """Compute |y − f|/σ(x) of every row, or 1 − p_y for classes."""
    if reference.classes:
        label = reference.target.astype(np.intp)
        return np.asarray(1 - reference.value[np.arange(len(label)), label])
    return np.asarray(np.abs(reference.residual) / reference.scale)
