"""`rpo.quality`: estimate the quality of domains, strata, features, columns and rows of a table."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rpo._io import AskedTask, Grouping, Show, Task, one_thread
from rpo._judging.arguments import prepare_arguments
from rpo._judging.evidence import estimate, to_tables
from rpo._judging.judgement import Judgement
from rpo._public import public
from rpo._table.table import FEWEST_ROWS, Table
from rpo.exceptions import InputError

__all__ = ["Quality", "judge", "quality"]


@public
class Quality(Judgement):
    """The quality of a table: what is poor, where, and how surely.

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

    def report(self, path: str | Path, title: str = "table") -> None:
        """Write the data-quality page.

        Parameters
        ----------
        path : path
            The HTML file.
        title : str
            The title of the page.
        """
        from rpo._report import write_report  # matplotlib and Jinja, which most calls do not need

        write_report(self, Path(path), title=title)


@public
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
    """Judge a table: which domains, groups, features and rows are of poor quality, and how much a row should count.

    Call either `quality(X, y, domains=…)` or `quality(frame, target="name", domain="name")`.

    Parameters
    ----------
    X : array or DataFrame
        The features; a DataFrame may have text, dates and missing values. With `target=`, the whole table.
    y, domains : array of shape (n,)
        The target and the domain of each row.
    target, domain : str
        The columns of `X` with the target and the domain, if `X` is the whole table.
    strata : sequence of str, or array of shape (n,)
        The columns that define strata (groups of rows), or the stratum of each row.
    task : "auto", "regression" or "classification"
        The task; "auto" recognises it from the target.
    grouping : "auto", "search", "class" or "none"
        How strata are found without `strata`: a search among the features ("auto", "search"), the classes, or none.
    estimator : str or scikit-learn estimator
        The learner that residuals come from: "auto" (a linear model, splines and boosted trees, stacked), "linear",
        "trees", "network", the name of a method, or any estimator.
    predictions : array of shape (n,) or (n, n_classes)
        Your own predictions by models that have not seen the row: numbers, or the probability of each class in sorted
        order. Nothing is trained then, and features and held-out errors are not judged.
    sample_weight : array of shape (n,)
        Counts rows: a weight of two is the same as repeating the row.
    unit : str or array of shape (n,)
        Identifies what was measured repeatedly (a patient, a pupil); rows of one unit stay in one fold.
    drop, category : sequence of str
        Columns to ignore; numeric columns to treat as categorical.
    random_state : int
        The random seed.
    verbose : bool or "auto"
        Whether to show progress; "auto" does on a terminal.

    Returns
    -------
    Quality
        `summary` in sentences, data frames with the evidence (`domains`, `strata`, `cells`, `features`, `rows`), and
        `weight` for any `fit(…, sample_weight=…)`.

    Examples
    --------
    >>> import numpy as np, pandas as pd, rpo
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"x": rng.normal(size=300), "site": ["a", "b", "c"] * 100})
    >>> table["y"] = table["x"] + rng.normal(size=300) * np.where(table["site"] == "c", 2.0, 0.2)
    >>> found = rpo.quality(table, target="y", domain="site")
    >>> print(*found.domains[["domain", "n", "noisy"]].iloc[0])
    c 100 True
    """
    ready, total = prepare_arguments(
        X,
        y,
        domains,
        target=target,
        domain=domain,
        strata=strata,
        unit=unit,
        sample_weight=sample_weight,
        drop=drop,
        task=task,
        category=category,
    )
    counted = len(ready.y) if ready.weight is None else int((ready.weight > 0).sum())
    if counted < FEWEST_ROWS:
        raise InputError(f"only {counted} rows have a target and a positive weight: at least {FEWEST_ROWS} are needed")
    used = np.isin(np.arange(1, total + 1), ready.row)
    result = judge(
        ready,
        grouping=grouping,
        estimator=estimator,
        predictions=None if predictions is None else np.asarray(predictions)[used],
        random_state=random_state,
        progress=verbose,
    )
    whole = np.zeros(total)
    whole[used] = result.weight
    return replace(result, weight=whole)


@one_thread()
def judge(
    ready: Table,
    *,
    grouping: Grouping = "auto",
    estimator: Any = "auto",
    predictions: NDArray[Any] | None = None,
    random_state: int = 0,
    progress: Show = "auto",
) -> Quality:
    """Judge a table that was prepared before."""
    evidence = estimate(
        ready,
        grouping=grouping,
        estimator=learner_of(estimator, ready.task),
        predictions=predictions,
        random_state=random_state,
        progress=progress,
    )
    return Quality(**vars(to_tables(ready, evidence, random_state)))


def learner_of(estimator: Any, task: Task) -> Any:
    """Return the network for a name other than those of learners, and any other estimator unchanged."""
    ours = ("auto", "linear", "trees", *(("anchor",) if task == "regression" else ()))
    if not isinstance(estimator, str) or estimator in ours:
        return estimator
    from rpo._networks.by_name import network_named

    return network_named(estimator, classes=task == "classification")
