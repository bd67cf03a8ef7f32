"""One new domain beside those that a model was fitted on: shift of its columns, distance, and how well it is served."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rpo.frames.columns import Column, names_of, typed
from rpo.functional.conformal import conformal_p, joint_p
from rpo.functional.novelty import Served, Shift, shift, trouble
from rpo.functional.ridge import Array
from rpo.io import few, p_text
from rpo.models.reference import Reference, relation

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
class Part:
    """One domain of the table."""

    figures: dict[str, Any]
    words: tuple[str, ...]
    columns: pd.DataFrame
    distances: pd.DataFrame


def against(
    estimator: Any, name: str, frame: pd.DataFrame, X: Array, value: Array, y: Array | None, lacking: list[str]
) -> Part:
    """A domain's rows against the training domains; `y` has numbers or places of classes, `lacking` columns."""
    reference: Reference = estimator.reference_
    number = len(reference.rows)
    figures = reference.figures(X)
    found = shift(
        np.hstack([reference.mean, reference.spread]),
        reference.rows[reference.place],
        np.concatenate([figures.mean(0), figures.std(0)]),
        float(len(X)),
        np.concatenate([reference.within, reference.within / 2]),
    )
    can = number >= FEWEST
    p = conformal_p(found.score, found.others) if can else np.nan
    outside = float(_beyond(X, reference.low, reference.high).mean())
    columns = _columns(estimator.columns_, reference, found, frame, X, name)
    far, distances = _distances(estimator, X, name)
    expected, like = _expected(reference, far)
    row: dict[str, Any] = {
        "domain": name,
        "rows": len(X),
        "verdict": "as usual",
        "p shift": p,
        "outside": outside,
        "nearest": distances["training domain"].iloc[0],
        "distance": far,
        "expected error": expected,
        "seen": name in set(map(str, estimator.domains_.tolist())),
    }
    words = []
    most = float(reference.outside.max(initial=0.0)) if can else 0.0
    unusual = can and p <= _mark(UNUSUAL, len(found.others))
    beyond = outside > max(MUCH_OUTSIDE, most) or (can and unusual and found.score > 2 * found.others.max())
    verdict = 2 if beyond else 1 if unusual or lacking or outside > max(UNUSUAL, most) else 0
    words += _shift_words(columns, p, found, outside, can, lacking)
    words.append(
        f"Of the training domains it resembles {distances['training domain'].iloc[0]!r} most; "
        f"{_measure(reference)} to expect {like}: {expected:.3g}."
    )
    if y is not None:
        more, said, bad = _served(reference, value, y)
        row |= more
        words += said
        verdict = max(verdict, int(bad))
    row["verdict"] = VERDICTS[verdict]
    return Part(row, tuple(words), columns, distances)


def _mark(share: float, domains: int) -> float:
    """The p up to which a domain is unusual: so few domains that none could be, if it passes all of them."""
    return max(share, 1 / (domains + 1)) + 1e-9


def _columns(
    columns: tuple[Column, ...], reference: Reference, found: Shift, frame: pd.DataFrame, X: Array, name: str
) -> pd.DataFrame:
    """By column: z of its level, its spread and its relation to the other columns; gaps and unseen categories."""
    origin = np.asarray(names_of(columns)[1])
    p = len(origin)
    parts = {"level": found.z[:p], "spread": found.z[len(found.z) // 2 :][:p]}
    if reference.beside.size:
        half = len(found.z) // 2
        with np.errstate(invalid="ignore"):
            parts["relation"] = np.where(
                np.abs(found.z[p:half]) >= np.abs(found.z[half + p :]), found.z[p:half], found.z[half + p :]
            )
    # What the column among all that stands out least by chance would reach in one ordinary domain of ten.
    crit = np.sort(found.others)[::-1][max(int(UNUSUAL * (len(found.others) + 1)) - 1, 0)] if len(found.others) else 0.0
    rows = []
    for place, column in enumerate(columns):
        mine = origin == place
        z = {key: float(values[mine][np.abs(values[mine]).argmax()]) for key, values in parts.items()}
        values = frame[column.name]
        numeric = typed(values, column)
        unseen = float(((numeric < 0) & values.notna().to_numpy()).mean()) if column.kind == "category" else 0.0
        gone = values.isna() if column.kind == "category" else np.isnan(numeric)
        first = int(np.flatnonzero(mine)[0])
        plain = column.kind != "category"
        rows.append(
            {
                "domain": name,
                "column": column.name,
                **z,
                "mark": max(float(crit), 1e-9),
                "shifted": max(map(abs, z.values())) > max(crit, 1e-9),
                "mean": float(X[:, first].mean()) if plain else np.nan,
                "training mean": float(np.average(reference.mean[:, first], weights=reference.rows[reference.place]))
                if plain
                else np.nan,
                "outside": float(
                    ((X[:, mine] < reference.low[mine]) | (X[:, mine] > reference.high[mine])).any(1).mean()
                ),
                "missing": float(np.mean(gone)),
                "unseen": unseen,
            }
        )
    table = pd.DataFrame(rows)
    size = table[list(parts)].abs().max(axis=1)
    return table.iloc[np.argsort(-size.to_numpy(), kind="stable")].reset_index(drop=True)


def _distances(estimator: Any, X: Array, name: str) -> tuple[float, pd.DataFrame]:
    """√ of the mean squared difference of column means, in deviations, to every training domain; nearest first."""
    reference: Reference = estimator.reference_
    p = X.shape[1]
    safe = np.where(reference.deviation > 0, reference.deviation, np.inf)
    d = np.sqrt((((reference.mean[:, :p] - X.mean(0)) / safe) ** 2).mean(1))
    order = np.argsort(d, kind="stable")
    labels = [str(estimator.domains_[reference.place[k]]) for k in order]
    return float(d[order[0]]), pd.DataFrame({"domain": name, "training domain": labels, "distance": d[order]})


def _expected(reference: Reference, far: float) -> tuple[float, str]:
    """The error of held-out domains that lay about as far from the nearest other one, and how many they are."""
    p = len(reference.deviation)
    safe = np.where(reference.deviation > 0, reference.deviation, np.inf)
    z = reference.mean[:, :p] / safe
    number = len(z)
    error, rows = reference.error[reference.place], reference.rows[reference.place]
    some = np.arange(number)
    words = "on any domain"
    if number > FEWEST:
        gram = z @ z.T
        square = np.diag(gram)[:, None] + np.diag(gram) - 2 * gram
        np.fill_diagonal(square, np.inf)
        nearest = np.sqrt(np.maximum(square.min(1), 0.0) / p)
        some = np.argsort(np.abs(nearest - far), kind="stable")[: max(FEWEST, round(FIFTH * number))]
        words = f"by the {len(some)} held-out domains that lay about as far from any other"
        if far > nearest.max():
            words = (
                f"if it is like the {len(some)} held-out domains that lay furthest from any other, none as far as this"
            )
    mean = float(rows[some] @ error[some] / rows[some].sum())
    return (mean if reference.classes else float(np.sqrt(mean))), words


def _shift_words(
    columns: pd.DataFrame, p: float, found: Shift, outside: float, can: bool, lacking: list[str]
) -> list[str]:
    words = []
    if not can:
        words.append("With fewer than three training domains it cannot be told how much domains usually differ.")
    else:
        as_far = round(p * (len(found.others) + 1)) - 1
        said = "none" if as_far == 0 else f"{as_far}"
        differ = "differs" if as_far < 2 else "differ"
        words.append(
            f"Of {len(found.others)} training domains, {said} {differ} from the others as much as "
            f"this one does (p = {p_text(p)})."
        )
        shifted = columns[columns["shifted"]]
        if len(shifted) and p <= _mark(UNUSUAL, len(found.others)):
            words.append(
                f"Columns that stand out: {few([_column_words(row) for _, row in shifted.iterrows()], MOST_NAMED)}."
            )
    if lacking:
        words.append(f"It lacks {few([repr(name) for name in lacking], MOST_NAMED)}.")
    for _, row in columns[columns["unseen"] >= UNUSUAL].head(MOST_NAMED).iterrows():
        words.append(f"{100 * row['unseen']:.0f} % of its rows have a {row['column']} that no training row has.")
    words.append(
        "No row lies outside the range of the training rows."
        if outside == 0
        else f"{100 * outside:.0f} % of its rows lie outside the range of the training rows in some column."
        if outside >= 0.005
        else "Fewer than 1 % of its rows lie outside the range of the training rows in some column."
    )
    return words


def _column_words(row: "pd.Series[Any]") -> str:
    kinds = [name for name in ("level", "spread", "relation") if name in row.index and abs(row[name]) > row["mark"]]
    kind = kinds[0] if kinds else "level"
    if kind == "relation":
        return f"{row['column']} (goes otherwise with the other columns)"
    if kind == "spread":
        return f"{row['column']} (varies {'more' if row['spread'] > 0 else 'less'})"
    if np.isfinite(row["mean"]):
        return f"{row['column']} (mean {row['mean']:.3g}, in training {row['training mean']:.3g})"
    return f"{row['column']} (other shares of its categories)"


def _served(reference: Reference, value: Array, y: Array) -> tuple[dict[str, Any], list[str], bool]:
    """The error on rows with a target, beside that of held-out domains, and whether it is worse than it should be."""
    used = ~np.isnan(y)
    value, y = value[used], y[used]
    one, place = np.ones(len(y)), np.zeros(len(y), dtype=np.intp)
    if reference.classes:
        truth = y[:, None] == np.arange(reference.classes)
        square = ((truth - value) ** 2).sum(1) / 2 + (y < 0) / 2
    else:
        square = (y - value) ** 2
    known = Served(reference.rows, reference.error, reference.wild, reference.reach, reference.along)
    reach, along = relation(y, value, one, place, 1)
    mean = np.array([square.mean()])
    new = trouble(known, Served(np.array([float(len(y))]), mean, np.array([(square**2).mean()]), reach, along))
    others = trouble(known, known)
    error = float(mean[0] if reference.classes else np.sqrt(mean[0]))
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
    said = (
        f"Its {_measure(reference)} is {error:.3g}, for its size worse than {worse} of {number} held-out domains "
        f"(p = {p_text(p_error)})."
    )
    words = [said]
    bad = p <= mark
    if bad and conformal_p(float(new.relation[0]), others.relation) < p_error:
        words.append(
            f"Its target goes less with the predictions than in held-out domains (p = {p_text(p)} with the error)."
        )
    if not tell and not bad:
        why = "its rows are too few, or the model explains too little,"
        words.append(f"Whether its target goes with the predictions as it should cannot be told: {why} to see it.")
    return figures, words, bad


def _measure(reference: Reference) -> str:
    return "Brier score" if reference.classes else "root mean squared error"


def _beyond(X: Array, low: Array, high: Array) -> NDArray[np.bool_]:
    """Which rows lie outside a range in some column."""
    return np.asarray(((low > X) | (high < X)).any(1))
