"""Trees as arrays of nodes: what scikit-learn fitted, without scikit-learn and without pickle."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax

from rpo._mapped import blocks
from rpo._stats.ridge import Array

Arrays = dict[str, NDArray[Any]]
MOST_TREES, MOST_DEPTH = 20_000, 1_000
LEAST_BYTES = 4  # of a number that was saved: smaller ones would become eight times as many bytes when read


def is_number(values: NDArray[Any]) -> bool:
    """Whether an array that was read holds numbers as they are saved: real, and no smaller than four bytes.

    >>> is_number(np.zeros(1)), is_number(np.zeros(1, np.int8)), is_number(np.zeros(1, np.complex64))
    (True, False, False)
    """
    return values.dtype.kind in "iuf" and values.dtype.itemsize >= LEAST_BYTES


@dataclass(frozen=True, eq=False)
class Nodes:
    """Trees one after another. From node i a row goes to `left[i]` if x[feature[i]] ≤ threshold[i], else to `right[i]`.

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
        """The leaf of each row in one tree."""
        place = np.full(len(x), self.root[tree], dtype=np.intp)
        rows = np.arange(len(x))
        while len(rows):
            at = place[rows]
            onward = np.where(x[rows, self.feature[at]] <= self.threshold[at], self.left[at], self.right[at])
            place[rows] = onward
            rows = rows[onward != at]
        return place

    def arrays(self) -> Arrays:
        """To be saved."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[Any]], inputs: int) -> Self:
        """Nodes that were saved, once every way through them is seen to end.

        >>> leaf = {"feature": [0], "threshold": [0.0], "left": [0], "right": [0], "value": [[2.0]], "root": [0]}
        >>> Nodes.read({name: np.array(values) for name, values in leaf.items()}, 1).value.tolist()
        [[2.0]]
        """
        kinds = {"feature": np.int32, "left": np.int32, "right": np.int32, "root": np.int64}
        if not all(is_number(np.asarray(arrays[name])) for name in cls.__dataclass_fields__):
            raise ValueError("a tree has values of the wrong type")
        found = {
            name: np.asarray(arrays[name]).astype(kinds.get(name, np.float64)) for name in cls.__dataclass_fields__
        }
        nodes = cls(**found)
        n = len(nodes.feature)
        if n == 0 or len(nodes.root) == 0 or nodes.value.ndim != 2 or nodes.value.shape[1] == 0:
            raise ValueError("a tree has no nodes")
        if any(found[name].shape != (n,) for name in ("threshold", "left", "right")) or len(nodes.value) != n:
            raise ValueError("the arrays of a tree differ in length")
        if nodes.root[0] != 0 or (np.diff(nodes.root) <= 0).any() or nodes.root[-1] >= n:
            raise ValueError("a tree has no root")
        here, end = np.arange(n), np.append(nodes.root[1:], n)[np.searchsorted(nodes.root, np.arange(n), "right") - 1]
        leaf = (nodes.left == here) & (nodes.right == here)
        for onward in (nodes.left, nodes.right):
            if (~leaf & ((onward <= here) | (onward >= end))).any():
                raise ValueError("a tree has a cycle")
        nodes._check_ways(leaf)
        if nodes.feature.min() < 0 or nodes.feature.max() >= inputs:
            raise ValueError("a tree uses a column that does not exist")
        if not (np.isfinite(nodes.value).all() and not np.isnan(nodes.threshold).any()):
            raise ValueError("a tree has values that are not finite")
        return nodes

    def _check_ways(self, leaf: NDArray[np.bool_]) -> None:
        """A node has one parent at most, and no way is longer than any tree's: a prediction may go all of it."""
        inner = ~leaf
        parents = np.bincount(np.concatenate([self.left[inner], self.right[inner]]), minlength=len(leaf))
        if len(self.root) > MOST_TREES or (parents > 1).any():
            raise ValueError("a tree has a node with two parents, or there are too many trees")
        level = self.root
        for _ in range(MOST_DEPTH):
            level = level[inner[level]]
            if len(level) == 0:
                return
            level = np.concatenate([self.left[level], self.right[level]])
        raise ValueError("a tree is too deep")


def joined(trees: list[Arrays]) -> Nodes:
    """Trees, each with nodes numbered from zero and −1 for no way on, as one."""
    size = np.array([len(tree["left"]) for tree in trees])
    root = np.cumsum(size) - size
    parts: dict[str, list[NDArray[Any]]] = {name: [] for name in ("feature", "threshold", "left", "right", "value")}
    for tree, start in zip(trees, root, strict=True):
        leaf = tree["left"] < 0
        here = np.arange(start, start + len(leaf))
        parts["feature"].append(np.where(leaf, 0, tree["feature"]).astype(np.int32))
        parts["threshold"].append(np.where(leaf, 0.0, tree["threshold"]))
        for side in ("left", "right"):
            parts[side].append(np.where(leaf, here, tree[side] + start).astype(np.int32))
        parts["value"].append(tree["value"])
    return Nodes(**{name: np.concatenate(values) for name, values in parts.items()}, root=root.astype(np.int64))


def _walked(tree: Mapping[str, Any]) -> Arrays:
    """A tree of nested mappings, as LightGBM dumps it: nodes numbered from zero, −1 for no way on.

    >>> leaf = {"leaf_value": 2.0}
    >>> split = {"split_feature": 1, "threshold": 0.5, "left_child": leaf, "right_child": {"leaf_value": 3.0}}
    >>> found = _walked(split)
    >>> found["left"].tolist(), found["right"].tolist(), found["value"].ravel().tolist()
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
    numbered = {name: one.astype(np.int64) for name, one in (("feature", feature), ("left", left), ("right", right))}
    return {**numbered, "threshold": threshold, "value": value[:, None]}


@dataclass(frozen=True, eq=False)
class Boosted:
    """f(x) = baseline + Σ_t tree_t(x): boosted trees; of classes their log odds, tree t that of class t mod K."""

    nodes: Nodes
    baseline: Array
    """One for numbers and two classes, else one per class."""
    classes_: NDArray[Any] | None

    @classmethod
    def of(cls, model: Any) -> Self:
        """What scikit-learn's HistGradientBoosting fitted, on columns without categories or gaps."""
        trees = []
        for tree in (tree for step in model._predictors for tree in step):
            nodes = tree.nodes
            leaf = nodes["is_leaf"].astype(bool)
            trees.append(
                {
                    "feature": nodes["feature_idx"],
                    "threshold": nodes["num_threshold"],
                    "left": np.where(leaf, -1, nodes["left"].astype(np.int64)),
                    "right": np.where(leaf, -1, nodes["right"].astype(np.int64)),
                    "value": nodes["value"][:, None],
                }
            )
        return cls(joined(trees), np.ravel(model._baseline_prediction), getattr(model, "classes_", None))

    @classmethod
    def of_lightgbm(cls, model: Any) -> Self:
        """What LightGBM fitted, on columns without categories or gaps; the baseline is within its first trees."""
        trees = [_walked(tree["tree_structure"]) for tree in model.booster_.dump_model()["tree_info"]]
        classes = getattr(model, "classes_", None)
        outputs = 1 if classes is None or len(classes) == 2 else len(classes)
        return cls(joined(trees), np.zeros(outputs), classes)

    def raw(self, X: ArrayLike) -> Array:
        """`(n, K)`, a block of rows at a time."""
        x = np.asarray(X, dtype=np.float64)
        value = np.tile(self.baseline, (len(x), 1))
        for some in blocks(len(x)):
            for tree in range(len(self.nodes.root)):
                value[some, tree % len(self.baseline)] += self.nodes.value[self.nodes.leaves(x[some], tree), 0]
        return value

    def predict(self, X: ArrayLike) -> Array:
        """Numbers."""
        return self.raw(X)[:, 0]

    def predict_proba(self, X: ArrayLike) -> Array:
        """The probability of each class."""
        return probabilities(self.raw(X))


@dataclass(frozen=True, eq=False)
class Forest:
    """f(x) = Σ_t tree_t(x)/T: numbers, or the shares of classes."""

    nodes: Nodes
    classes_: NDArray[Any] | None

    @classmethod
    def of(cls, model: Any) -> Self:
        """What scikit-learn's ExtraTrees or RandomForest fitted."""
        trees = [
            {
                "feature": tree.feature,
                "threshold": tree.threshold,
                "left": tree.children_left,
                "right": tree.children_right,
                "value": tree.value[:, 0, :],
            }
            for tree in (one.tree_ for one in model.estimators_)
        ]
        return cls(joined(trees), getattr(model, "classes_", None))

    def predict_proba(self, X: ArrayLike) -> Array:
        """The mean over trees, a block of rows at a time."""
        # scikit-learn compares columns in single precision, too.
        x = np.asarray(X, dtype=np.float32)
        value = np.zeros((len(x), self.nodes.value.shape[1]))
        for some in blocks(len(x)):
            for tree in range(len(self.nodes.root)):
                value[some] += self.nodes.value[self.nodes.leaves(x[some], tree)]
        return value / len(self.nodes.root)

    def predict(self, X: ArrayLike) -> Array:
        """Numbers."""
        return self.predict_proba(X)[:, 0]


def probabilities(raw: Array) -> Array:
    """Probabilities from log odds `(n, 1)` of the second of two classes, or from one number for each of several.

    >>> probabilities(np.zeros((1, 1))).tolist(), probabilities(np.zeros((1, 4))).tolist()
    ([[0.5, 0.5]], [[0.25, 0.25, 0.25, 0.25]])
    """
    if raw.shape[1] > 1:
        return np.asarray(softmax(raw, axis=1))
    p = expit(raw[:, 0])
    return np.column_stack([1 - p, p])
