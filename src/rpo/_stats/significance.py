"""Significance of differences: Welch's and paired t-tests, effect size, Holm's correction, tests of shares.

Also tests of shares and means against those of other rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, ndtri, stdtr, stdtrit

Array = NDArray[np.float64]

SURE = 0.05  # differences with a smaller p are called significant
ROUNDING = 1e-12  # smaller relative differences count as none
# The paper's stars: p below 0.01, 0.05, 0.1.
LEVELS = ((0.01, "***"), (0.05, "**"), (0.1, "*"))
LARGEST_DIFFERENCE = 10.0  # beyond ten deviations a difference is only "very large"


@dataclass(frozen=True)
class Comparison:
    """Comparison of a row with the reference; None where there are too few values."""

    difference: float
    """Mean of the row less mean of the reference."""
    p: float | None
    """Welch's test, two-sided."""
    p_paired: float | None
    """Paired t-test over the seeds that both have."""
    effect: float | None
    """Hedges' g: the difference in standard deviations, corrected for few values; infinite if nothing varies."""


def compare(row: Mapping[int, float], reference: Mapping[int, float]) -> Comparison:
    """Compare a row's values by seed with the reference's.

    >>> result = compare({0: 2.0, 1: 3.0, 2: 4.0}, {0: 1.0, 1: 1.5, 2: 2.0})
    >>> result.difference, round(result.p, 3), round(result.p_paired, 3), round(result.effect, 2)
    (1.5, 0.104, 0.035, 1.52)
    """
    a, b = np.array(list(row.values()), dtype=float), np.array(list(reference.values()), dtype=float)
    shared = sorted(row.keys() & reference.keys())
    difference = float(a.mean() - b.mean()) if len(a) and len(b) else float("nan")
    pairs = [np.array([values[seed] for seed in shared], dtype=float) for values in (row, reference)]
    return Comparison(difference, welch(a, b), paired(*pairs), hedges(a, b))


def welch(a: Array, b: Array) -> float | None:
    r"""Return the two-sided p of Welch's t-test.

        t = (ā − b̄)/√(s_a²/n_a + s_b²/n_b),  degrees of freedom by Welch and Satterthwaite

    Without any variance p is 1 if the means are equal, else 0; with fewer than two values a side, None.

    >>> welch(np.array([1.0, 1.0]), np.array([1.0, 1.0])), welch(np.array([1.0, 1.0]), np.array([2.0, 2.0]))
    (1.0, 0.0)
    """
    if min(len(a), len(b)) < 2:
        return None
    size = _size(a, b)
    variances = [_variance(a, size) / len(a), _variance(b, size) / len(b)]
    freedom = sum(variances) ** 2 / (sum(v**2 / (len(x) - 1) for v, x in zip(variances, (a, b), strict=True)) or 1.0)
    return _two_sided(a.mean() - b.mean(), sum(variances), freedom, size)


def paired(a: Array, b: Array, *, overlap: float = 0.0) -> float | None:
    r"""Return the two-sided p of a paired t-test.

        t = d̄/(s_d √(1/n + q)) of the differences d

    p is 1 if all differences are zero, and 0 if they are all the same otherwise. q is the `overlap`: 0 for independent
    values; for folds of one table, which share training rows, the number of rows tested over the number trained on
    (Nadeau & Bengio 2003).

    >>> one, two = np.array([1.0, 1.0]), np.array([1.0, 2.0])
    >>> paired(one, one), paired(two + 0.5, two), paired(one[:1], two[:1])
    (1.0, 0.0, None)
    """
    if len(a) < 2:
        return None
    d, size = a - b, _size(a, b)
    return _two_sided(d.mean(), _variance(d, size) * (1 / len(d) + overlap), len(d) - 1, size)


def paired_interval(a: Mapping[int, float], b: Mapping[int, float], level: float = 0.95) -> tuple[float, float]:
    r"""Compute a confidence interval of the mean difference over the shared seeds; NaN for fewer than two.

        d̄ ± t_{n−1} s_d/√n

    >>> low, high = paired_interval({0: 2.0, 1: 3.0, 2: 4.0}, {0: 1.0, 1: 1.5, 2: 2.0})
    >>> round(low, 2), round(high, 2)
    (0.26, 2.74)
    """
    d = np.array([a[seed] - b[seed] for seed in sorted(a.keys() & b.keys())], dtype=float)
    if len(d) < 2:
        return float("nan"), float("nan")
    reach = float(stdtrit(len(d) - 1, (1 + level) / 2) * d.std(ddof=1) / np.sqrt(len(d)))
    return float(d.mean()) - reach, float(d.mean()) + reach


def _two_sided(difference: float, variance: float, freedom: float, size: float) -> float:
    """Return the two-sided p of a difference; without variance, 1 if it is zero and 0 otherwise.

    P(|T| ≥ |difference|/√variance)
    """
    if variance == 0:
        return float(abs(difference) <= ROUNDING * size)
    return float(2 * stdtr(freedom, -abs(difference) / np.sqrt(variance)))


def _size(a: Array, b: Array) -> float:
    return float(max(np.abs(a).max(), np.abs(b).max()))


def _variance(values: Array, size: float) -> float:
    """Compute the sample variance; zero where the values differ by rounding only."""
    return 0.0 if np.ptp(values) <= ROUNDING * size else float(values.var(ddof=1))


def hedges(a: Array, b: Array) -> float | None:
    r"""Compute Hedges' g, the standardised difference of two means; None for fewer than two values.

        g = (1 − 3/(4(n_a + n_b) − 9)) (ā − b̄)/√((s_a² + s_b²)/2)

    >>> round(hedges(np.array([1.0, 3.0]), np.array([0.0, 2.0])), 3)
    0.404
    """
    if min(len(a), len(b)) < 2:
        return None
    difference = float(a.mean() - b.mean())
    size = _size(a, b)
    spread = float(np.sqrt((_variance(a, size) + _variance(b, size)) / 2))
    if spread == 0:
        return 0.0 if abs(difference) <= ROUNDING * size else float(np.copysign(np.inf, difference))
    return (1 - 3 / (4 * (len(a) + len(b)) - 9)) * difference / spread


def holm(p: Sequence[float | None]) -> list[float | None]:
    r"""Adjust p-values for multiple testing by Holm's method (1979); None stays None.

        p̃_(i) = max_{j ≤ i} min(1, (m − j + 1) p_(j)),  p sorted ascending

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    known = sorted((value, place) for place, value in enumerate(p) if value is not None)
    adjusted: list[float | None] = [None] * len(p)
    largest = 0.0
    for rank, (value, place) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - rank) * value))
        adjusted[place] = largest
    return adjusted


def stars(p: float | None) -> str:
    """Return the paper's stars for a p-value.

    >>> [stars(p) for p in (0.009, 0.01, 0.05, 0.1, None)]
    ['***', '**', '*', '', '']
    """
    return next((sign for level, sign in LEVELS if p is not None and p < level), "")


def wilson(k: ArrayLike, n: ArrayLike, level: float = 0.95) -> tuple[Array, Array]:
    r"""Compute Wilson's confidence interval of a share, k of n rows (1927).

        (k + z²/2 ± z √(k(n − k)/n + z²/4))/(n + z²)

    >>> low, high = wilson(0, 10)
    >>> round(float(low), 3), round(float(high), 3)
    (0.0, 0.278)
    """
    k, n = np.asarray(k, dtype=float), np.asarray(n, dtype=float)
    z = float(ndtri((1 + level) / 2))
    reach = z * np.sqrt(k * (n - k) / np.maximum(n, 1) + z**2 / 4)
    return np.maximum(0.0, (k + z**2 / 2 - reach) / (n + z**2)), np.minimum(1.0, (k + z**2 / 2 + reach) / (n + z**2))


def excess(k: ArrayLike, n: ArrayLike, k_rest: ArrayLike, n_rest: ArrayLike) -> Array:
    r"""Return the p of k of n being no larger a share than in the rest; the larger of two binomial tests.

        max of P(Bin(n, p_rest) ≥ k) and P(Bin(n_rest, p) ≤ k_rest),  p = (k + 1)/(n + 2)

    Each side is tested against the other's share; the larger p is returned, so that neither side may be too small.

    >>> bool(excess(9, 10, 50, 1000) < 1e-6), bool(excess(300, 500, 0, 6) < 1e-3)
    (True, False)
    """
    k, n, k_rest, n_rest = (np.asarray(value, dtype=float) for value in (k, n, k_rest, n_rest))
    share, share_rest = (k + 1) / (n + 2), (k_rest + 1) / (n_rest + 2)
    own = np.where(k > 0, betainc(np.maximum(k, 1e-300), n - k + 1, share_rest), 1.0)
    others = np.where(k_rest < n_rest, betainc(np.maximum(n_rest - k_rest, 1e-300), k_rest + 1, 1 - share), 1.0)
    return np.maximum(own, others)


def standardised(mean: ArrayLike, variance: ArrayLike, mean_rest: ArrayLike, variance_rest: ArrayLike) -> Array:
    r"""Compute standardised mean differences, clipped to ±10; zero where nothing differs.

        d = (m − m_rest)/√((s² + s_rest²)/2)

    >>> standardised([3.0, 1.0], [1.0, 0.0], [2.0, 0.0], [1.0, 0.0]).tolist()
    [1.0, 10.0]
    """
    difference = np.asarray(mean, dtype=float) - np.asarray(mean_rest, dtype=float)
    spread = np.sqrt((np.asarray(variance, dtype=float) + np.asarray(variance_rest, dtype=float)) / 2)
    reach = LARGEST_DIFFERENCE * spread
    return np.asarray(
        np.where(
            np.abs(difference) <= reach,
            difference / np.where(spread > 0, spread, 1.0),
            np.copysign(LARGEST_DIFFERENCE, difference),
        )
    )
