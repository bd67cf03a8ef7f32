"""Results from the records of the study: errors over the best stock learner, gains of the weights, detection."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rpo._stats.significance import SURE, holm, paired
from rpo_lab.data.recipes import recipe_of
from rpo_lab.real.planting import CLEAN, SETTINGS, is_noisy
from rpo_lab.real.quality import ESTIMATORS
from rpo_lab.real.study import BEST_OF, CONTROLS, DETECTION, QUALITY, ROWS, Key, RealStudy
from rpo_lab.runner.store import Record

Array = NDArray[np.float64]
DRAWS = 10_000  # of the bootstrap over tables
LEVEL = 0.95
# A fold's training rows are shared with other folds: a quarter is what fifths of the domains hold out for each four.
OVERLAP = 0.25
JUDGED = (QUALITY, CONTROLS, DETECTION)  # rows that depend on the rules; learners that people use do not
BINS = (0.0, 0.02, 0.1, 0.25, 1.0)  # of unevenness


@dataclass(frozen=True)
class RealResults:
    """Everything that the page, the figures and the terminal show.

    `errors` has the loss of every run by its place; `ratios` one line per row, table and setting: its error over that
    of the best stock learner there, and whether it is surely better or worse; `summary` one line per row and setting;
    `gains` the error by quality weights over that by uniform ones, beside the unevenness of the table; `undone` the
    share of the damage of planted noise that weights undo; `detection` the AUC of what was planted.
    """

    study: RealStudy
    errors: pd.DataFrame
    ratios: pd.DataFrame
    summary: pd.DataFrame
    gains: pd.DataFrame
    undone: pd.DataFrame
    curve: pd.DataFrame
    detection: pd.DataFrame
    failed: pd.DataFrame
    seconds: float
    versions: tuple[str, ...]
    """Names and versions of what the records were made with."""
    rules: tuple[str, ...]
    """Fingerprints of the rules that Quality was run under."""


def make_results(study: RealStudy, records: Mapping[str, Record]) -> RealResults:
    """Compute all results from the records by hash."""
    errors, failed = losses(study, records)
    ratios = ratios_of(errors)
    gains = gains_of(study, records, errors)
    known = [records[run.digest] for run in study.runs.values()]
    judged = [records[run.digest] for key, run in study.runs.items() if ROWS[key.row].section in JUDGED]
    return RealResults(
        study=study,
        errors=errors,
        ratios=ratios,
        summary=summarised(ratios),
        gains=gains,
        undone=undone_of(errors),
        curve=curve_of(gains),
        detection=detection_of(study, records),
        failed=failed,
        seconds=sum(record.seconds for record in known),
        versions=tuple(words for words in _seen(known) if not words.startswith("rules ")),
        rules=tuple(words.removeprefix("rules ") for words in _seen(judged) if words.startswith("rules ")),
    )


def _seen(records: Sequence[Record]) -> list[str]:
    return sorted({f"{name} {value}" for record in records for name, value in record.versions.items()})


def losses(study: RealStudy, records: Mapping[str, Record]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the loss of every run (squared error over the target's variance, or Brier's score) and why runs failed."""
    lines, failed = [], []
    for key, run in study.runs.items():
        record = records[run.digest]
        if ROWS[key.row].section == DETECTION:
            continue
        if record.measured is None:
            failed.append((*key, record.reason))
        else:
            metrics = record.measured.test["test"]
            lines.append((*key, metrics.get("mse", metrics.get("brier"))))
    return pd.DataFrame(lines, columns=[*Key._fields, "loss"]), pd.DataFrame(failed, columns=[*Key._fields, "reason"])


def error_of(loss: Any, table: str) -> Any:
    """Return the error that ratios are of: root mean squared, or Brier's score itself."""
    return np.sqrt(loss) if _task(table) == "regression" else loss


@cache
def _task(table: str) -> str:
    return recipe_of(table).task


def _by_fold(errors: pd.DataFrame) -> pd.DataFrame:
    """Arrange losses in a line a fold, a column a row of the study."""
    return errors.pivot_table(index=["seed", "fold"], columns="row", values="loss", sort=False)


def ratios_of(errors: pd.DataFrame) -> pd.DataFrame:
    """Divide the error of each row by that of the best stock learner of its table and setting, on the folds both have.

    The best is the one that turned out best on that table, which no practitioner knows beforehand. Surely better or
    worse: t-test paired over folds, its variance that of Nadeau and Bengio (2003), since folds share training rows;
    Holm over the tables of a row and setting.
    """
    lines = []
    for (setting, table), here in errors.groupby(["setting", "table"], sort=False):
        wide = _by_fold(here)
        stock = [name for name in BEST_OF if name in wide]
        if not stock:
            continue
        best = wide[stock].mean().idxmin()
        for row in wide.columns:
            both = wide[list(dict.fromkeys([row, best]))].dropna()
            if not len(both):
                continue
            own, other = (both[name].to_numpy() for name in (row, best))
            ratio = float(error_of(own.mean(), str(table)) / error_of(other.mean(), str(table)))
            a, b = (error_of(values, str(table)) for values in (own, other))
            p = None if row == best else paired(a, b, overlap=OVERLAP)
            lines.append((setting, table, row, best, len(both), ratio, bool(a.mean() < b.mean()), p))
    ratios = pd.DataFrame(lines, columns=["setting", "table", "row", "best", "folds", "ratio", "better", "p"])
    ratios["p"] = ratios["p"].astype(object)
    for _, cell in ratios.groupby(["setting", "row"], sort=False):
        corrected = holm([None if value is None or value != value else float(value) for value in cell["p"]])
        ratios.loc[cell.index, "p"] = pd.Series(corrected, index=cell.index, dtype=object)
    sure = np.array([p is not None and p == p and p < SURE for p in ratios["p"]], dtype=bool)
    return ratios.assign(won=sure & ratios["better"], lost=sure & ~ratios["better"])


def summarised(ratios: pd.DataFrame) -> pd.DataFrame:
    """Summarise ratios by setting and row: geometric mean with its interval, median, worst, won and lost."""
    lines = []
    for (setting, row), cell in ratios.groupby(["setting", "row"], sort=False):
        ratio = cell["ratio"].to_numpy()
        worst = float(ratio.max()), cell["table"].iloc[int(ratio.argmax())]
        counts = int(cell["won"].sum()), int(cell["lost"].sum())
        lines.append((setting, row, len(cell), *geometric_mean(ratio), float(np.median(ratio)), *worst, *counts))
    columns = ["setting", "row", "tables", "mean", "low", "high", "median", "worst", "worst table", "won", "lost"]
    return pd.DataFrame(lines, columns=columns)


def bootstrap(values: Array, seed: int = 0) -> tuple[float, float]:
    """Return the 95 % interval of the mean over tables, by drawing tables with replacement; NaN below two.

    >>> low, high = bootstrap(np.array([1.0, 2.0, 3.0]))
    >>> bool(1.0 <= low < 2.0 < high <= 3.0)
    True
    """
    if len(values) < 2:
        return float("nan"), float("nan")
    drawn = np.random.default_rng(seed).integers(0, len(values), (DRAWS, len(values)))
    low, high = np.quantile(values[drawn].mean(1), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def geometric_mean(ratios: Any) -> tuple[float, float, float]:
    """Return the geometric mean over tables and its interval, ratios that are missing left out; NaN without any."""
    logs = np.log(np.asarray(ratios, dtype=np.float64))
    logs = logs[~np.isnan(logs)]
    if not len(logs):
        return float("nan"), float("nan"), float("nan")
    low, high = bootstrap(logs)
    return float(np.exp(logs.mean())), float(np.exp(low)), float(np.exp(high))


def gains_of(study: RealStudy, records: Mapping[str, Record], errors: pd.DataFrame) -> pd.DataFrame:
    """Divide the error by quality weights, permuted and true ones by that of uniform ones.

    For every estimator, table and setting, beside the mean unevenness of the training rows and how often weights were
    used.
    """
    uneven: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for key, run in study.runs.items():
        measured = records[run.digest].measured
        if measured is not None and "judgement" in measured.test:
            judgement = measured.test["judgement"]
            place = (key.row, key.table, key.setting)
            uneven.setdefault(place, []).append((judgement["unevenness"], judgement["weighted"]))
    lines = []
    for estimator in ESTIMATORS:
        name = f"quality-{estimator}"
        flat = f"{name}-uniform"
        for (table, setting), here in errors.groupby(["table", "setting"], sort=False):
            wide = _by_fold(here)
            if (place := (name, str(table), str(setting))) not in uneven or flat not in wide:
                continue
            ratios = []
            for row in (name, f"{name}-permuted", f"{name}-true"):
                both = wide.reindex(columns=[row, flat]).dropna()
                own, uniform = (error_of(both[column].mean(), str(table)) for column in both)
                ratios.append(float(own / uniform))
            lines.append((estimator, table, setting, *np.mean(uneven[place], axis=0), *ratios))
    columns = ["estimator", "table", "setting", "unevenness", "weighted", "quality", "permuted", "true"]
    return pd.DataFrame(lines, columns=columns)


def undone_of(errors: pd.DataFrame) -> pd.DataFrame:
    """Compute what judged, permuted and true weights undo of the damage of noise, by estimator and setting.

    Damage is the error by uniform weights less that on the same folds without the noise. Sums over tables are divided,
    not averaged shares: on a table that noise hardly harms, a share is a quotient of chances.
    """
    lines = []
    for estimator, setting in product(ESTIMATORS, filter(is_noisy, SETTINGS)):
        name = f"quality-{estimator}"
        flat = f"{name}-uniform"
        rows = {"judged": name, "permuted": f"{name}-permuted", "true": f"{name}-true"}
        less = dict.fromkeys(rows, 0.0)
        damage, tables = 0.0, 0
        for table, here in errors.groupby("table", sort=False):
            wide, clean = (_by_fold(here[here["setting"] == kind]) for kind in (setting, CLEAN))
            if flat not in clean or not {flat, *rows.values()} <= set(wide):
                continue
            both = wide[[flat, *rows.values()]].assign(clean=clean[flat]).dropna()
            if len(both):
                mean = {column: float(error_of(both[column].mean(), str(table))) for column in both}
                damage, tables = damage + mean[flat] - mean["clean"], tables + 1
                less = {what: less[what] + (mean[flat] - mean[row]) for what, row in rows.items()}
        if damage > 0:
            lines.append((estimator, setting, tables, *(value / damage for value in less.values())))
    return pd.DataFrame(lines, columns=["estimator", "setting", "tables", "judged", "permuted", "true"])


def curve_of(gains: pd.DataFrame) -> pd.DataFrame:
    """Average the ratios by estimator and bin of unevenness, and count tables and settings.

    The interval draws whole tables, since settings of one table are not independent.
    """
    lines = []
    for estimator, own in gains.dropna(subset=["quality"]).groupby("estimator", sort=False):
        for low, high in zip((-1.0, *BINS[:-1]), BINS, strict=True):
            inside = own[(own["unevenness"] > low) & (own["unevenness"] <= high)]
            if not len(inside):
                continue
            by_table = np.log(inside["quality"]).groupby(inside["table"]).mean()
            ratio = (float(np.exp(value)) for value in (by_table.mean(), *bootstrap(by_table.to_numpy())))
            lines.append((estimator, max(low, 0.0), high, len(inside), len(by_table), *ratio))
    return pd.DataFrame(lines, columns=["estimator", "from", "to", "cases", "tables", "ratio", "low", "high"])


def detection_of(study: RealStudy, records: Mapping[str, Record]) -> pd.DataFrame:
    """Average the AUC of corrupted domains and rows over folds, by setting, table and way."""
    lines = []
    for key, run in study.runs.items():
        measured = records[run.digest].measured
        if ROWS[key.row].section == DETECTION and measured is not None:
            for what, ways in sorted(measured.test.items()):
                lines += [(key.setting, key.table, what, way, value) for way, value in sorted(ways.items())]
    table = pd.DataFrame(lines, columns=["setting", "table", "what", "way", "auc"])
    return table.groupby(["setting", "what", "way", "table"], sort=False)[["auc"]].mean().reset_index()
