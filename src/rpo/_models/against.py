"""Comparison of a new domain with those that a model was fitted on: shift of columns, distance, error of the model."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rpo._io import few, p_text
from rpo._models.new_sums import NewDomain
from rpo._models.reference import Reference
from rpo._stats.conformal import conformal_p, joint_p
from rpo._stats.novelty import Served, Shift, shift, trouble
from rpo._stats.ridge import Array
from rpo._table.columns import Column, names_of

Verdict = Literal["as usual", "careful", "outside"]
VERDICTS: tuple[Verdict, ...] = ("as usual", "careful", "outside")
UNUSUAL = 0.1  # share of ordinary domains whose columns look as unusual as one to be careful with
WORSE = 0.05  # likewise of those that the model serves as badly
MUCH_OUTSIDE = 0.2  # share of rows outside the training range
FEWEST = 3  # domains: of fewer, what is usual cannot be told
FIFTH = 0.2  # of the training domains stand for one at the same distance
POWER = 1.28  # deviations beyond the mark: then nine in ten unrelated targets are found
MOST_NAMED = 4


@dataclass(frozen=True, eq=False)
class DomainCheck:
    """One domain of the table."""

    figures: dict[str, Any]
    words: tuple[str, ...]
    columns: pd.DataFrame
    distances: pd.DataFrame


@dataclass(frozen=True, eq=False)
class Training:
    """The training domains of a fitted model, for comparison with new ones."""

    estimator: Any

    @property
    def reference(self) -> Reference:
        """What these domains showed when they were held out."""
        value: Reference = self.estimator.reference_
        return value

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the table."""
        return tuple(self.estimator.columns_)

    @cached_property
    def origin(self) -> NDArray[np.intp]:
        """Of every number the place of the column that it comes from."""
        return np.asarray(names_of(self.columns)[1], dtype=np.intp)

    @cached_property
    def names(self) -> NDArray[Any]:
        """The domains whose columns are known."""
        return np.asarray([str(name) for name in self.estimator.domains_[self.reference.place]], dtype=object)

    @cached_property
    def places(self) -> Array:
        """Where they lie: means of columns, in deviations."""
        deviation = self.reference.deviation
        return self.reference.mean[:, : len(deviation)] / np.where(deviation > 0, deviation, np.inf)

    @cached_property
    def nearest(self) -> Array:
        """How far each lies from the nearest other one."""
        square = (self.places**2).sum(1)[:, None] + (self.places**2).sum(1) - 2 * self.places @ self.places.T
        np.fill_diagonal(square, np.inf)
        return np.asarray(np.sqrt(np.maximum(square.min(1), 0.0) / self.places.shape[1]))

    @cached_property
    def mean(self) -> Array:
        """The mean of every number over all rows."""
        reference = self.reference
        return np.asarray(
            np.average(reference.mean[:, : len(self.origin)], axis=0, weights=reference.counts[reference.place])
        )


def compare_domain(training: Training, name: str, new: NewDomain, lacking: list[str]) -> DomainCheck:
    """Compare a new domain with the training domains; `lacking` names columns that its table does not have."""
    reference = training.reference
    number = len(reference.rows)
    shifts = shift(
        np.hstack([reference.mean, reference.spread]),
        np.maximum(reference.counts[reference.place], 1e-9),
        np.concatenate([new.mean, new.spread]),
        new.rows,
        np.concatenate([reference.within, reference.within / 2]),
    )
    can = number >= FEWEST
    p = conformal_p(shifts.score, shifts.others) if can else np.nan
    outside = new.outside
    columns = _columns(training, shifts, new, name)
    far, distances = _distances(training, new, name)
    expected, to_expect = _expect(training, far)
    row: dict[str, Any] = {
        "domain": name,
        "rows": int(new.rows),
        "verdict": "as usual",
        "p shift": p,
        "outside": outside,
        "nearest": distances["training domain"].iloc[0],
        "distance": far,
        "expected error": expected,
        "seen": name in set(map(str, training.estimator.domains_.tolist())),
    }
    words = []
    most = float(reference.outside.max(initial=0.0)) if can else 0.0
    unusual = can and p <= _mark(UNUSUAL, len(shifts.others))
    beyond = outside > max(MUCH_OUTSIDE, most) or (can and unusual and shifts.score > 2 * shifts.others.max())
    verdict = 2 if beyond else 1 if unusual or lacking or outside > max(UNUSUAL, most) else 0
    words += _shift_words(columns, p, shifts, outside, can, lacking)
    words.append(f"Of the training domains it resembles {distances['training domain'].iloc[0]!r} most. {to_expect}")
    if new.served is not None:
        more, lines, bad = _compare_errors(reference, new.served)
        row |= more
        words += lines
        verdict = max(verdict, int(bad))
    row["verdict"] = VERDICTS[verdict]
    return DomainCheck(row, tuple(words), columns, distances)


def _mark(share: float, domains: int) -> float:
    """Return the p up to which a domain is unusual: with few domains, that of one that passes all of them."""
    return max(share, 1 / (domains + 1)) + 1e-9


def _columns(training: Training, shifts: Shift, new: NewDomain, name: str) -> pd.DataFrame:
    """Return z of level, spread and relation to other columns by column, with gaps and unseen categories."""
    reference, origin = training.reference, training.origin
    p = len(origin)
    parts = {"level": shifts.z[:p], "spread": shifts.z[len(shifts.z) // 2 :][:p]}
    if reference.beside.size:
        half = len(shifts.z) // 2
        with np.errstate(invalid="ignore"):
            parts["relation"] = np.where(
                np.abs(shifts.z[p:half]) >= np.abs(shifts.z[half + p :]), shifts.z[p:half], shifts.z[half + p :]
            )
    # What the column among all that stands out least by chance would reach in one ordinary domain of ten.
    others = np.sort(shifts.others)[::-1]
    crit = others[max(int(UNUSUAL * (len(others) + 1)) - 1, 0)] if len(others) else 0.0
    mark = max(float(crit), 1e-9)
    first = np.searchsorted(origin, np.arange(len(training.columns)))
    largest = {key: _largest(values, first) for key, values in parts.items()}
    plain = np.array([column.kind != "category" for column in training.columns])
    size = np.max([np.abs(values) for values in largest.values()], axis=0)
    table = pd.DataFrame(
        {
            "domain": name,
            "column": [column.name for column in training.columns],
            **largest,
            "mark": mark,
            "shifted": size > mark,
            "mean": np.where(plain, new.mean[:p][first], np.nan),
            "training mean": np.where(plain, training.mean[first], np.nan),
            "outside": new.beyond,
            "missing": new.gaps,
            "unseen": new.unseen,
        }
    )
    return table.iloc[np.argsort(-size, kind="stable")].reset_index(drop=True)


def _largest(values: Array, first: NDArray[np.intp]) -> Array:
    """Return of every run of values the one that lies furthest from zero.

    >>> _largest(np.array([1.0, -3.0, 2.0]), np.array([0, 2])).tolist()
    [-3.0, 2.0]
    """
    high, low = np.maximum.reduceat(values, first), np.minimum.reduceat(values, first)
    return np.asarray(np.where(high >= -low, high, low))


def _distances(training: Training, new: NewDomain, name: str) -> tuple[float, pd.DataFrame]:
    """Return the distance to every training domain, nearest first: √ of the mean squared difference of column means."""
    deviation = training.reference.deviation
    here = new.mean[: len(deviation)] / np.where(deviation > 0, deviation, np.inf)
    d = np.sqrt(((training.places - here) ** 2).mean(1))
    order = np.argsort(d, kind="stable")
    columns = {"domain": name, "training domain": training.names[order], "distance": d[order]}
    return float(d[order[0]]), pd.DataFrame(columns)


def _expect(training: Training, far: float) -> tuple[float, str]:
    """Return the error of held-out domains about as far from the nearest other one, and a sentence about it."""
    reference, number = training.reference, len(training.places)
    error, rows = reference.error[reference.place], reference.rows[reference.place]

    def mean(near: NDArray[np.intp]) -> tuple[float, str]:
        value = float(rows[near] @ error[near] / rows[near].sum())
        value = value if reference.classes else float(np.sqrt(value))
        return value, f"{_measure(reference)} of about {value:.3g}"

    if number <= FEWEST:
        value, words = mean(np.arange(number))
        return value, f"Expect a {words}, as in the held-out domains."
    near = np.argsort(np.abs(training.nearest - far), kind="stable")[: max(FEWEST, round(FIFTH * number))]
    value, words = mean(near)
    if far > training.nearest.max():
        had = f"that was the error in the {len(near)} held-out domains furthest from the others"
        return value, f"Expect a {words} or more: {had}, and this one is further away."
    return value, f"Expect a {words}, as in the {len(near)} held-out domains that are about as far from the others."


def _shift_words(
    columns: pd.DataFrame, p: float, shifts: Shift, outside: float, can: bool, lacking: list[str]
) -> list[str]:
    words = []
    if not can:
        words.append("Cannot tell how much domains usually differ: there are fewer than three training domains.")
    else:
        as_far = round(p * (len(shifts.others) + 1)) - 1
        count = "none" if as_far == 0 else f"{as_far}"
        differ = "differs" if as_far < 2 else "differ"
        words.append(
            f"Of {len(shifts.others)} training domains, {count} {differ} from the others as much as "
            f"this one does (p = {p_text(p)})."
        )
        shifted = columns[columns["shifted"]]
        if len(shifted) and p <= _mark(UNUSUAL, len(shifts.others)):
            words.append(
                f"Columns that stand out: {few([_column_words(row) for _, row in shifted.iterrows()], MOST_NAMED)}."
            )
    if lacking:
        words.append(f"Columns missing from the table: {few([repr(name) for name in lacking], MOST_NAMED)}.")
    for _, row in columns[columns["unseen"] >= UNUSUAL].head(MOST_NAMED).iterrows():
        words.append(
            f"{100 * row['unseen']:.0f} % of its rows have a {row['column']} that does not occur in the training data."
        )
    words.append(
        "No row has a value outside the range of the training data."
        if outside == 0
        else f"{100 * outside:.0f} % of its rows have a value outside the range of the training data."
        if outside >= 0.005
        else "Fewer than 1 % of its rows have a value outside the range of the training data."
    )
    return words


def _column_words(row: "pd.Series[Any]") -> str:
    kinds = [name for name in ("level", "spread", "relation") if name in row.index and abs(row[name]) > row["mark"]]
    kind = kinds[0] if kinds else "level"
    if kind == "relation":
        return f"{row['column']} (its relation to the other columns differs)"
    if kind == "spread":
        return f"{row['column']} (varies {'more' if row['spread'] > 0 else 'less'})"
    if np.isfinite(row["mean"]):
        return f"{row['column']} (mean {row['mean']:.3g}, in training {row['training mean']:.3g})"
    return f"{row['column']} (the frequencies of its categories differ)"


def _compare_errors(reference: Reference, served: Served) -> tuple[dict[str, Any], list[str], bool]:
    """Compare the error on rows with a target with that of held-out domains; return whether it is unusually large."""
    known = Served(reference.rows, reference.error, reference.wild, reference.reach, reference.along)
    new, others = trouble(known, served), trouble(known, known)
    error = float(served.error[0] if reference.classes else np.sqrt(served.error[0]))
    number = len(reference.rows)
    figures: dict[str, Any] = {"error": error, "p error": np.nan, "p": np.nan, "can tell": False}
    if number < FEWEST:
        words = [f"Its {_measure(reference)} is {error:.3g}; too few training domains to say whether that is usual."]
        return figures, words, False
    p_error = conformal_p(float(new.error[0]), others.error)
    p = joint_p(new.both[0], others.both)
    mark = _mark(WORSE, number)
    # An unrelated target must pass as many training domains as an alarm takes.
    needed = np.sort(others.relation)[::-1][max(int(mark * (number + 1)) // 2 - 1, 0)] + POWER
    tell = bool(new.certainty[0] >= needed)
    figures |= {"p error": p_error, "p": p, "can tell": tell}
    worse = number - (round(p_error * (number + 1)) - 1)
    words = [
        f"Its {_measure(reference)} is {error:.3g}: allowing for its size, worse than in {worse} of {number} "
        f"held-out domains (p = {p_text(p_error)})."
    ]
    bad = p <= mark
    if bad and conformal_p(float(new.relation[0]), others.relation) < p_error:
        words.append(
            f"Predictions follow its target less closely than in held-out domains (p = {p_text(p)}, error included)."
        )
    if not tell and not bad:
        why = "it has too few rows, or the model explains too little"
        words.append(f"Cannot tell whether predictions follow its target as they should: {why}.")
    return figures, words, bad


def _measure(reference: Reference) -> str:
    return "Brier score" if reference.classes else "root mean squared error"
