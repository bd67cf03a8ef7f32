"""Which domains, strata, features, columns and rows of a table are poor: `rpo.quality` and what it returns."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from rpo.exceptions import InputError
from rpo.frames.columns import names_of
from rpo.frames.preparing import Prepared, prepare
from rpo.functional.ridge import Array
from rpo.functional.significance import SURE, holm
from rpo.grouping.strata import NamedStrata, check_grouping, codes
from rpo.io import AskedTask, Grouping
from rpo.judging.columns import Columns, judge_columns
from rpo.judging.features import Suspicion, features_table, suspicious
from rpo.judging.heat_map import heat_map
from rpo.judging.noise import Levels, Noise, label_noise, number_noise
from rpo.judging.penalties import penalties, squared
from rpo.judging.residuals import Expected, Problem, out_of_domain, out_of_row
from rpo.judging.strata import strata_of, strata_table
from rpo.judging.words import findings
from rpo.progress import Show

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCARCE = 0.5  # of an even share: below it, a domain or a stratum is scarce
OTHER_RELATION = 0.1  # of a domain's residual variance, explained by slopes of its own
MOST_ROWS = 100  # rows to look at first
CLEARER = 0.5  # where some rows say less than half of others, a fit that knows it sees more clearly


@dataclass(frozen=True, eq=False)
class Quality:
    """What is known about a table's quality.

    Attributes
    ----------
    domains : DataFrame
        One row per domain, worst first: its level beyond what its columns explain (`offset`), whether the same columns
        mean something else there (`relation`), how far its columns lie from the others' (`novelty`), its `noise` (for
        classes the estimated share of wrong labels) with interval, ratio to the rest (for classes the difference) and
        corrected p, the error of models that never saw it (`held_out`), and the mean `weight` of its rows.
    strata, cells : DataFrame
        The same for groups of rows that share their noise, and for each of them within each domain.
    features : DataFrame
        One row per feature, suspicious ones first.
    rows : DataFrame
        The rows to look at first, with their columns.
    columns : Columns
        What is missing, impossible or shifted in which column, and what is not what it is taken for: `columns.findings`
        in sentences, the most important first.
    weight : ndarray
        What each row of the table should count: pass it as `sample_weight`. Rows without a target have zero.
    """

    domains: pd.DataFrame
    strata: pd.DataFrame
    cells: pd.DataFrame
    rows: pd.DataFrame
    features: pd.DataFrame
    slopes: pd.DataFrame
    weight: Array
    prepared: Prepared = field(repr=False)
    expected: Expected = field(repr=False)
    assigned: NamedStrata = field(repr=False)
    columns: Columns = field(repr=False)
    noise: float
    """The noise of all rows together; for classes the share of wrong labels."""
    misfit: float = 0.0
    """The variance by which models miss a domain that they never saw, beyond its noise; 0 for classes."""

    @property
    def task(self) -> str:
        """ "regression" or "classification"."""
        return self.prepared.task

    @property
    def summary(self) -> tuple[str, ...]:
        """What was found, in sentences."""
        return tuple(sentence for _, sentence in self.findings)

    @property
    def findings(self) -> tuple[tuple[str, str], ...]:
        """The same sentences, each with the table that has the evidence."""
        return findings(self)

    @property
    def penalties(self) -> pd.DataFrame:
        """η of every domain and ρ of every cell as Proposition 1 of RPO would have them; for readers of the paper."""
        return penalties(self)

    @property
    def overview(self) -> dict[str, float | None]:
        """The table in figures: rows, columns, domains, groups; noise and explained variance, or classes."""
        ready = self.prepared
        sizes = {
            "rows": len(ready.y),
            "columns": len(ready.columns),
            "domains": len(self.domains),
            "groups of rows": len(self.strata),
        }
        if self.task == "regression":
            figures = {"noise": self.noise, "variance explained": 1 - float(squared(self).mean())}
        else:
            count = np.unique(ready.y, return_counts=True)[1]
            figures = {"classes": len(count), "largest class": count.max() / len(ready.y), "wrong labels": self.noise}
        return {name: float(value) if np.isfinite(value) else None for name, value in (sizes | figures).items()}

    def figure(self) -> "Figure":
        """The noise of strata by domains as a heat map."""
        return heat_map(self)

    def report(self, path: str | Path, title: str = "table") -> None:
        """Write the page, headed by the title."""
        # By name: the page knows the judgement, not the other way round.
        import_module("rpo.report").write_report(self, Path(path), title=title)


def quality(
    X: ArrayLike | pd.DataFrame,
    y: ArrayLike | None = None,
    *,
    domains: ArrayLike | None = None,
    target: str | None = None,
    domain: str | None = None,
    strata: Sequence[str] | ArrayLike = (),
    task: AskedTask = "auto",
    grouping: Grouping = "auto",
    estimator: Any = "auto",
    predictions: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    unit: str | ArrayLike | None = None,
    drop: Sequence[str] = (),
    category: Sequence[str] = (),
    random_state: int = 0,
    verbose: Show = "auto",
) -> Quality:
    """Judge a table: which domains, groups, features and rows are poor, how sure that is, and what a row should count.

    Either `quality(X, y, domains=…)`, or `quality(frame, target="name", domain="name")`.

    Parameters
    ----------
    X, y, domains
        Features (an array, or a DataFrame with text, dates and missing values), target, and the domain of each row.
    target, domain : str
        Names of columns of `X`, if it is the whole table.
    strata
        Names of columns whose combinations are the groups to judge, or one label per row; by default they are searched
        for among the features. `grouping="none"` judges domains alone.
    estimator : "auto" or a scikit-learn estimator
        What the residuals come from.
    predictions : array
        Predictions you already have, from models that did not see the row: numbers, or one probability per class in
        sorted order. Nothing is trained for the residuals then, and features and held-out errors are left out.
    sample_weight : array
        How often each row counts.
    unit : str or array
        Rows of one unit (patient, pupil, firm) stay in one fold.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"x": rng.normal(size=300), "site": ["a", "b", "c"] * 100})
    >>> table["y"] = table["x"] + rng.normal(size=300) * np.where(table["site"] == "c", 2.0, 0.2)
    >>> found = quality(table, target="y", domain="site")
    >>> print(*found.domains[["domain", "n", "noisy"]].iloc[0])
    c 100 True
    """
    ready, kept, total = _ready(X, y, domains, target, domain, strata, task, unit, drop, category)
    weight = np.ones(total) if sample_weight is None else _weights(sample_weight, total)
    units = None if unit is None else _labels(X, unit, total, "unit")[kept]
    found = judge(
        ready,
        grouping=grouping,
        estimator=estimator,
        predictions=None if predictions is None else np.asarray(predictions)[kept],
        weight=weight[kept],
        unit=units,
        random_state=random_state,
        progress=verbose,
    )
    whole = np.zeros(total)
    whole[kept] = found.weight
    return replace(found, weight=whole)


def judge(
    ready: Prepared,
    *,
    grouping: Grouping = "auto",
    estimator: Any = "auto",
    predictions: NDArray[Any] | None = None,
    weight: Array | None = None,
    unit: NDArray[np.intp] | None = None,
    random_state: int = 0,
    progress: Show = "auto",
) -> Quality:
    """The quality of a table that was prepared before; `weight` has one number per prepared row."""
    check_grouping(grouping, classes=ready.task == "classification", given=ready.strata is not None)
    names, code = np.unique(ready.domains, return_inverse=True)
    classes, y = np.unique(ready.y, return_inverse=True) if ready.task == "classification" else (None, ready.y)
    counts = np.ones(len(y)) if weight is None else weight
    problem = Problem(ready.X, y, code, len(names), 0 if classes is None else len(classes), counts, estimator, unit)
    noise_of = label_noise if problem.n_classes else number_noise

    if predictions is not None:
        expected = _given(predictions, problem)
        noise, levels = noise_of(problem, expected)
        strata = strata_of(ready, problem, noise, grouping, random_state)
        none = np.zeros(problem.X.shape[1])
        slopes = np.full((problem.n_domains, len(none)), np.nan)
        suspicion, held_out, used = Suspicion(none, none + 1, slopes, slopes, ()), None, problem
    else:
        expected = out_of_row(problem, None, progress)
        noise, levels = noise_of(problem, expected)
        strata = strata_of(ready, problem, noise, grouping, random_state)

        def trust(said: Expected) -> Array:
            return noise_of(problem, said)[0].precision(strata.labels, len(strata.names))[code, strata.labels]

        if (weight_first := trust(expected)).min() < CLEARER:
            expected = out_of_row(problem, weight_first, progress)
        suspicion = suspicious(problem, expected, trust, progress)
        used = problem
        if suspicion.flagged:  # noise is what is left without features that mean something else in every domain
            used = replace(problem, X=np.delete(problem.X, suspicion.flagged, 1))
            if used.X.shape[1] == 0:
                used = problem
            expected = out_of_row(used, trust(expected), progress)
        noise, levels = noise_of(used, expected)
        if suspicion.flagged:
            strata = strata_of(ready, problem, noise, grouping, random_state)
        counted = noise.weights(strata.labels, len(strata.names))[code, strata.labels]
        held_out = out_of_domain(used, counted, progress)
    misfit = 0.0 if held_out is None else noise.misfit(_missed(used, held_out))
    row_weight = noise.weights(strata.labels, len(strata.names), misfit)[code, strata.labels]
    domains = _domains(used, noise, levels, held_out, row_weight, names)
    return Quality(
        domains=domains,
        strata=_strata(used, noise, strata, random_state),
        cells=_cells(used, noise, strata, names, row_weight),
        rows=_rows(ready, used, expected, noise, strata, classes),
        features=features_table(ready.names, _sources(ready), suspicion, names.tolist()),
        slopes=_slopes(ready, suspicion, names),
        weight=row_weight * (counts > 0),
        prepared=ready,
        expected=expected,
        assigned=strata,
        columns=judge_columns(
            ready.frame,
            ready.columns,
            code,
            [str(name) for name in names],
            target=ready.frame[ready.target],
            target_name=ready.target,
            task=ready.task,
            left_out=ready.left_out,
            domain_name=ready.domain or "domain",
        ),
        misfit=misfit,
        noise=_overall(domains) if classes is not None else float(noise.table(np.zeros_like(code), 1)["noise"][0]),
    )


def _overall(domains: pd.DataFrame) -> float:
    """The share of wrong labels in all domains that were judged; NaN if none was."""
    known = domains[domains["judged"]]
    return float(np.average(known["noise"], weights=known["n"])) if len(known) else float("nan")


def _ready(
    X: Any,
    y: Any,
    domains: Any,
    target: str | None,
    domain: str | None,
    strata: Any,
    task: AskedTask,
    unit: Any,
    drop: Sequence[str],
    category: Sequence[str],
) -> tuple[Prepared, NDArray[np.bool_], int]:
    """The table prepared, whichever way it was given; which of its rows have a target; and how many there are."""
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(_matrix(X)).add_prefix("x")
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    if target is None:
        if y is None:
            raise InputError("give y, or the whole table with target='name'")
        frame, target = _with(frame, "target", np.asarray(y))
        if domains is not None:
            frame, domain = _with(frame, "domain", _one_label_each(domains, len(frame), "domains"))
    elif y is not None or domains is not None:
        raise InputError("give either y and domains, or target= and domain= as names of columns, not both")
    named = [strata] if isinstance(strata, str) else strata
    columns = [str(name) for name in named] if _are_names(named, frame) else []
    if not columns and np.size(named):
        frame, name = _with(frame, "stratum", _one_label_each(named, len(frame), "strata"))
        columns, drop = [name], [*drop, name]
    if isinstance(unit, str):
        drop = [*drop, unit]
    ready = prepare(frame, target=target, domain=domain, strata=columns, task=task, drop=drop, category=category)
    kept = np.zeros(len(frame), dtype=bool)
    kept[ready.row - 1] = True
    return ready, kept, len(frame)


def _matrix(X: Any) -> NDArray[Any]:
    array = np.asarray(X)
    if array.ndim != 2:
        raise InputError(f"X must have two dimensions (rows, features), got shape {array.shape}")
    return array


def _with(frame: pd.DataFrame, name: str, values: NDArray[Any]) -> tuple[pd.DataFrame, str]:
    """The frame with one more column, under a name that it does not have yet."""
    if len(values) != len(frame):
        raise InputError(f"{name} has {len(values)} values but X has {len(frame)} rows")
    while name in frame.columns:
        name += "_"
    return frame.assign(**{name: values}), name


def _are_names(values: Any, frame: pd.DataFrame) -> bool:
    return isinstance(values, list | tuple) and all(isinstance(v, str) for v in values) and len(values) != len(frame)


def _one_label_each(labels: Any, n: int, what: str) -> NDArray[Any]:
    code, known = codes(labels, what, n)
    return np.asarray(known)[code]


def _labels(X: Any, unit: str | ArrayLike, n: int, what: str) -> NDArray[np.intp]:
    if isinstance(unit, str):
        if not isinstance(X, pd.DataFrame) or unit not in X.columns:
            raise InputError(f"the table has no column {unit!r} ({what})")
        return codes(X[unit].to_numpy(), what, n)[0]
    return codes(unit, what, n)[0]


def _weights(values: ArrayLike, n: int) -> Array:
    weight = np.asarray(values, dtype=np.float64)
    if weight.shape != (n,):
        raise InputError(f"sample_weight has shape {weight.shape} but X has {n} rows: give one number per row")
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise InputError("sample_weight must be finite and not negative, and some must be above zero")
    return weight


def _given(predictions: NDArray[Any], problem: Problem) -> Expected:
    """Predictions of the user's own, as if a learner had made them."""
    value = np.asarray(predictions, dtype=np.float64)
    n, classes = len(problem.y), problem.n_classes
    if classes == 2 and value.ndim == 1:
        value = np.column_stack([1 - value, value])
    shape = (n, classes) if classes else (n,)
    if value.shape != shape:
        raise InputError(f"predictions has shape {value.shape}: give {shape}, one for every row that has a target")
    if not np.isfinite(value).all() or (classes and ((value < 0).any() or (value > 1).any())):
        raise InputError("predictions must be finite" + (", and probabilities between 0 and 1" if classes else ""))
    return Expected(value, value, np.ones(1))


def _domains(
    problem: Problem,
    noise: Noise,
    levels: Levels,
    held_out: Expected | None,
    weight: Array,
    names: NDArray[Any],
) -> pd.DataFrame:
    e, n = problem.domain, problem.n_domains
    table = noise.table(e, n)
    several = n > 1
    offset = np.where(several & np.isfinite(levels.error), levels.offset, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        p_offset = np.where(np.isfinite(offset) & (levels.error > 0), 2 * ndtr(-np.abs(offset) / levels.error), np.nan)
    p_offset = _holm(p_offset)
    p_relation = _holm(np.where(table["judged"], levels.relation_p, np.nan))
    mass = np.maximum(np.bincount(e, problem.weight, n), 1e-300)
    error = np.full(n, np.nan)
    if held_out is not None:
        error = np.sqrt(np.bincount(e, problem.weight * _squared(problem, held_out), n) / mass)
    made = pd.DataFrame(
        {
            "domain": names,
            "n": _whole(table["n"].to_numpy()),
            "offset": offset,
            "offset_low": offset - 1.96 * levels.error,
            "offset_high": offset + 1.96 * levels.error,
            "offset_p": p_offset,
            "shifted": np.nan_to_num(p_offset, nan=1.0) < SURE,
            "relation": np.where(table["judged"], levels.relation, np.nan),
            "relation_p": p_relation,
            "differs": (np.nan_to_num(p_relation, nan=1.0) < SURE)
            & (levels.relation > OTHER_RELATION)
            & ~(table["noisy"].to_numpy() & (problem.n_classes > 0)),
            "novelty": _novelty(problem) if several else np.nan,
            **{name: table[name] for name in ("noise", "low", "high", "ratio", "p", "judged", "noisy")},
            "scarce": table["n"] < SCARCE * table["n"].mean(),
            "held_out": error,
            "weight": np.bincount(e, problem.weight * weight, n) / mass,
        }
    )
    return _ranked(made)


def _novelty(problem: Problem) -> Array:
    r"""√mean_j max(0, d_ej² − 1/n_e − 1/n_rest): how many deviations a domain's columns lie from the others'."""
    e, n, w = problem.domain, problem.n_domains, problem.weight
    count = np.bincount(e, w, n)
    rest = np.maximum(w.sum() - count, 1e-300)
    total = np.zeros(n)
    for column in problem.X.T:
        sums, squares = np.bincount(e, w * column, n), np.bincount(e, w * column**2, n)
        mean = sums / np.maximum(count, 1e-300)
        other = (sums.sum() - sums) / rest
        variance = np.maximum((squares.sum() - squares) / rest - other**2, 0.0)
        scale = np.maximum(variance, 1e-12 * max(float(column.var()), 1e-300))
        total += np.clip((mean - other) ** 2 / scale - 1 / np.maximum(count, 1e-300) - 1 / rest, 0.0, 100.0)
    return np.asarray(np.sqrt(total / max(problem.X.shape[1], 1)))


def _squared(problem: Problem, expected: Expected) -> Array:
    """Squared errors; for classes the squared distance of the probabilities, halved for two classes to be Brier's."""
    if not problem.n_classes:
        return np.asarray((problem.y - expected.value) ** 2)
    truth = np.zeros_like(expected.value)
    truth[np.arange(len(truth)), problem.y.astype(np.intp)] = 1.0
    return np.asarray(((truth - expected.value) ** 2).sum(1) / 2)


def _missed(problem: Problem, expected: Expected) -> Array:
    """y − f(x) of numbers; of labels one less the probability of the right one."""
    if not problem.n_classes:
        return np.asarray(problem.y - expected.value)
    return np.asarray(1 - expected.value[np.arange(len(problem.y)), problem.y.astype(np.intp)])


def _strata(problem: Problem, noise: Noise, strata: NamedStrata, seed: int) -> pd.DataFrame:
    table = strata_table(problem, noise, strata, seed)
    table.insert(0, "stratum", np.asarray(strata.names, dtype=object))
    table["n"] = _whole(table["n"].to_numpy())
    table["share"] = table["n"] / max(float(table["n"].sum()), 1e-300)
    table["scarce"] = table["share"] < SCARCE / len(strata.names)
    return _ranked(table)


def _cells(problem: Problem, noise: Noise, strata: NamedStrata, names: NDArray[Any], weight: Array) -> pd.DataFrame:
    n_strata = len(strata.names)
    occupied, cell = np.unique(problem.domain * n_strata + strata.labels, return_inverse=True)
    table = noise.table(cell, len(occupied))
    table.insert(0, "domain", names[occupied // n_strata])
    table.insert(1, "stratum", np.asarray(strata.names, dtype=object)[occupied % n_strata])
    table["n"] = _whole(table["n"].to_numpy())
    of_domain = table.groupby("domain")["n"].transform("sum")
    table["density"] = table["n"] / np.maximum(of_domain, 1e-300)
    table["scarce"] = table["density"] < SCARCE / table.groupby("domain")["n"].transform("size")
    mass = np.maximum(np.bincount(cell, problem.weight), 1e-300)
    table["weight"] = np.bincount(cell, problem.weight * weight) / mass
    return _ranked(table)


def _ranked(table: pd.DataFrame) -> pd.DataFrame:
    """Noisy ones first, then by ratio; what could not be judged comes last, largest first, and has no rank."""
    judged = table[table["judged"]].sort_values(["noisy", "ratio"], ascending=False, kind="stable")
    others = table[~table["judged"]].sort_values("n", ascending=False, kind="stable")
    ranked = pd.concat([judged, others], ignore_index=True)
    ranked.insert(0, "rank", pd.Series([*range(1, len(judged) + 1), *[None] * len(others)], dtype="Int64"))
    return ranked


def _rows(
    ready: Prepared,
    problem: Problem,
    expected: Expected,
    noise: Noise,
    strata: NamedStrata,
    classes: NDArray[Any] | None,
) -> pd.DataFrame:
    """The least likely rows: what they say, what the other rows say about them, and their own columns."""
    size = np.where(problem.weight > 0, noise.size, -1.0)
    first = np.argsort(-size, kind="stable")[: min(MOST_ROWS, int((size >= 0).sum()))]
    if classes is None:
        value = expected.value[first]
        said: dict[str, Any] = {"target": ready.y[first], "expected": value, "difference": ready.y[first] - value}
    else:
        said = {
            "target": ready.y[first],
            "expected": classes[expected.value[first].argmax(1)],
            "probability": expected.value[first, problem.y[first]],
        }
    made = pd.DataFrame(
        {
            "row": ready.row[first],
            "domain": ready.domains[first],
            "stratum": np.asarray(strata.names, dtype=object)[strata.labels[first]],
            **said,
            "times": size[first],
        }
    )
    columns = ready.frame.iloc[first][[column.name for column in ready.columns]].reset_index(drop=True)
    return pd.concat([made, columns.add_prefix("column ")], axis=1)


def _slopes(ready: Prepared, found: Suspicion, names: NDArray[Any]) -> pd.DataFrame:
    """The slope of what is left of the target on each flagged feature, domain by domain."""
    parts = [
        pd.DataFrame(
            {"feature": ready.names[j], "domain": names, "slope": found.slope[:, j], "error": found.error[:, j]}
        )
        for j in found.flagged
    ]
    empty = pd.DataFrame({"feature": [], "domain": [], "slope": np.zeros(0), "error": np.zeros(0)})
    table = pd.concat(parts, ignore_index=True) if parts else empty
    reach = 1.96 * table["error"]
    return table.assign(low=table["slope"] - reach, high=table["slope"] + reach)


def _sources(ready: Prepared) -> list[str]:
    return [ready.columns[place].name for place in names_of(ready.columns)[1]]


def _holm(p: Array) -> Array:
    return np.array([np.nan if v is None else v for v in holm([None if np.isnan(x) else float(x) for x in p])])


def _whole(count: Array) -> NDArray[Any]:
    return count.astype(int) if (count % 1 == 0).all() else count
