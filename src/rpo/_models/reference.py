"""Errors and figures of held-out domains, kept beside a model for intervals, checks of new domains and adapting.

Only a small model of the size of errors is trained for it: predictions for held-out domains are known already, because
the model was chosen by them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpo._learners.crossfit import Problem
from rpo._models.decision import Candidate, Trial
from rpo._models.local_noise import FLAT, LocalNoise, local_noise
from rpo._stats.effects import number_effect, number_effects
from rpo._stats.ridge import Array, gcv_ridge
from rpo._stats.scale import between

MOST_COLUMNS, RIDGE = 300, 0.01  # columns that each is compared with the others; and the penalty of that
MOST_WORK = 1e9  # operations for lines of all domains but one
MOST_MEANS = 4_000_000  # numbers: means of columns by domain, and their deviations; of more, some domains are left out
SIZES = (15, 30, 60, 120, 250, 500)
DOMAINS = 8  # the largest, with which a line through rows of their own is tried
MOST_CLASSES = 10
FEWEST, MARGIN = 3, 0.01  # domains that a line of their own must serve better, by this share of the squared error

Mover = Callable[[NDArray[np.intp], NDArray[np.intp]], Array]


@dataclass(frozen=True, eq=False)
class Reference:
    """Rows with predictions by models that did not see their domain, and figures of every domain.

    Of at most 20,000 rows, as even over domains as they allow. Where there is one domain only, every row stands for a
    domain of its own: what is said then holds for new rows, not for new domains.
    """

    domain: NDArray[np.int64]
    """Of each row kept, the place of its domain."""
    value: Array
    """What was said of it: `(n,)`, or `(n, C)` probabilities."""
    target: Array
    """What it is: a number, or the place of a class."""
    scale: Array
    """How large errors are where it lies, from rows of other domains: one is ordinary."""
    count: Array
    """How often it counts."""
    trust: Array
    """By domain, the mean weight of its rows by the judgement, at most one."""
    rows: Array
    """By domain, how many rows."""
    error: Array
    """By domain, the mean squared error (for classes Brier's score), all rows counted in full."""
    wild: Array
    """By domain, the mean of squared squared errors."""
    reach: Array
    """By domain, Σ(f − f̄)², over classes too."""
    along: Array
    """By domain, Σ(f − f̄)(r − r̄), r the residual."""
    beside: Array
    """What the others leave of a column, as a line of all of them: `(p, p)`, or `(p, 0)` if p is large."""
    place: NDArray[np.int64]
    """Domains whose columns are known, in order."""
    mean: Array
    """Of each of these the mean of every column, and of what the others leave of it: `(E, p)` or `(E, 2p)`."""
    spread: Array
    """Of each of these the deviation within the domain, likewise."""
    within: Array
    """The variance within domains, likewise."""
    deviation: Array
    """The deviation of every column over all rows."""
    low: Array
    high: Array
    """The range of every column."""
    outside: Array
    """By domain, the share of rows outside the range of all other domains in some column."""
    own: Array
    """From how many rows on a line of a domain's own does better, and the most rows that this was tried with."""
    noise: LocalNoise
    """How large errors are, by where a row lies."""

    @property
    def classes(self) -> int:
        """0 for a regression."""
        return self.value.shape[1] if self.value.ndim == 2 else 0

    @property
    def units(self) -> NDArray[np.int64]:
        """What counts as a domain of its own in an interval: domains, or rows if there is one domain only."""
        return self.domain if len(self.rows) > 1 else np.arange(len(self.domain))

    @property
    def counts(self) -> Array:
        """By domain, how often the rows that are kept count."""
        return np.asarray(np.bincount(self.domain, self.count, len(self.rows)), dtype=np.float64)

    @property
    def residual(self) -> Array:
        """y − f of a regression."""
        return self.target - self.value

    def figures(self, X: Array) -> Array:
        """Return the columns and the standardised residual of each given the others."""
        return figures_of(X, self.low, self.deviation, self.beside)


def figures_of(X: Array, zero: Array, deviation: Array, beside: Array) -> Array:
    """Append to columns `(n, p)` the residual of each given the other columns, in standard deviations."""
    safe = np.where(deviation > 0, deviation, 1.0)
    return np.hstack([X, (X - zero) / safe @ beside])


ARRAYS = tuple(one.name for one in fields(Reference) if one.name != "noise")
PLACES = ("domain", "place")
BY_DOMAIN = ("trust", "rows", "error", "wild", "reach", "along", "outside")
BY_COLUMN = ("deviation", "low", "high")


def reference_of(trial: Trial, value: Array, chosen: Candidate) -> Reference:
    """Compute the reference of a model from its predictions for held-out domains."""
    problem = trial.problem
    sample, domain, n = trial.kept, problem.domain, problem.n_domains
    columns = trial.columns(chosen)
    scale, noise = np.ones(len(problem.y)), FLAT
    if not problem.n_classes:
        weight = problem.weight * trial.weight
        X = np.column_stack([problem.X[np.ix_(sample, columns)], value[sample]])
        rest = np.abs(problem.y - value)[sample]
        unit = domain[sample] if n > 1 else np.arange(len(rest))
        scale[sample], noise = local_noise(X, rest, weight[sample], unit, trial.fold[sample])
    count = problem.weight
    rows = np.asarray(np.bincount(domain, count, n), dtype=np.float64)
    square = trial.squared_errors(value)
    reach, along = relation(problem.y, value, count, domain, n)
    place = np.arange(n)[:: max(1, -(-2 * n * problem.X.shape[1] // MOST_MEANS))]
    # Of many rows, those that are kept tell means and deviations: twice all columns would not fit into memory.
    X, where, times = problem.X[sample], domain[sample], count[sample]
    middle = np.average(X, axis=0, weights=times)
    deviation = np.sqrt(np.average((X - middle) ** 2, axis=0, weights=times))
    low, high = problem.X.min(0), problem.X.max(0)
    beside, figures = _figures(X, middle, deviation, low, times, where, n)
    here = np.maximum(np.bincount(where, times, n), 1e-300)
    mean, spread = np.empty((n, figures.shape[1])), np.empty((n, figures.shape[1]))
    for j, column in enumerate(figures.T):
        mean[:, j] = np.bincount(where, times * column, n) / here
        spread[:, j] = np.sqrt(np.bincount(where, times * (column - mean[where, j]) ** 2, n) / here)
    return Reference(
        domain=domain[sample].astype(np.int64),
        value=value[sample],
        target=problem.y[sample].astype(np.float64),
        scale=scale[sample],
        count=count[sample],
        trust=np.minimum(np.bincount(domain, count * trial.weight, n) / rows, 1.0),
        rows=rows,
        error=np.bincount(domain, count * square, n) / rows,
        wild=np.bincount(domain, count * square**2, n) / rows,
        reach=reach,
        along=along,
        beside=beside,
        place=place,
        mean=mean[place],
        spread=spread[place],
        within=here @ spread**2 / here.sum(),
        deviation=deviation,
        low=low,
        high=high,
        outside=_outside(problem.X, count, domain, n),
        own=rows_of_own(problem, value, columns, sample),
        noise=noise,
    )


def relation(y: NDArray[Any], value: Array, count: Array, domain: NDArray[np.intp], n: int) -> tuple[Array, Array]:
    """Compute Σ(f − f̄)² and Σ(f − f̄)(r − r̄) of every domain; for classes the sum over their probabilities."""
    rows = np.bincount(domain, count, n)
    reach, along = np.zeros(n), np.zeros(n)
    for k, f in enumerate(value.T if value.ndim == 2 else value[None]):
        r = ((y == k) if value.ndim == 2 else y) - f
        centred = f - (np.bincount(domain, count * f, n) / rows)[domain]
        reach += np.bincount(domain, count * centred**2, n)
        along += np.bincount(domain, count * centred * r, n)
    return reach, along


def _figures(
    X: Array, middle: Array, deviation: Array, low: Array, count: Array, domain: NDArray[np.intp], n: int
) -> tuple[Array, Array]:
    """Fit a line of each column on the others; compute the figures of every row by lines from other domains."""
    p = X.shape[1]
    if not 1 < p <= MOST_COLUMNS:
        return np.empty((p, 0)), X
    z = (X - middle) / np.where(deviation > 0, deviation, 1.0)
    gram, total = (z.T * count) @ z, float(count.sum())
    beside = _beside(gram / total)
    figures = figures_of(X, low, deviation, beside)
    if 1 < n <= MOST_WORK / p**3:  # of many columns and domains, one domain hardly matters
        order = np.argsort(domain, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(domain[order])) + 1):
            rest = gram - (z[rows].T * count[rows]) @ z[rows]
            lines = _beside(rest / max(total - float(count[rows].sum()), 1e-300))
            figures[rows] = figures_of(X[rows], low, deviation, lines)
    return beside, figures


def _beside(correlation: Array) -> Array:
    """Compute the coefficients of x_j minus its ridge regression on the other columns, for every j.

    The columns of (R + αI)⁻¹ are divided by its diagonal, R being the correlation of columns.
    """
    inverse = np.linalg.inv(correlation + RIDGE * np.eye(len(correlation)))
    return np.asarray(inverse / np.diag(inverse))


def _outside(X: Array, count: Array, domain: NDArray[np.intp], n: int) -> Array:
    """Compute the share of rows of each domain outside the range of all other domains in some column."""
    if n < 2:
        return np.zeros(n)
    beyond = np.zeros(len(X), dtype=bool)
    order = np.argsort(domain, kind="stable")
    start = np.searchsorted(domain[order], np.arange(n))
    for column in X.T:
        for sign in (1.0, -1.0):
            most = np.maximum.reduceat(sign * column[order], start)
            first = int(most.argmax())
            others = np.full(n, most[first])
            others[first] = np.delete(most, first).max()
            beyond |= sign * column > others[domain]
    return np.asarray(np.bincount(domain, count * beyond, n) / np.bincount(domain, count, n))


def arrays_of(reference: Reference) -> dict[str, NDArray[Any]]:
    """Return the arrays to save."""
    return {**{name: np.asarray(getattr(reference, name)) for name in ARRAYS}, **reference.noise.arrays()}


def read_reference(
    arrays: Mapping[str, NDArray[Any]], *, domains: int, columns: int, inputs: int, classes: int
) -> Reference:
    """Restore a reference from saved arrays; raise ValueError or KeyError if a number is not valid."""
    parts: dict[str, NDArray[Any]] = {}
    n = len(np.asarray(arrays["domain"]))
    places = len(np.asarray(arrays["place"]))
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("domain", "target", "scale", "count"), (n,))
    shapes |= {"value": (n, classes) if classes else (n,), "place": (places,), "own": (2,)}
    beside = np.asarray(arrays["beside"])
    size = columns + (columns if beside.size else 0)
    shapes |= {"beside": (columns, size - columns), "within": (size,), "mean": (places, size), "spread": (places, size)}
    shapes |= dict.fromkeys(BY_DOMAIN, (domains,)) | dict.fromkeys(BY_COLUMN, (columns,))
    for name in ARRAYS:
        values = np.asarray(arrays[name])
        kind = "i" if name in PLACES else "f"
        if values.shape != shapes[name] or values.dtype.kind != kind or (kind == "f" and np.isnan(values).any()):
            raise ValueError(f"{name} of the held-out domains has the wrong shape or type")
        if name != "own" and not np.isfinite(values).all():
            raise ValueError(f"{name} of the held-out domains is not finite")
        parts[name] = values.astype(np.int64 if name in PLACES else np.float64)
    for name in PLACES:
        if len(parts[name]) == 0 or parts[name].min() < 0 or parts[name].max() >= domains:
            raise ValueError("a row belongs to a domain that does not exist")
    labels = np.unique(parts["target"]) if classes else np.zeros(1)
    if (labels % 1 != 0).any() or labels[0] < 0 or labels[-1] >= max(classes, 1):
        raise ValueError("a row belongs to a class that does not exist")
    positive = ("scale", "count", "rows", "own")
    if any((parts[name] <= 0).any() for name in positive) or (parts["low"] > parts["high"]).any():
        raise ValueError("a count, scale or range is not valid")
    bounded = ("trust", "outside", *(("value",) if classes else ()))
    if any((parts[name] < 0).any() for name in (*BY_DOMAIN[:5], "spread", "within", "deviation", "outside")):
        raise ValueError("a sum of squares is negative")
    if any(((parts[name] < -1e-9) | (parts[name] > 1 + 1e-9)).any() for name in bounded):
        raise ValueError("a share is not between 0 and 1")
    return Reference(**parts, noise=LocalNoise.read(arrays, inputs + 1))


def rows_of_own(problem: Problem, value: Array, columns: NDArray[np.intp], sample: NDArray[np.bool_]) -> Array:
    """Return the number of labelled rows from which a line fitted to them beats the adapted model, and the most tried.

    Tried on the largest training domains: some rows are labelled, the others measure the error. ∞ if a line never beats
    the model; one row as the most if no domain is large enough.
    """
    if problem.n_classes > MOST_CLASSES:
        return np.array([np.inf, 1.0])
    domain = problem.domain[sample]
    X, y, f = problem.X[np.ix_(sample, columns)], problem.y[sample], value[sample]
    target = np.stack([y == k for k in range(problem.n_classes)], 1) if problem.n_classes else y[:, None]
    residual = target - (f if problem.n_classes else f[:, None])
    move = _mover(residual, domain) if problem.n_classes else _sloped_mover(residual[:, 0], f, domain)
    size = np.bincount(domain)
    largest = np.argsort(-size, kind="stable")[:DOMAINS]
    lost: dict[int, list[float]] = {}
    for n in SIZES:
        for e in largest[size[largest] >= 2 * n]:
            rows = np.flatnonzero(domain == e)
            # Rows are sorted by what they say: every k-th is as good as drawn, and the same in any order of the table.
            chosen = rows[np.linspace(0, len(rows) - 1, n).astype(np.intp)]
            others = np.setdiff1d(rows, chosen)
            own = 0.0
            for column in target.T.astype(np.float64):
                own += float(((column[others] - gcv_ridge(X[chosen], column[chosen])(X[others])) ** 2).sum())
            moved = float((move(chosen, others) ** 2).sum())
            lost.setdefault(n, []).append(own / max(moved, 1e-300) - 1)
    better = [n for n, part in lost.items() if len(part) >= FEWEST and np.mean(part) < -MARGIN]
    last = max(lost, default=1)
    first = next((n for n in better if set(better) >= {m for m in lost if m >= n}), np.inf)
    return np.array([first, last], dtype=np.float64)


def _sloped_mover(residual: Array, value: Array, domain: NDArray[np.intp]) -> Mover:
    """Return a function for the residuals of rows after adapting offset and slope to other rows, as `adapt` does."""
    spread = float(value.std()) or 1.0
    z = np.column_stack([np.ones(len(value)), (value - value.mean()) / spread])
    effects = number_effects(z, residual, np.ones(len(value)), domain)

    def move(by: NDArray[np.intp], of: NDArray[np.intp]) -> Array:
        return np.asarray(residual[of] - z[of] @ number_effect(effects, z[by], residual[by], np.ones(len(by))))

    return move


def _mover(residual: Array, domain: NDArray[np.intp]) -> Mover:
    """Return the same function for probabilities, adapted by offsets alone, because slopes of log odds take long."""
    slow = _rows_to_move(residual, domain)

    def move(by: NDArray[np.intp], of: NDArray[np.intp]) -> Array:
        return np.asarray(residual[of] - len(by) / (len(by) + slow) * residual[by].mean(0))

    return move


def _rows_to_move(residual: Array, domain: NDArray[np.intp]) -> Array:
    """Estimate σ²/τ² of every output, the number of rows of a domain that weigh as much as the prior."""
    size = np.bincount(domain)
    present = size > 0
    ratios = []
    for r in residual.T:
        mean = np.bincount(domain, r) / np.maximum(size, 1)
        noise = max(float(((r - mean[domain]) ** 2).sum()) / max(len(r) - int(present.sum()), 1), 1e-300)
        tau2 = between(mean[present], noise / size[present])[1]
        ratios.append(noise / max(tau2, 1e-12 * noise))
    return np.asarray(ratios)
