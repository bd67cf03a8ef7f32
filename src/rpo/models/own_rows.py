"""From how many labelled rows on a domain is served better by a model of its own."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rpo.functional.effects import number_effect, number_effects
from rpo.functional.ridge import Array, gcv_ridge
from rpo.functional.scale import between
from rpo.judging.residuals import Problem

Mover = Callable[[NDArray[np.intp], NDArray[np.intp]], Array]

SIZES = (15, 30, 60, 120, 250, 500)
DOMAINS = 8  # largest ones that it is tried with
MOST_CLASSES = 10
FEWEST, MARGIN = 3, 0.01  # domains that a line of their own must serve better, by this share of the squared error


def rows_of_own(problem: Problem, value: Array, columns: NDArray[np.intp], kept: NDArray[np.bool_]) -> Array:
    """From how many rows on a line through a domain's own beats the model moved to them, and the most rows tried.

    Tried with the largest training domains: some of their rows are labelled, the others tell. ∞ if it never does, and
    one row as the most if no domain is large enough to try.
    """
    if problem.n_classes > MOST_CLASSES:
        return np.array([np.inf, 1.0])
    domain = problem.domain[kept]
    X, y, f = problem.X[np.ix_(kept, columns)], problem.y[kept], value[kept]
    target = np.stack([y == k for k in range(problem.n_classes)], 1) if problem.n_classes else y[:, None]
    said = f if problem.n_classes else f[:, None]
    residual = target - said
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
    """Residuals of some rows after the model was given offset and slope by others, as `adapt` does."""
    spread = float(value.std()) or 1.0
    z = np.column_stack([np.ones(len(value)), (value - value.mean()) / spread])
    effects = number_effects(z, residual, np.ones(len(value)), domain)

    def move(by: NDArray[np.intp], of: NDArray[np.intp]) -> Array:
        return np.asarray(residual[of] - z[of] @ number_effect(effects, z[by], residual[by], np.ones(len(by))))

    return move


def _mover(residual: Array, domain: NDArray[np.intp]) -> Mover:
    """The same for probabilities, by their offsets alone: the slope of log odds would take its time."""
    slow = _rows_to_move(residual, domain)

    def move(by: NDArray[np.intp], of: NDArray[np.intp]) -> Array:
        return np.asarray(residual[of] - len(by) / (len(by) + slow) * residual[by].mean(0))

    return move


def _rows_to_move(residual: Array, domain: NDArray[np.intp]) -> Array:
    """σ²/τ² of every output: how many rows of a domain weigh as much as what is known of domains."""
    size = np.bincount(domain)
    some = size > 0
    found = []
    for r in residual.T:
        mean = np.bincount(domain, r) / np.maximum(size, 1)
        noise = max(float(((r - mean[domain]) ** 2).sum()) / max(len(r) - int(some.sum()), 1), 1e-300)
        tau2 = between(mean[some], noise / size[some])[1]
        found.append(noise / max(tau2, 1e-12 * noise))
    return np.asarray(found)
