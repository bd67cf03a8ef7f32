"""Fitted trees of scikit-learn and LightGBM as arrays of nodes, which need neither library and no pickle."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax

from rpo._learners.bases import Coarse
from rpo._mapped import blocks
from rpo._saving.card import MOST_CLASSES, Arrays, is_number, read_numbers
from rpo._stats.ridge import Array

Tree = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]  # the first five of `Nodes`
MOST_TREES, MOST_DEPTH = 20_000, 1_000


@dataclass(frozen=True, eq=False)
class Nodes:
    """Concatenated trees. From node i a row goes to `left[i]` if x[feature[i]] ≤ threshold[i], else to `right[i]`.

    Both stand behind i, in the same tree; of a leaf both are i itself.
    """

    feature: NDArray[np.int32]
    threshold: Array
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: Array
    """`(nodes, outputs)`."""
    root: NDArray[np.int64]
    """Where each tree begins."""

    def leaves(self, x: NDArray[Any], tree: int) -> NDArray[np.intp]:
        """Return the leaf of each row in one tree."""
        place = np.full(len(x), self.root[tree], dtype=np.intp)
        rows = np.arange(len(x))
        while len(rows):
            at = place[rows]
            onward = np.where(x[rows, self.feature[at]] <= self.threshold[at], self.left[at], self.right[at])
            place[rows] = onward
            rows = rows[onward != at]
        return place

    def predict(self, x: NDArray[Any], start: Array) -> Array:
        """Return `start` and the sum of all trees, `(n, K)`; trees of one number take turns with the K columns."""
        total, width = np.tile(start, (len(x), 1)), self.value.shape[1]
        for rows in blocks(len(x)):
            for tree in range(len(self.root)):
                first = tree * width % len(start)
                total[rows, first : first + width] += self.value[self.leaves(x[rows], tree)]
        return total

    def arrays(self) -> Arrays:
        """Return what is to be saved."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[Any]], inputs: int) -> Self:
        """Return nodes that were saved, once every way through them is seen to end.

        >>> leaf = {"feature": [0], "threshold": [0.0], "left": [0], "right": [0], "value": [[2.0]], "root": [0]}
        >>> Nodes.read({name: np.array(values) for name, values in leaf.items()}, 1).value.tolist()
        [[2.0]]
        """
        kinds = {"feature": np.int32, "left": np.int32, "right": np.int32, "root": np.int64}
        saved = {name: np.asarray(arrays[name]) for name in cls.__dataclass_fields__}
        if not all(is_number(values) for values in saved.values()):
            raise ValueError("a tree has values of the wrong type")
        nodes = cls(**{name: values.astype(kinds.get(name, np.float64)) for name, values in saved.items()})
        n = len(nodes.feature)
        if n == 0 or len(nodes.root) == 0 or nodes.value.ndim != 2 or nodes.value.shape[1] == 0:
            raise ValueError("a tree has no nodes")
        if any(saved[name].shape != (n,) for name in ("threshold", "left", "right")) or len(nodes.value) != n:
            raise ValueError("the arrays of a tree differ in length")
        if nodes.root[0] != 0 or (np.diff(nodes.root) <= 0).any() or nodes.root[-1] >= n:
            raise ValueError("a tree has no root")
        nodes._check_ways()
        if nodes.feature.min() < 0 or nodes.feature.max() >= inputs:
            raise ValueError("a tree uses a column that does not exist")
        if not (np.isfinite(nodes.value).all() and not np.isnan(nodes.threshold).any()):
            raise ValueError("a tree has values that are not finite")
        return nodes

    def _check_ways(self) -> None:
        """Refuse a way that leaves its tree, turns back, or is longer than any tree's: a prediction may go all of it.

        A node has one parent at most.
        """
        here = np.arange(len(self.feature))
        end = np.append(self.root[1:], len(here))[np.searchsorted(self.root, here, "right") - 1]
        inner = (self.left != here) | (self.right != here)
        for onward in (self.left, self.right):
            if (inner & ((onward <= here) | (onward >= end))).any():
                raise ValueError("a tree has a cycle")
        parents = np.bincount(np.concatenate([self.left[inner], self.right[inner]]), minlength=len(here))
        if len(self.root) > MOST_TREES or (parents > 1).any():
            raise ValueError("a tree has a node with two parents, or there are too many trees")
        level = self.root
        for _ in range(MOST_DEPTH):
            level = level[inner[level]]
            if len(level) == 0:
                return
            level = np.concatenate([self.left[level], self.right[level]])
        raise ValueError("a tree is too deep")


def join(trees: Iterable[Tree]) -> Nodes:
    """Join trees, each with nodes numbered from zero and −1 for no way on."""
    parts, root, n = [], [], 0
    for feature, threshold, left, right, value in trees:
        leaf, here = left < 0, np.arange(n, n + len(left))
        ways = (np.where(leaf, here, side + n).astype(np.int32) for side in (left, right))
        parts.append((np.where(leaf, 0, feature).astype(np.int32), np.where(leaf, 0.0, threshold), *ways, value))
        root.append(n)
        n += len(left)
    feature, threshold, left, right, value = map(np.concatenate, zip(*parts, strict=True))
    return Nodes(feature, threshold, left, right, value, np.array(root, dtype=np.int64))


def flatten(tree: Mapping[str, Any]) -> Tree:
    """Convert a tree of nested mappings, as LightGBM dumps it, to arrays over its nodes; leaves have children −1.

    >>> leaf = {"leaf_value": 2.0}
    >>> split = {"split_feature": 1, "threshold": 0.5, "left_child": leaf, "right_child": {"leaf_value": 3.0}}
    >>> _, _, left, right, value = flatten(split)
    >>> left.tolist(), right.tolist(), value.ravel().tolist()
    ([2, -1, -1], [1, -1, -1], [0.0, 3.0, 2.0])
    """
    rows: list[list[float]] = []
    to_visit: list[tuple[Mapping[str, Any], int, int]] = [(tree, -1, 0)]
    while to_visit:
        node, parent, side = to_visit.pop()
        if parent >= 0:
            rows[parent][2 + side] = len(rows)
        if "split_feature" in node:
            to_visit += [(node["left_child"], len(rows), 0), (node["right_child"], len(rows), 1)]
            rows.append([node["split_feature"], node["threshold"], -1, -1, 0.0])
        else:
            rows.append([0, 0.0, -1, -1, node["leaf_value"]])
    feature, threshold, left, right, value = np.array(rows, dtype=np.float64).T
    return feature.astype(np.int64), threshold, left.astype(np.int64), right.astype(np.int64), value[:, None]


@dataclass(frozen=True, eq=False)
class Boosted:
    """f(x) = baseline + Σ_t tree_t(x): boosted trees; of classes their log odds, tree t that of class t mod K."""

    nodes: Nodes
    baseline: Array
    """One for numbers and two classes, else one per class."""
    classes_: NDArray[Any] | None

    @classmethod
    def convert(cls, model: Any) -> Self:
        """Convert what LightGBM fitted to columns without categories or gaps; its first trees hold the baseline."""
        if isinstance(model, cls):
            return model
        trees = [flatten(tree["tree_structure"]) for tree in model.booster_.dump_model()["tree_info"]]
        classes = getattr(model, "classes_", None)
        return cls(join(trees), np.zeros(_outputs(classes)), classes)

    def arrays(self) -> Arrays:
        """Return what is to be saved."""
        return {**self.nodes.arrays(), **class_arrays(self.classes_), "baseline": self.baseline}

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[Any]], inputs: int) -> Self:
        """Return trees that were saved, once they are seen to fit their columns and classes."""
        classes, nodes = read_classes(arrays), Nodes.read(arrays, inputs)
        if nodes.value.shape[1] != 1 or (classes is not None and len(classes) < 2):
            raise ValueError("the trees do not match the classes")
        return cls(nodes, read_numbers(arrays, "baseline", (_outputs(classes),)), classes)

    def raw(self, X: ArrayLike) -> Array:
        """Compute f(x), `(n, K)`."""
        return self.nodes.predict(np.asarray(X, dtype=np.float64), self.baseline)

    def predict(self, X: ArrayLike) -> Array:
        """Predict numbers."""
        return self.raw(X)[:, 0]

    def predict_proba(self, X: ArrayLike) -> Array:
        """Predict the probability of each class."""
        odds = self.raw(X)
        if odds.shape[1] > 1:
            return np.asarray(softmax(odds, axis=1))
        p = expit(odds[:, 0])
        return np.column_stack([1 - p, p])


@dataclass(frozen=True, eq=False)
class BinnedBoosted(Boosted):
    """Boosted trees on columns in bins."""

    bins: Coarse

    @classmethod
    def convert(cls, model: Any) -> Self:
        """Convert a pipeline of bins and scikit-learn's HistGradientBoosting, without categories or gaps."""
        if isinstance(model, cls):
            return model
        bins, fitted = model
        trees = []
        for nodes in (tree.nodes for step in fitted._predictors for tree in step):
            left, right = (np.where(nodes["is_leaf"], -1, nodes[side].astype(np.int64)) for side in ("left", "right"))
            trees.append((nodes["feature_idx"], nodes["num_threshold"], left, right, nodes["value"][:, None]))
        return cls(join(trees), np.ravel(fitted._baseline_prediction), getattr(fitted, "classes_", None), bins)

    def arrays(self) -> Arrays:
        """Return what is to be saved: edges and means of all columns stand one after another."""
        edges = [np.empty(0) if edge is None else edge for edge in self.bins.edges_]
        means = [np.empty(0) if e is None else m for e, m in zip(self.bins.edges_, self.bins.means_, strict=True)]
        counts = {"edge_count": np.array([len(e) for e in edges]), "mean_count": np.array([len(m) for m in means])}
        return {**super().arrays(), "edges": np.concatenate(edges), "means": np.concatenate(means), **counts}

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[Any]], inputs: int) -> Self:
        """Return trees that were saved, once their bins are seen to fit, too."""
        bins = Coarse()
        edges, bins.means_ = _read_split(arrays, "edge", inputs), _read_split(arrays, "mean", inputs)
        for edge, mean in zip(edges, bins.means_, strict=True):
            if len(mean) and len(mean) not in (len(edge), len(edge) + 1):
                raise ValueError("the numbers of bins and of their means differ")
        bins.edges_ = [edge if len(mean) else None for edge, mean in zip(edges, bins.means_, strict=True)]
        trees = Boosted.read(arrays, inputs)
        return cls(trees.nodes, trees.baseline, trees.classes_, bins)

    def raw(self, X: ArrayLike) -> Array:
        """Compute f(x), `(n, K)`."""
        return super().raw(self.bins.transform(X))


@dataclass(frozen=True, eq=False)
class Forest:
    """f(x) = Σ_t tree_t(x)/T: numbers, or the shares of classes."""

    nodes: Nodes
    classes_: NDArray[Any] | None

    @classmethod
    def convert(cls, model: Any) -> Self:
        """Convert what scikit-learn's ExtraTrees or RandomForest fitted."""
        if isinstance(model, cls):
            return model
        fitted = (estimator.tree_ for estimator in model.estimators_)
        trees = ((t.feature, t.threshold, t.children_left, t.children_right, t.value[:, 0, :]) for t in fitted)
        return cls(join(trees), getattr(model, "classes_", None))

    def arrays(self) -> Arrays:
        """Return what is to be saved."""
        return {**self.nodes.arrays(), **class_arrays(self.classes_)}

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[Any]], inputs: int) -> Self:
        """Return a forest that was saved, once it is seen to fit its columns and classes."""
        classes, nodes = read_classes(arrays), Nodes.read(arrays, inputs)
        if nodes.value.shape[1] != (1 if classes is None else len(classes)):
            raise ValueError("the forest does not match the classes")
        return cls(nodes, classes)

    def predict_proba(self, X: ArrayLike) -> Array:
        """Predict the mean over trees."""
        # scikit-learn compares columns in single precision, too.
        total = self.nodes.predict(np.asarray(X, dtype=np.float32), np.zeros(self.nodes.value.shape[1]))
        return total / len(self.nodes.root)

    def predict(self, X: ArrayLike) -> Array:
        """Predict numbers."""
        return self.predict_proba(X)[:, 0]


def class_arrays(classes: NDArray[Any] | None) -> Arrays:
    """Return the classes of a learner, 0 … C − 1 or some of them, to be saved; nothing for a regression.

    >>> class_arrays(None), class_arrays(np.array([0, 1]))
    ({}, {'classes': array([0, 1])})
    """
    return {} if classes is None else {"classes": np.asarray(classes, dtype=np.int64)}


def read_classes(arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.int64] | None:
    """Return the classes that were saved; None for a regression.

    >>> read_classes({"classes": np.array([1, 0])})
    Traceback (most recent call last):
    ValueError: the classes are not valid
    """
    if "classes" not in arrays:
        return None
    classes = np.asarray(arrays["classes"])
    if classes.ndim != 1 or classes.dtype.kind != "i" or not 0 < len(classes) <= MOST_CLASSES:
        raise ValueError("the classes are not valid")
    if (np.diff(classes) <= 0).any() or classes[0] < 0:
        raise ValueError("the classes are not valid")
    return classes.astype(np.int64)


def _outputs(classes: NDArray[Any] | None) -> int:
    return 1 if classes is None or len(classes) == 2 else len(classes)


def _read_split(arrays: Mapping[str, NDArray[Any]], name: str, parts: int) -> list[Array]:
    """Return the numbers of each column, which stand one after another."""
    count = np.asarray(arrays[f"{name}_count"])
    if count.shape != (parts,) or count.dtype.kind != "i" or (count < 0).any():
        raise ValueError(f"{name}_count has the wrong shape or type")
    return np.split(read_numbers(arrays, f"{name}s", (int(count.sum()),)), np.cumsum(count)[:-1])
