"""From how many labelled rows on a domain is served better by a model of its own."""

import numpy as np
from numpy.typing import NDArray

from rpo.functional.ridge import Array, gcv_ridge
from rpo.functional.scale import between
from rpo.judging.residuals import Problem

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
    slow = _rows_to_move(residual, domain)
    size = np.bincount(domain)
    largest = np.argsort(-size, kind="stable")[:DOMAINS]
    lost: dict[int, list[float]] = {}
    for n in SIZES:
        for e in largest[size[largest] >= 2 * n]:
            rows = np.flatnonzero(domain == e)
            # Rows are sorted by what they say: every k-th is as good as drawn, and the same in any order of the table.
            chosen = rows[np.linspace(0, len(rows) - 1, n).astype(np.intp)]
            others = np.setdiff1d(rows, chosen)
            own, moved = 0.0, 0.0
            for k in range(target.shape[1]):
                line = gcv_ridge(X[chosen], target[chosen, k].astype(np.float64))
                own += float(((target[others, k] - line(X[others])) ** 2).sum())
                shift = n / (n + slow[k]) * float(residual[chosen, k].mean())
                moved += float(((residual[others, k] - shift) ** 2).sum())
            lost.setdefault(n, []).append(own / max(moved, 1e-300) - 1)
    better = [n for n, part in lost.items() if len(part) >= FEWEST and np.mean(part) < -MARGIN]
    last = max(lost, default=1)
    first = next((n for n in better if set(better) >= {m for m in lost if m >= n}), np.inf)
    return np.array([first, last], dtype=np.float64)


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
