"""Fast prediction of many rows by splines and trees, from tables over the ranks of their values.

Predictions equal those of the original models, except for the last bits of a sum.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PPoly

from rpo._learners.bases import Basis, Coarse
from rpo._learners.places import Places
from rpo._stats.ridge import Array

Codes = Mapping[int, NDArray[np.intp]]
"""Of each column that matters, the place of every row."""
Cuts = list[tuple[int, Array]]
"""Columns and cuts of each."""
WORDS = (np.uint8, np.uint16, np.uint32, np.uint64)


@dataclass(frozen=True, eq=False)
class Pieces:
    r"""s(x) = Σ_p c_ip (x − m − b_i)^p between cuts i − 1 and i: a curve of one column, p from 0 to 3."""

    column: int
    mean: float
    cuts: Array
    begin: Array
    coef: Array
    """`(4, pieces)`."""

    @classmethod
    def of(cls, basis: Basis, column: int, straight: float, curve: Array | None) -> "Pieces":
        """Convert a column's part of a ridge on a basis: constant beyond the range of clipping, linear beyond knots."""
        mean, scale = float(basis.mean_[column]), float(basis.scale_[column])
        low, high = float(basis.low_[column]), float(basis.high_[column])
        knots, coef = np.zeros(1), np.array([[0.0], [straight], [0.0], [0.0]])
        if curve is not None:
            assert basis.spline_ is not None
            spline = basis.spline_.bsplines_[int(basis.curved_[:column].sum())]
            knots, coef = _cubics(spline.t, np.append(curve, 0.0), spline.k)
            coef[0] += straight * knots
            coef[1] += straight
        coef = coef / scale ** np.arange(4)[:, None]
        knots = knots * scale  # about the mean, where a column of large numbers keeps its digits
        outer = [
            np.array([[coef[0, at] + coef[1, at] * (x - mean - knots[at])], [0.0], [0.0], [0.0]])
            for at, x in ((0, low), (-1, high))
        ]
        cuts = np.array([low, *(knots[1:] + mean), high])
        return cls(column, mean, cuts, np.array([knots[0], *knots, knots[-1]]), np.hstack([outer[0], coef, outer[1]]))

    def over(self, places: Places) -> "Pieces":
        """Return the same with a piece for every place."""
        right = places.cuts
        piece = np.searchsorted(self.cuts, right, side="left")
        return Pieces(self.column, self.mean, right, self.begin[piece], np.ascontiguousarray(self.coef[:, piece]))

    def add(self, x: Array, place: NDArray[np.intp], total: Array, room: Array) -> None:
        """Add the value at rows to `total`; `room` is overwritten."""
        u = x - self.mean
        u -= np.take(self.begin, place, out=room, mode="clip")
        value = self.coef[3].take(place, mode="clip")
        for p in (2, 1, 0):
            value *= u
            value += np.take(self.coef[p], place, out=room, mode="clip")
        total += value


def _cubics(t: Array, c: Array, k: int) -> tuple[Array, Array]:
    """Return a cubic spline as polynomials about knots, straight before the first and after the last: `(4, pieces)`."""
    inner = slice(k, len(t) - k - 1)
    knots, coef = t[inner], PPoly.from_spline((t, c, k)).c[::-1, inner]
    length = t[-k - 1] - knots[-1]
    value, slope = (sum(np.polynomial.polynomial.polyder(coef[:, -1], m) * length ** np.arange(4 - m)) for m in (0, 1))
    before, after = np.array([[coef[0, 0]], [coef[1, 0]], [0], [0]]), np.array([[value], [slope], [0], [0]])
    return np.concatenate([knots[:1], knots, t[[-k - 1]]]), np.hstack([before, coef, after])


@dataclass(frozen=True, eq=False)
class Curves:
    """a + Σ_j s_j(x_j) + Σ_jk β_jk z_j z_k: what `linear_part` gives."""

    intercept: float
    pieces: tuple[Pieces, ...]
    basis: Basis
    pairs: NDArray[np.intp]
    products: Array

    @classmethod
    def of(cls, basis: Basis, pairs: NDArray[np.intp], coef: Array, intercept: float) -> "Curves":
        """Convert coefficients of the columns of a basis, followed by those of products."""
        d, curved = len(basis.mean_), np.flatnonzero(basis.curved_)
        own = len(coef) - len(pairs)
        of_curve = dict(zip(curved.tolist(), coef[d:own].reshape(len(curved), -1) if own > d else [], strict=False))
        pieces = tuple(Pieces.of(basis, j, float(coef[j]), of_curve.get(j)) for j in range(d))
        return cls(float(intercept), pieces, basis, pairs, coef[own:])

    def cuts(self) -> Cuts:
        """Return the cuts between pieces, by column."""
        return [(piece.column, piece.cuts) for piece in self.pieces]

    def over(self, places: Mapping[int, Places]) -> "Curves":
        """Return the same with pieces for every place."""
        pieces = tuple(piece.over(places[piece.column]) for piece in self.pieces)
        return Curves(self.intercept, pieces, self.basis, self.pairs, self.products)

    def __call__(self, x: Array, codes: Codes) -> Array:
        """Predict rows, `(n, 1)`."""
        total, room = np.full(len(x), self.intercept), np.empty(len(x))
        for piece in self.pieces:
            piece.add(x[:, piece.column], codes[piece.column], total, room)
        z: dict[int, Array] = {}
        for (i, j), beta in zip(self.pairs.tolist(), self.products, strict=True):
            for k in (i, j):
                if k not in z:
                    z[k] = np.clip(x[:, k], self.basis.low_[k], self.basis.high_[k])
                    z[k] -= self.basis.mean_[k]
                    z[k] /= self.basis.scale_[k]
            np.multiply(z[i], z[j], out=room)
            room *= beta
            total += room
        return total[:, None]


@dataclass(frozen=True, eq=False)
class Node:
    """A split: rows with x ≤ `threshold` go to the leaves of `left`."""

    tree: int
    column: int
    threshold: float
    left: int
    """A bit for each leaf, counted from the left."""


@dataclass(frozen=True, eq=False)
class Trees:
    """Boosted trees by bits: in every tree, the leaf of a row is the first that no split excludes.

    Every column says by its place alone which leaves its splits take away, of all trees at once (Lucchese et al.,
    QuickScorer: a fast algorithm to rank documents with additive ensembles of regression trees, SIGIR 2015).
    """

    baseline: Array
    """One for each output."""
    nodes: tuple[Node, ...]
    value: Array
    """`(trees, leaves)`."""
    kept: tuple[tuple[int, NDArray[np.uint64]], ...] = ()
    """Of each column, the leaves that are left at every place, `(places, words)`."""

    @classmethod
    def of(cls, model: Any, bins: Coarse) -> "Trees | None":
        """Convert scikit-learn's boosted trees, fitted to columns in bins; return None if that is not possible."""
        trees = [tree.nodes for step in model._predictors for tree in step]
        most = max(int(tree["is_leaf"].sum()) for tree in trees)
        if most > 64 or any(tree["is_categorical"].any() for tree in trees):
            return None
        if any(
            edges is not None and (np.diff(means) <= 0).any()
            for edges, means in zip(bins.edges_, bins.means_, strict=True)
        ):
            return None
        value, nodes = np.zeros((len(trees), most)), list[Node]()
        for t, tree in enumerate(trees):
            leaves: list[float] = []
            nodes += _walk(tree, 0, t, bins, leaves)
            value[t, : len(leaves)] = leaves
        return cls(np.ravel(model._baseline_prediction).astype(np.float64), tuple(nodes), value)

    def cuts(self) -> Cuts:
        """Return the thresholds of all splits."""
        return [(node.column, np.array([node.threshold])) for node in self.nodes]

    @property
    def word(self) -> Any:
        """The smallest number that has a bit for every leaf of a tree."""
        return next(word for word in WORDS if 8 * np.dtype(word).itemsize >= self.value.shape[1])

    def over(self, places: Mapping[int, Places]) -> "Trees":
        """Return the same with the remaining leaves at every place."""
        whole = np.dtype(self.word).itemsize * len(self.value)
        width = -(-whole // 8) * 8 // np.dtype(self.word).itemsize
        tables: dict[int, NDArray[Any]] = {}
        for node in self.nodes:
            cuts = places[node.column].cuts
            if node.column not in tables:
                tables[node.column] = np.full((len(cuts), width), np.iinfo(self.word).max, dtype=self.word)
            beyond = slice(
                int(np.searchsorted(cuts, node.threshold, side="right")) if node.threshold > -np.inf else 0, None
            )
            if node.threshold < np.inf:
                tables[node.column][beyond, node.tree] &= self.word(
                    ~np.uint64(node.left) & np.uint64(np.iinfo(self.word).max)
                )
        words = tuple((column, table.view(np.uint64)) for column, table in sorted(tables.items()))
        return Trees(self.baseline, (), self.value, words)

    def __call__(self, x: Array, codes: Codes) -> Array:
        """Predict rows, `(n, outputs)`."""
        n, (trees, leaves), outputs = len(x), self.value.shape, len(self.baseline)
        left = np.full((n, -(-np.dtype(self.word).itemsize * trees // 8)), np.uint64(2**64 - 1))
        room = np.empty_like(left)
        for column, table in self.kept:
            np.bitwise_and(left, np.take(table, codes[column], axis=0, out=room, mode="clip"), out=left)
        bits = left.view(self.word)[:, :trees]
        below = bits - self.word(1)
        np.bitwise_and(below, ~bits, out=below)  # ones below the lowest that is left
        place = np.bitwise_count(below) + np.arange(0, trees * leaves, leaves)
        value = self.value.ravel().take(place, mode="clip")
        return np.asarray(value.reshape(n, -1, outputs).sum(1) + self.baseline)


def _walk(tree: Any, at: int, number: int, bins: Coarse, leaves: list[float]) -> Iterator[Node]:
    """Return the splits below a node; add the values of its leaves from left to right."""
    node = tree[at]
    if node["is_leaf"]:
        leaves.append(float(node["value"]))
        return
    first = len(leaves)
    yield from _walk(tree, int(node["left"]), number, bins, leaves)
    mine = (1 << len(leaves)) - (1 << first)
    column = int(node["feature_idx"])
    yield Node(number, column, _find_threshold(bins, column, float(node["num_threshold"])), mine)
    yield from _walk(tree, int(node["right"]), number, bins, leaves)


def _find_threshold(bins: Coarse, column: int, threshold: float) -> float:
    """Return the largest number whose bin has a mean of at most the threshold.

    >>> bins = Coarse(bins=2).fit(np.array([[1.0], [2.0], [3.0], [5.0]]))
    >>> bool(bins.edges_[0] > _find_threshold(bins, 0, 2.0) > 2)
    True
    """
    edges, means = bins.edges_[column], bins.means_[column]
    if edges is None:
        return threshold
    last = int(np.searchsorted(means, threshold, side="right")) - 1
    if last < 0:
        return -np.inf
    return np.inf if last >= len(means) - 1 else float(np.nextafter(edges[last], -np.inf))


def all_cuts(parts: Sequence[Any]) -> dict[int, Places]:
    """Return the places of every column that a part uses."""
    cuts: dict[int, list[Array]] = {}
    for part in parts:
        for column, values in part.cuts():
            cuts.setdefault(column, []).append(values)
    return {column: Places.of(np.concatenate(values)) for column, values in sorted(cuts.items())}
