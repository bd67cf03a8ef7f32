r"""What a sample taught, laid on any row: models that did not see it, the line of its domain, and sums of what is left.

A row's fold is the place of its content among that of the sample: a row of the sample is judged by the models that did
not see it, a copy of one by the same, and any other row by models of which none saw it.

Squares of residuals are kept in bins of u = r²/σ̃_e², σ̃_e the sample's noise of the domain: how many, and their sum.
Σ r² is then exact, and Σ min(r²/σ², c²) is but for the one bin that c²σ² falls into.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpo._judging.evidence import Evidence
from rpo._judging.levels import OwnLines
from rpo._judging.noise import NumberNoise
from rpo._judging.sums import Sums, by_group
from rpo._learners.crossfit import FoldModels
from rpo._learners.places import Ranks
from rpo._learners.quick import Quick
from rpo._stats.ridge import Array
from rpo._stats.turned import turned_terms
from rpo.grouping.folds import content

LOWEST, HIGHEST = -16, 10  # powers of two between which u has bins of its own
FINE, COARSE = 32, 4  # bins to a power of two
MOST_BINS = 2_000_000  # of all cells together, while they are not coarse

Codes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Measured:
    """What was found of some rows: sums; and of each row what was expected and how far it stands out."""

    sums: Sums
    value: Array
    size: Array


@dataclass(frozen=True, eq=False)
class Ruler:
    """The models of a sample and the constants that it gave."""

    models: FoldModels
    ranks: Ranks
    """Finds the place of a content among those of the sample."""
    kept: NDArray[np.intp]
    """Features that are not suspicious."""
    n_domains: int
    n_strata: int
    usual: Array
    """σ̃ of every domain of a regression, from the sample."""
    lines: OwnLines | None
    recalibration: Any
    quick: tuple[Quick | None, ...] = ()
    """The models of each fold as tables, where they are of a kind that can be."""

    @classmethod
    def of(cls, evidence: Evidence, features: int) -> "Ruler":
        """Take the models and constants of a sample; `features` counts those before any was flagged."""
        flagged = evidence.suspicion.flagged if evidence.problem.X.shape[1] < features else ()
        models = evidence.expected.models
        assert models is not None
        noise = evidence.noise
        return cls(
            models,
            Ranks.of(np.unique(content([evidence.problem.X]))),
            np.delete(np.arange(features), flagged),
            evidence.problem.n_domains,
            len(evidence.strata.names),
            noise.usual if isinstance(noise, NumberNoise) else np.ones(evidence.problem.n_domains),
            evidence.levels.lines,
            evidence.levels.recalibration,
            tuple(Quick.of(fits, models.shares, models.n_classes) for fits in models.fits),
        )

    @property
    def octave(self) -> int:
        """Bins to a power of two: fewer where there are very many cells."""
        cells = self.n_domains * self.n_strata
        return int(np.clip(MOST_BINS // (cells * (HIGHEST - LOWEST)), COARSE, FINE))

    def measure(self, X: Array, y: NDArray[Any], domain: Codes, stratum: Codes) -> Measured:
        """Measure rows: all features, targets (numbers or places of classes), domains and strata as places."""
        x = X if len(self.kept) == X.shape[1] else X[:, self.kept]
        plain, level = self._expected(x, domain)
        count = by_group(domain, None, self.n_domains)
        if self.models.n_classes:
            sums, value, size = self._labels(plain, y.astype(np.intp), domain, stratum)
        else:
            sums, value, size = self._numbers(x, plain, level, y, domain, stratum)
        return Measured({"rows": count, **sums}, value, size)

    def _expected(self, x: Array, domain: Codes) -> tuple[Array, Array]:
        """Return what models say that did not see the row, and the level that they found of its domain."""
        fold = self.ranks(content([x])) % max(len(self.models.numbers), 1)
        classes = self.models.n_classes
        plain, level = np.zeros((len(x), classes) if classes else len(x)), np.zeros(len(x))
        for place in range(len(self.models.numbers)):
            rows = np.flatnonzero(fold == place)
            quick = self.quick[place] if self.quick else None
            if len(rows):
                some = x.T.take(rows, axis=1).T  # columns lie together
                plain[rows] = self.models.plain(place, some) if quick is None else quick(some)
                level[rows] = self.models.offset[place, domain[rows]]
        return plain, level

    def _numbers(
        self, x: Array, plain: Array, level: Array, y: Array, domain: Codes, stratum: Codes
    ) -> tuple[Sums, Array, Array]:
        lines, n = self.lines, self.n_domains
        assert lines is not None
        first, before = y - (plain + level), y - plain
        own = lines.intercept[domain]
        for j in np.flatnonzero(lines.coef.any(0)):
            own += x[:, j] * np.ascontiguousarray(lines.coef[:, j]).take(domain)
        residual = first - own
        apart = np.where(lines.straight[domain], residual, first)
        low, high = lines.plain_bounds[domain].T
        cell = domain * self.n_strata + stratum
        count, square = self._binned(residual, domain, cell, n * self.n_strata)
        centred = self._binned(first - lines.centre[domain], domain, domain, n)
        sums = {
            "cell_count": count,
            "cell_square": square,
            "domain_count": centred[0],
            "domain_square": centred[1],
            "level": by_group(domain, np.clip(before, low, high), n),
            "missed": by_group(domain, first**2, n),
        }
        return sums, plain + level, np.abs(apart) / self.usual[domain]

    def _binned(self, residual: Array, domain: Codes, group: Codes, groups: int) -> tuple[Array, Array]:
        """Return how many squares, and their sum, are in each bin of each group, `(groups, bins)`."""
        bins = self.octave * (HIGHEST - LOWEST) + 2  # the first and the last are open
        square = residual**2
        with np.errstate(divide="ignore"):
            power = np.log2(square / self.usual[domain] ** 2)
        place = np.clip(np.floor((power - LOWEST) * self.octave) + 1, 0, bins - 1).astype(np.intp)
        flat, size = group * bins + place, groups * bins
        return by_group(flat, None, size).reshape(groups, -1), by_group(flat, square, size).reshape(groups, -1)

    def _labels(self, plain: Array, label: Codes, domain: Codes, stratum: Codes) -> tuple[Sums, Array, Array]:
        own, common = self.recalibration
        n = self.n_domains
        p, q = own(plain, domain), common(plain, np.zeros_like(domain))
        truth = np.zeros_like(p)
        truth[np.arange(len(label)), label] = 1.0
        score, spread, length = turned_terms(p, label)
        cell, cells = domain * self.n_strata + stratum, n * self.n_strata
        sums = {
            "cell_rows": by_group(cell, None, cells),
            "cell_score": by_group(cell, score, cells),
            "cell_spread": by_group(cell, spread, cells),
            "cell_length": by_group(cell, length, cells),
            "gap": np.stack([by_group(domain, column, n) for column in (truth - q).T], 1),
            "odds": np.stack([by_group(domain, column * (1 - column), n) for column in q.T], 1),
            "missed": by_group(domain, ((truth - plain) ** 2).sum(1) / 2, n),
        }
        chance = np.clip(p[np.arange(len(label)), label], 1e-12, 1.0)
        return sums, plain, np.sqrt(-2 * np.log(chance))
