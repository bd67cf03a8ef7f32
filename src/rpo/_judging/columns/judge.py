"""The columns of a table, before any model: what is missing, impossible, shifted or not what it is taken for."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from rpo._judging.columns.comparisons import filled, missing, outside, shift_error, shifted, unseen
from rpo._judging.columns.findings import Finding, Speech
from rpo._judging.columns.profiles import Labels, Numbers
from rpo._judging.columns.roles import constant, lettered, numbered, padded, sentinel
from rpo._judging.sums import Grouped
from rpo._stats.significance import wilson
from rpo._table.columns import Column, LeftOut, as_text, typed

LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Columns:
    """What is known of the columns: frames to show, and findings, the most important first."""

    table: pd.DataFrame = field(repr=False)
    """A row per column: kind, share missing, the most shifted domain, its standardised difference, findings."""
    missing: pd.DataFrame = field(repr=False)
    """Share of missing values: a row per domain, a column per column."""
    shift: pd.DataFrame = field(repr=False)
    """Standardised difference of each domain from all others together; NaN where fewer than five values are known.

    The mean's, with values beyond Tukey's far fences (three interquartile ranges from the quartiles) drawn to them;
    for categories the largest difference of a category's share, without sign. Never beyond ±10.
    """
    target: pd.DataFrame = field(repr=False)
    """Mean and deviation of the target by domain, or the share of each class, with a 95 % interval."""
    findings: list[Finding]


def judge_columns(
    frame: pd.DataFrame,
    columns: Sequence[Column],
    domain: NDArray[np.intp],
    domain_names: Sequence[str],
    *,
    target: "pd.Series[Any]",
    target_name: str,
    task: Literal["regression", "classification"],
    left_out: Sequence[LeftOut] = (),
    domain_name: str = "domain",
) -> Columns:
    """Look at every column, one at a time, and say what is wrong with it.

    `domain` holds the place of each row's domain in `domain_names`. On ordinary data nothing is said: what counts as a
    finding, and against what chance, stands with each rule in `columns.comparisons` and `columns.roles`.

    >>> rng = np.random.default_rng(0)
    >>> site = np.repeat([0, 1, 2], 100)
    >>> pressure = np.where(site == 1, 0.0, rng.normal(120, 15, 300))
    >>> found = judge_columns(pd.DataFrame({"pressure": pressure}), [Column(name="pressure", kind="number")], site,
    ...     "ABC", target=pd.Series(rng.normal(size=300)), target_name="y", task="regression", domain_name="site")
    >>> found.findings[0].words
    'Site B records pressure = 0 in all of its 100 rows; the other sites never do.'
    """
    speech = Speech(domain_name, tuple(domain_names))
    rows = Grouped.of(np.asarray(domain, dtype=np.intp), len(speech.names))
    used = {column.name: column for column in columns}
    reasons = {out.name: out.reason for out in left_out}
    names = [str(name) for name in frame.columns if name != target_name and (name in used or name in reasons)]
    looks = [
        _look(frame[name], name, used.get(name), reasons.get(name, ""), rows, speech, len(names)) for name in names
    ]
    findings = [found for look in looks for found in look.findings]
    return Columns(
        table=pd.DataFrame([look.row for look in looks], columns=list(_Look.HEADINGS)),
        missing=pd.DataFrame({look.name: look.missing for look in looks}, index=list(speech.names)),
        shift=pd.DataFrame({look.name: look.shift for look in looks}, index=list(speech.names)),
        target=target_by_domain(target, rows, speech.names, task),
        findings=sorted(findings, key=lambda found: (-found.weight, names.index(found.column))),
    )


@dataclass(frozen=True, eq=False)
class _Look:
    """One column, looked at."""

    HEADINGS = ("column", "kind", "missing", "describes", "most shifted", "difference", "findings")

    name: str
    row: tuple[Any, ...]
    missing: NDArray[np.float64]
    shift: NDArray[np.float64]
    findings: list[Finding]


def _look(
    values: "pd.Series[Any]", name: str, column: Column | None, reason: str, rows: Grouped, speech: Speech, columns: int
) -> _Look:
    compare = len(speech.names) > 1
    profile: Numbers | Labels
    if column is not None and column.kind != "category":
        profile = Numbers.of(values, column, rows)
        kind: str = column.kind
        findings = padded(values, name, kind) or numbered(profile, speech)
        findings += _impossible(profile, speech, columns)
    else:
        profile = Labels.of(values, name, rows)
        kind = "category" if column is not None else "left out"
        findings = constant(name, reason) or lettered(profile, speech)
        findings += unseen(profile, speech, columns) if compare and not findings else []
    gaps = rows.count - profile.count
    findings += missing(name, gaps, rows.count, speech, columns)
    if compare and not findings:  # what is wrong is shifted, too: once is enough
        findings += shifted(profile, speech, columns)
    shift = profile.shift
    surely = np.abs(shift) - 2 * shift_error(shift, profile.count)
    most = None if np.isnan(surely).all() else int(np.nanargmax(surely))
    describes = speech.many if compare and profile.per_domain else "rows"
    place = ("", np.nan) if most is None else (speech.names[most], float(shift[most]))
    row = (name, kind, float(gaps.sum() / max(1, rows.count.sum())), describes, *place, len(findings))
    return _Look(name, row, gaps / np.maximum(rows.count, 1), shift, findings)


def _impossible(profile: Numbers, speech: Speech, columns: int) -> list[Finding]:
    """Values that fill a domain, then those that stand for a missing one, then, without them, those out of range."""
    compare = len(speech.names) > 1 and len(profile.every) > 0
    constants, taken = filled(profile, speech, columns) if compare else ([], [])
    stand_ins, more = sentinel(profile.without(taken) if taken else profile, speech, columns)
    taken += more
    beyond = outside(profile.without(taken) if taken else profile, speech, columns) if compare else []
    return constants + stand_ins + beyond


def target_by_domain(
    target: "pd.Series[Any]", rows: Grouped, names: Sequence[str], task: Literal["regression", "classification"]
) -> pd.DataFrame:
    """n, mean, deviation and Student's interval of each domain; for classes a row per class, Wilson's interval.

    >>> rows = Grouped.of(np.array([0, 0, 0, 1]), 2)
    >>> target_by_domain(pd.Series([1.0, 2.0, 3.0, 5.0]), rows, ["A", "B"], "regression")["mean"].tolist()
    [2.0, 5.0]
    """
    if task == "classification":
        labels = Labels.of(as_text(target), "", rows)
        order = np.argsort(np.array(labels.labels))
        width = len(order)
        k = np.bincount(labels.domain * width + labels.code, minlength=len(names) * width)
        k = k.reshape(len(names), width)[:, order]
        return shares_by_domain(names, np.array(labels.labels, dtype=object)[order], k, rows.count)
    y = typed(target, Column(name="target", kind="number"))[rows.order]
    known = np.isfinite(y)
    code = rows.group[known]
    n = np.bincount(code, minlength=len(names))
    mean = np.where(n > 0, np.bincount(code, y[known], minlength=len(names)) / np.maximum(n, 1), np.nan)
    squares = np.bincount(code, (y[known] - mean[code]) ** 2, minlength=len(names))
    return means_by_domain(names, n, mean, squares)


def shares_by_domain(names: Sequence[str], classes: NDArray[Any], k: NDArray[Any], rows: NDArray[Any]) -> pd.DataFrame:
    """A row per domain and class, from how many rows each has `(E, C)`, with Wilson's interval."""
    n, width = np.repeat(rows, len(classes)), len(classes)
    low, high = wilson(k.ravel(), n, LEVEL)
    return pd.DataFrame(
        {
            "domain": np.repeat(np.array(names, dtype=object), width),
            "class": np.tile(np.asarray(classes, dtype=object), len(names)),
            "n": n,
            "share": np.where(n > 0, k.ravel() / np.maximum(n, 1), np.nan),
            "low": low,
            "high": high,
        }
    )


def means_by_domain(names: Sequence[str], n: NDArray[Any], mean: NDArray[Any], squares: NDArray[Any]) -> pd.DataFrame:
    """A row per domain, from rows, mean and squares about it, with Student's interval."""
    deviation = np.where(n > 1, np.sqrt(squares / np.maximum(n - 1, 1)), np.nan)
    reach = stdtrit(np.maximum(n - 1, 1), (1 + LEVEL) / 2) * deviation / np.sqrt(np.maximum(n, 1))
    return pd.DataFrame(
        {"domain": list(names), "n": n, "mean": mean, "deviation": deviation, "low": mean - reach, "high": mean + reach}
    )
