"""Intervals, checks and adapting on real tables: `python -m benchmarks.new_domains [--splits 20] [--method linear]`.

Domains are dealt into five parts (one each if they are fewer than ten), each part is held out, and they are dealt anew:
twenty splits of every real table with enough domains. Coverage and width of intervals stand beside those without local
noise and beside the usual split conformal, which counts rows and not domains; `check` is put to held-out domains as
they are, with their target shuffled, and with two columns swapped; `adapt` gets 10, 30 and 100 rows of a domain.
`rpo data get tables` fetches the tables.
"""

import argparse
import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import kstest

from rpo import QualityClassifier, QualityRegressor
from rpo._models.adapting import adapt_to_labels, effects_of
from rpo._models.against import Training, compare_domain
from rpo._models.local_noise import FLAT
from rpo._models.new_domains import outputs_of
from rpo._models.new_sums import new_domains, new_sums, rows_of_frame
from rpo._models.reference import Reference
from rpo._stats.effects import Effects
from rpo._table import prepare
from rpo._table.encoding import numbers
from rpo_lab.data.real import load_real
from rpo_lab.data.recipes import recipes

LEVELS = (0.8, 0.9)
LABELLED = (10, 30, 100)
REST = 10  # rows that must be left of a domain that was adapted to
DOMAIN = "(domain)"
IN_LOG_ODDS = np.pi**2 / 6  # the variance of a row's noise, where that of classes is a difference of log odds
FOLDS = 5
ENOUGH = 5  # domains of a table: four that are left promise 80 %
DRAWS = 5  # of labelled rows from each domain
CHECKED = 6  # domains of a split, at most, that are checked
# Judging the training table takes most of the time of a fit, and what is measured does not depend on it.
OWN: dict[str, Any] = {"weights": "off", "screen": "off"}


def splits(domains: NDArray[Any], seeds: range) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Rows held out: a fifth of the domains, one of fewer than ten. Five splits in a row hold every domain out once."""
    names = np.unique(domains)
    parts = FOLDS if len(names) >= 2 * FOLDS else len(names)
    for seed in seeds:
        turn, part = divmod(seed - seeds.start, parts)
        order = np.random.default_rng([seeds.start, turn]).permutation(names)
        yield seed, np.isin(domains, order[part::parts])


def measure(name: str, method: str, seeds: range) -> Iterator[dict[str, Any]]:
    """One record per split and held-out domain; some of these are checked."""
    table = load_real(name)
    frame = table.X.assign(**{table.target: np.asarray(table.y), DOMAIN: np.asarray(table.domains).astype(str)})
    kind = QualityRegressor if table.task == "regression" else QualityClassifier
    for seed, held in splits(frame[DOMAIN].to_numpy(), seeds):
        ready = prepare(frame[~held], target=table.target, domain=DOMAIN, task=table.task)
        model = kind(method, verbose=False, random_state=seed, **OWN).fit_prepared(ready)
        new = frame[held]
        intervals = covered(model, new, table.target)
        numbers_, effects = numbers(new, model.columns_), effects_of(model.reference_)
        every = pd.unique(new[DOMAIN]).tolist()
        chosen = np.random.default_rng([seed, 1]).permutation(len(every))[:CHECKED].tolist()
        for k, domain in enumerate(every):
            rows = (new[DOMAIN] == domain).to_numpy()
            record = {
                "table": name,
                "seed": seed,
                "domain": domain,
                "rows": int(rows.sum()),
                "training domains": len(model.domains_),
                "classes": len(getattr(model, "classes_", ())),
                "level": float(effects.variance[0] / (effects.variance[0] + (effects.noise or IN_LOG_ODDS))),
                "levels": {key: value[k] for key, value in intervals.items()},
            }
            rng = np.random.default_rng([seed, 2, k])
            one = New.of(model, new[rows], numbers_[rows], table.target, effects=effects, rng=rng)
            yield record | {"adapted": one.adapted()} | ({"checked": one.checked()} if k in chosen else {})


def covered(model: Any, new: pd.DataFrame, target: str) -> dict[str, list[dict[str, list[float]]]]:
    """By level and held-out domain, the share of rows covered and the mean width (of sets: classes)."""
    reference: Reference = model.reference_
    by_rows = replace(reference, domain=np.arange(len(reference.domain)), rows=np.ones(len(reference.domain) + 1))
    ways = {"ours": reference, "unscaled": flat(reference), "by rows": flat(by_rows)}
    domains = pd.unique(new[DOMAIN])
    found: dict[str, list[dict[str, list[float]]]] = {}
    y, most = np.asarray(new[target]), model.max_level_
    for level in (level for level in LEVELS if level <= most):
        found[f"{level:g}"] = [{} for _ in domains]
        for way, one in ways.items():
            model.reference_ = one
            made = model.predict_interval(new, level)
            if made.dtype == bool:
                inside = made[np.arange(len(y)), np.searchsorted(model.classes_, y.astype(str))]
                width = made.sum(1)
            else:
                inside, width = (made[:, 0] <= y) & (y <= made[:, 1]), made[:, 1] - made[:, 0]
            for k, domain in enumerate(domains):
                rows = (new[DOMAIN] == domain).to_numpy()
                found[f"{level:g}"][k][way] = [float(inside[rows].mean()), float(width[rows].mean())]
    model.reference_ = reference
    return found


def flat(reference: Reference) -> Reference:
    """The same without local noise."""
    return replace(reference, scale=np.ones(len(reference.scale)), noise=FLAT)


@dataclass(frozen=True, eq=False)
class New:
    """A held-out domain, and a model that did not see it."""

    model: Any
    frame: pd.DataFrame
    X: NDArray[np.float64]
    value: NDArray[np.float64]
    y: NDArray[Any]
    effects: Effects
    rng: np.random.Generator

    @classmethod
    def of(cls, model: Any, rows: pd.DataFrame, X: NDArray[np.float64], target: str, **more: Any) -> Self:
        """Its rows as the functions below `rpo.check` and `adapt` take them."""
        y = rows[target].to_numpy()
        if hasattr(model, "classes_"):
            y = np.searchsorted(model.classes_, y.astype(str))
        return cls(model, rows.drop(columns=[target, DOMAIN]), X, outputs_of(model, X), y, **more)

    def checked(self) -> dict[str, Any]:
        """Verdicts and p-values: as it is, with its target shuffled, and with two columns of numbers swapped."""
        found = {
            "unlabelled": self._against(None),
            "as it is": self._against(self.y),
            "shuffled": self._against(self.rng.permutation(self.y)),
        }
        names = [column.name for column in self.model.columns_ if column.kind == "number"]
        if len(names) > 1:
            first, second = self.rng.choice(names, 2, replace=False).tolist()
            swapped = self.frame.assign(**{first: self.frame[second], second: self.frame[first]})
            X = numbers(swapped, self.model.columns_)
            other = replace(self, frame=swapped, X=X, value=outputs_of(self.model, X))
            found |= {"swapped": other._against(None), "swapped, with target": other._against(self.y)}
        keys = ("verdict", "p shift", "p", "p error", "can tell")
        return {name: {key: row[key] for key in keys if key in row} for name, row in found.items()}

    def _against(self, y: NDArray[Any] | None) -> dict[str, Any]:
        target = None if y is None else y.astype(np.float64)
        rows = rows_of_frame(self.model.columns_, self.frame, self.X, self.value, target)
        reference, one = self.model.reference_, np.zeros(len(self.X), dtype=np.intp)
        new = new_domains(reference, new_sums(reference, self.model.columns_, rows, one, 1))[0]
        return compare_domain(Training(self.model), "new", new, []).figures

    def adapted(self) -> dict[str, list[float]]:
        """By number of labelled rows, the mean squared error (Brier's) on the rest: of the model, and adapted."""
        reference = self.model.reference_
        scale = reference.noise(self.X[:, self.model.kept_], self.value)
        found: dict[str, list[float]] = {}
        for number in (number for number in LABELLED if len(self.y) >= number + REST):
            pairs = []
            for _ in range(DRAWS):
                order = self.rng.permutation(len(self.y))
                some, rest = order[:number], order[number:]
                move = adapt_to_labels(
                    reference, self.effects, self.value[some], self.y[some], scale[some], np.ones(number)
                )
                pairs.append([error(self.y[rest], value) for value in (self.value[rest], move(self.value[rest]))])
            found[str(number)] = np.mean(pairs, axis=0).tolist()
        return found


def error(y: NDArray[Any], value: NDArray[np.float64]) -> float:
    """Mean squared error; of classes Brier's score."""
    if value.ndim == 1:
        return float(((value - y) ** 2).mean())
    return float(((value - np.eye(value.shape[1])[y]) ** 2).sum(1).mean() / 2)


def summary(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Figures by table, and over all tables."""
    tables: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(record["table"] for record in records):
        some = [record for record in records if record["table"] == name]
        seeds = sorted({record["seed"] for record in some})
        row: dict[str, Any] = {"domains": len({record["domain"] for record in some}), "splits": len(seeds)}
        for level in map("{:g}".format, LEVELS):
            parts = [record["levels"][level] for record in some if level in record["levels"]]
            if parts:
                row[level] = {way: np.mean([part[way] for part in parts], axis=0).tolist() for way in parts[0]}
        for number in map(str, LABELLED):
            pairs = np.array([record["adapted"][number] for record in some if number in record.get("adapted", {})])
            if len(pairs):
                ratio = pairs[:, 1].mean() / pairs[:, 0].mean()
                row[f"adapt {number}"] = [float(ratio if some[0]["classes"] else np.sqrt(ratio)), len(pairs)]
        row["classes"] = some[0]["classes"]
        row["level"] = float(np.mean([record["level"] for record in some]))
        row["checked"] = alarms(some)
        tables[name] = row
    first: dict[tuple[str, str], dict[str, Any]] = {}
    for record in records:
        if "checked" in record:
            first.setdefault((record["table"], record["domain"]), record)
    return {"tables": tables, "all": {"uniform": uniform(list(first.values())), **alarms(records)}}


def alarms(records: list[dict[str, Any]]) -> dict[str, list[float]]:
    """By what was done to a domain, the share that is not "as usual", and of how many."""
    found: dict[str, list[float]] = {}
    for name in ("unlabelled", "as it is", "shuffled", "shuffled, can tell", "swapped", "swapped, with target"):
        key = name.removesuffix(", can tell")
        some = [record["checked"] for record in records if key in record.get("checked", {})]
        if name != key:
            some = [one for one in some if one["as it is"]["can tell"]]
        said = [one[key]["verdict"] for one in some]
        if said:
            found[name] = [float(np.mean([verdict != "as usual" for verdict in said])), len(said)]
    return found


def uniform(records: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Kolmogorov and Smirnov's p that p-values are uniform, one per domain: the first time that it was held out.

    A conformal p among E domains is one of E + 1 values; less a uniform share of the step between them it is any.
    """
    found = {}
    for name in ("p shift", "p error", "p"):
        rng = np.random.default_rng(0)
        p = [one["checked"]["as it is"][name] - rng.random() / (one["training domains"] + 1) for one in records]
        found[name] = [float(kstest(p, "uniform").pvalue), len(p)]
    return found


def main() -> None:
    """Measure, a line per table as soon as it is known."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.new_domains", description=__doc__)
    enough = ",".join(recipe.name for recipe in recipes() if recipe.domains >= ENOUGH)
    parser.add_argument("--tables", default=enough, help="a,b (default: all with enough domains)")
    parser.add_argument("--method", default="linear", help="linear, trees or auto")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--first", type=int, default=300, help="the first seed; those below chose the rules")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/new-domains.json"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    records: list[dict[str, Any]] = []
    options.out.parent.mkdir(parents=True, exist_ok=True)
    for name in options.tables.split(","):
        records += measure(name, options.method, range(options.first, options.first + options.splits))
        found = summary(records)
        print(name, json.dumps(found["tables"][name]), flush=True)
        options.out.write_text(json.dumps({"method": options.method, "first": options.first, **found}, indent=1))
        options.out.with_suffix(".jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    print(json.dumps(found["all"]))


if __name__ == "__main__":
    main()
