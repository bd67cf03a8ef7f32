"""Intervals, checks and adapting on real tables: `python -m benchmarks.new_domains [--splits 20] [--method linear]`.

A fifth of the domains is held out at random (one of fewer than ten), twenty times over, on every real table with enough
domains. Coverage and width of intervals stand beside those without local noise and beside the usual split conformal,
which counts rows and not domains; `check` is put to held-out domains as they are, with their target shuffled, and with
two columns swapped; `adapt` gets 10, 30 and 100 of a held-out domain's rows. `rpo data get tables` fetches the tables.
"""

import argparse
import json
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import kstest

from rpo import QualityClassifier, QualityRegressor, check
from rpo.datasets import load_real
from rpo.datasets.recipes import recipes
from rpo.frames import prepare
from rpo.models.local_noise import FLAT
from rpo.models.reference import Reference

LEVELS = (0.8, 0.9)
LABELLED = (10, 30, 100)
REST = 10  # rows that must be left of a domain that was adapted to
DOMAIN = "(domain)"
OWN = {"weights": "off", "screen": "off"}  # what is measured does not depend on them, and they take most of the time


def splits(domains: NDArray[Any], seeds: range) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Rows held out: a fifth of the domains, drawn anew for every seed; one of fewer than ten."""
    names = np.unique(domains)
    number = max(1, len(names) // 5) if len(names) >= 10 else 1
    for seed in seeds:
        chosen = np.random.default_rng([seed, len(names)]).permutation(names)[:number]
        yield seed, np.isin(domains, chosen)


def measure(name: str, method: str, seeds: range) -> Iterator[dict[str, Any]]:
    """One record per split and per held-out domain."""
    table = load_real(name)
    frame = table.X.assign(**{table.target: np.asarray(table.y), DOMAIN: np.asarray(table.domains).astype(str)})
    kind = QualityRegressor if table.task == "regression" else QualityClassifier
    for seed, held in splits(frame[DOMAIN].to_numpy(), seeds):
        ready = prepare(frame[~held], target=table.target, domain=DOMAIN, task=table.task)
        model = kind(method, verbose=False, random_state=seed, **OWN).fit_prepared(ready)
        new = frame[held]
        intervals = covered(model, new, table.target)
        place = {name: k for k, name in enumerate(pd.unique(new[DOMAIN]))}
        for domain, rows in new.groupby(DOMAIN, sort=False):
            rng = np.random.default_rng([seed, place[str(domain)], len(rows)])
            yield {
                "table": name,
                "seed": seed,
                "domain": str(domain),
                "rows": len(rows),
                "training domains": len(model.domains_),
                "levels": {key: value[place[str(domain)]] for key, value in intervals.items()},
                **checked(model, rows, table.target, rng),
                "adapted": adapted(model, rows, table.target, rng),
            }


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


def checked(model: Any, rows: pd.DataFrame, target: str, rng: np.random.Generator) -> dict[str, Any]:
    """Verdicts and p-values of a domain as it is, with its target shuffled, and with two columns of numbers swapped."""
    features = rows.drop(columns=[target, DOMAIN])
    y = rows[target].to_numpy()
    found = {
        "as it is": check(model, features, target=y),
        "shuffled": check(model, features, target=rng.permutation(y)),
    }
    numbers = [column.name for column in model.columns_ if column.kind == "number"]
    if len(numbers) > 1:
        first, second = rng.choice(numbers, 2, replace=False).tolist()
        swapped = features.assign(**{first: features[second], second: features[first]})
        found |= {"swapped": check(model, swapped), "swapped, with target": check(model, swapped, target=y)}
    said: dict[str, Any] = {}
    for name, one in found.items():
        row = one.domains.iloc[0]
        said[name] = {"verdict": one.verdict, "p shift": float(row["p shift"])}
        if "p" in row.index:
            said[name] |= {key: float(row[key]) for key in ("p", "p error", "can tell")}
    said["unlabelled"] = check(model, features).verdict
    return {"checked": said}


def adapted(model: Any, rows: pd.DataFrame, target: str, rng: np.random.Generator) -> dict[str, list[float]]:
    """By number of labelled rows, the mean squared error (Brier's) on the rest: of the model, and of it adapted."""
    found = {}
    order = rng.permutation(len(rows))
    for number in LABELLED:
        if len(rows) < number + REST:
            break
        some, rest = rows.iloc[order[:number]], rows.iloc[order[number:]]
        moved = model.adapt(some, some[target].astype(str) if hasattr(model, "classes_") else some[target])
        found[str(number)] = [error(one, rest, target) for one in (model, moved)]
    return found


def error(model: Any, rows: pd.DataFrame, target: str) -> float:
    """Mean squared error; of classes Brier's score."""
    y = rows[target].to_numpy()
    if not hasattr(model, "classes_"):
        return float(((model.predict(rows) - y) ** 2).mean())
    truth = y.astype(str)[:, None] == model.classes_
    return float(((model.predict_proba(rows) - truth) ** 2).sum(1).mean() / 2)


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
            pairs = np.array([record["adapted"][number] for record in some if number in record["adapted"]])
            if len(pairs):
                row[f"adapt {number}"] = [float(np.sqrt(pairs[:, 1].mean() / pairs[:, 0].mean())), len(pairs)]
        row["checked"] = alarms(some)
        tables[name] = row
    first: dict[tuple[str, str], dict[str, Any]] = {}
    for record in records:
        first.setdefault((record["table"], record["domain"]), record)
    return {"tables": tables, "all": {"uniform": uniform(list(first.values())), **alarms(records)}}


def alarms(records: list[dict[str, Any]]) -> dict[str, list[float]]:
    """By what was done to a domain, the share that is not "as usual", and of how many."""
    found: dict[str, list[float]] = {}
    for name in ("unlabelled", "as it is", "shuffled", "shuffled, can tell", "swapped", "swapped, with target"):
        key = name.removesuffix(", can tell")
        some = [record["checked"] for record in records if key in record["checked"]]
        if name != key:
            some = [one for one in some if one["as it is"]["can tell"]]
        said = [one[key] if isinstance(one[key], str) else one[key]["verdict"] for one in some]
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
    parser.add_argument("--tables", default=",".join(recipe.name for recipe in recipes()), help="a,b (default: all)")
    parser.add_argument("--method", default="linear", help="linear, trees or auto")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/new-domains.json"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    records: list[dict[str, Any]] = []
    options.out.parent.mkdir(parents=True, exist_ok=True)
    for name in options.tables.split(","):
        records += measure(name, options.method, range(options.first, options.first + options.splits))
        found = summary(records)
        print(name, json.dumps(found["tables"][name]), flush=True)
        options.out.write_text(json.dumps({"method": options.method, **found}, indent=1))
    print(json.dumps(found["all"]))


if __name__ == "__main__":
    main()
