"""The size of errors by features, estimated on held-out domains, so that intervals are wider where rows are noisier."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rpo._learners.crossfit import cross_predict
from rpo._learners.learners import boosted
from rpo._learners.stacking import fit_learner
from rpo._saving.card import add_prefix, select_prefix
from rpo._saving.nodes import BinnedBoosted
from rpo._stats.conformal import conformal_quantile, row_mass
from rpo._stats.ridge import Array
from rpo.grouping.folds import Folds

POWERS = (0.5, 1.0)
LEVELS = (0.8, 0.9)  # at which a scale must not make intervals wider
SURE = 1.5  # standard errors over domains by which a scale must fit errors better
FLOOR = 0.05  # share of the errors that are taken for as large as the next: small ones say little by their logarithm
TREES = boosted(max_iter=20, max_leaf_nodes=4)
FEWEST = 100  # rows, below which errors are taken for as large everywhere


@dataclass(frozen=True, eq=False)
class LocalNoise:
    """σ(x) = exp(γ (g(x, f(x)) − ḡ)), g small boosted trees of log |y − f|; one everywhere if γ = 0."""

    power: float
    centre: float
    low: float
    high: float
    trees: Any

    def __call__(self, X: Array, value: Array) -> Array:
        """Compute σ of rows and their predictions, clipped to the range of training rows."""
        if self.power == 0:
            return np.ones(len(X))
        return self._scale(self.trees.predict(np.column_stack([X, value])))

    def _scale(self, log: Array) -> Array:
        return np.asarray(np.exp(self.power * (np.clip(log, self.low, self.high) - self.centre)))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save."""
        trees = {} if self.power == 0 else add_prefix("noise", self.trees.arrays())
        return {"noise": np.array([self.power, self.centre, self.low, self.high]), **trees}

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[Any]], inputs: int) -> Self:
        """Restore local noise from saved arrays; raise ValueError or KeyError if they are not valid."""
        numbers = np.asarray(arrays["noise"])
        if numbers.shape != (4,) or numbers.dtype.kind != "f" or not np.isfinite(numbers).all():
            raise ValueError("the local noise is not four finite numbers")
        power, centre, low, high = map(float, numbers)
        # Beyond these widths could not be told from none or from infinity.
        if power not in (0.0, *POWERS) or not -100 <= low - centre <= high - centre <= 100:
            raise ValueError("the local noise is out of range")
        trees = None if power == 0 else BinnedBoosted.read(select_prefix("noise", arrays), inputs)
        return cls(power, centre, low, high, trees)


FLAT = LocalNoise(0.0, 0.0, 0.0, 0.0, None)


def local_noise(
    X: Array, error: Array, weight: Array, domain: NDArray[np.intp], fold: Folds
) -> tuple[Array, LocalNoise]:
    """Estimate σ of every row from the other folds, and σ(x) for new rows; constant unless held-out domains fit better.

    `weight` is what the judgement leaves of a row: noisy rows do not tell where errors are large. A scale is taken if
    it describes the errors of held-out domains surely better, and none of the intervals would be wider for it.
    """
    constant = np.ones(len(error))
    if len(error) < FEWEST or (fold == fold[0]).all() or not error.any():
        return constant, FLAT
    log = np.log(np.maximum(error, max(np.quantile(error, FLOOR), 1e-12 * error.max())))

    def fit_trees(seen: NDArray[np.intp], _: int) -> Any:
        return fit_learner(TREES, X[seen], log[seen], weight[seen], domain[seen])

    guess = cross_predict(fit_trees, lambda trees, held: trees.predict(X[held]), fold)
    low, high = (float(end) for end in np.quantile(guess, [0.01, 0.99]))
    centre = float(np.average(np.clip(guess, low, high), weights=weight))
    best, power = _misfit(error, constant, domain), 0.0
    plain = best
    for tried in POWERS:
        fit = _misfit(error, LocalNoise(tried, centre, low, high, None)._scale(guess), domain)
        if fit.mean() < best.mean():
            best, power = fit, tried
    gain = plain - best
    mass = row_mass(domain, np.ones(len(error)))
    sure = power > 0 and gain.mean() > SURE * gain.std(ddof=1) / np.sqrt(len(gain))
    scale = LocalNoise(power, centre, low, high, None)._scale(guess)
    if not sure or any(_width(error, scale, mass, level) > _width(error, constant, mass, level) for level in LEVELS):
        return constant, FLAT
    trees = fit_learner(TREES, X, log, weight, domain)
    # As it will come back from a folder: intervals are then the same to the last bit.
    return scale, LocalNoise(power, centre, low, high, BinnedBoosted.convert(trees))


def _misfit(error: Array, scale: Array, domain: NDArray[np.intp]) -> Array:
    """Compute the negative log likelihood of Laplace's law in each domain, the mean of log(bσ_i) + |r_i|/(bσ_i)."""
    rows = np.bincount(domain)
    present = rows > 0
    relative = error / scale
    b = float((np.bincount(domain, relative)[present] / rows[present]).mean())
    fit = np.log(b * scale) + relative / b
    return np.asarray(np.bincount(domain, fit)[present] / rows[present])


def _width(error: Array, scale: Array, mass: Array, level: float) -> float:
    """Compute the mean width of intervals, with equal weight for domains; zero if the level is not possible."""
    q = conformal_quantile(error / scale, mass, level)
    return float(q * (mass @ scale)) if np.isfinite(q) else 0.0
