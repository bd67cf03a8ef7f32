"""How often the judgement is right, counted on tables of which the truth is known.

`python tests/judging/counting.py --first 1000 --number 200 null bad` appends a line of JSON per table to a file, goes
on where it stopped, and prints the counts. The slow tests ask the same questions.
"""

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from made import TRUTHS, labels, numbers

from rpo._quality import quality
from rpo_lab.data.confounded import make_confounded

LABELS: dict[str, dict[str, Any]] = {
    "alike": {},
    "intercepts": {"intercept": 1.5},
    "three classes": {"classes": 3},
    "three classes, intercepts": {"classes": 3, "intercept": 1.5},
}
NOISE_AFTER: dict[str, Any] = {"quality": "cells", "label_noise": 3.0, "keep": 1.0}
CONFOUNDED: dict[str, dict[str, Any]] = {
    "clean": {},
    "before": {**NOISE_AFTER, "bad_share": 0.3, "label_noise_first": True},
    "after 30": {**NOISE_AFTER, "bad_share": 0.3},
    "after 50": {**NOISE_AFTER, "bad_share": 0.5},
    "none": {"columns": "causal"},
}


def judged(x, y, domain, **options):
    return quality(x, y, domains=domain, verbose=False, **options)


def claims(found):
    """Whether any domain or stratum is called noisier."""
    return bool(found.domains["noisy"].any() or found.strata["noisy"].any())


def first(found):
    """The domain named first as noisy."""
    return found.domains["domain"][0] if found.domains["noisy"][0] else None


def null(kind, seed):
    """A table with nothing wrong: is anything called noisier, or a feature suspicious?"""
    if kind in TRUTHS:
        found = judged(*numbers(kind, seed)[:3])
    else:
        found = judged(*labels(seed, **LABELS[kind]), task="classification")
    return {
        "claimed": claims(found),
        "domains": bool(found.domains["noisy"].any()),
        "weighted": bool((found.weight != 1).any()),
        "flagged": bool(found.features["suspicious"].any()),
        "shifted": bool(found.domains["shifted"].any()),
    }


def bad(kind, seed):
    """One domain of eight with twice the noise, or 40 % of its labels turned: is it named first?"""
    worst = seed % 8
    if kind in TRUTHS:
        found = judged(*numbers(kind, seed, domains=8, rows=150, bad=worst)[:3])
    else:
        options = {**LABELS[kind], "domains": 8, "rows": 300, "bad": worst, "steep": 2.5, "prevalence": 0.4}
        found = judged(*labels(seed, **options), task="classification")
    return {"named": first(found) == str(worst), "others": int(found.domains["noisy"].sum())}


def offset(kind, seed):
    """Levels of the domains' own: how many of those beyond four standard errors are found?"""
    x, y, domain, level = numbers(kind, seed, offset=0.3)
    found = judged(x, y, domain)
    count = np.bincount(domain)
    large = np.abs(level - np.average(level, weights=count)) > 4 * 0.3 / np.sqrt(count)
    shifted = found.domains.set_index("domain")["shifted"].loc[[str(e) for e in np.flatnonzero(large)]]
    return {"planted": int(large.sum()), "found": int(shifted.sum()), "claimed": claims(found)}


def cells(kind, seed):
    """Two bad cells in forty: the area under the curve of their ratios."""
    rng = np.random.default_rng(seed)
    x, y, domain, _ = numbers(kind, seed, domains=8, rows=200)
    stratum = rng.integers(0, 5, len(y))
    worst = rng.choice(40, 2, replace=False)
    hit = np.isin(domain * 5 + stratum, worst)
    y = y + np.where(hit, 0.6 * rng.normal(size=len(y)), 0.0)
    table = judged(x, y, domain, strata=stratum).cells
    place = table["domain"].astype(int) * 5 + table["stratum"].str.rsplit(n=1).str[-1].astype(int)
    is_bad, ratio = np.isin(place, worst), table["ratio"].to_numpy()
    return {"area": float(np.mean(ratio[is_bad][:, None] > ratio[~is_bad][None]))}


def confounded(kind, seed):
    """Cigar or Wage with two confounders: are both flagged, and nothing else?"""
    table, which = kind.split(", ")
    part = (data := make_confounded(table, **CONFOUNDED[which], seed=seed)).train
    found = judged(part.X, part.y, part.domain)
    flagged = found.features["feature"][found.features["suspicious"]].str.removeprefix("x").astype(int)
    planted = [j for j, name in enumerate(data.names) if name.startswith("confounder")]
    return {
        "both": set(planted) <= set(flagged),
        "others": len(set(flagged) - set(planted)),
        "shares": [round(float(s), 3) for s in found.features["share"][:3]],
    }


QUESTIONS: dict[str, tuple[Callable[..., dict[str, Any]], tuple[str, ...]]] = {
    "null": (null, (*TRUTHS, *LABELS)),
    "bad": (bad, (*TRUTHS, "alike", "three classes")),
    "offset": (offset, tuple(TRUTHS)),
    "cells": (cells, ("square",)),
    "confounded": (confounded, tuple(f"{table}, {kind}" for table in ("cigar", "wage") for kind in CONFOUNDED)),
}


def main() -> None:
    """Count, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("questions", nargs="+", help=f"{', '.join(QUESTIONS)}, or one kind of it as null:sine")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--number", type=int, default=20, help="of seeds")
    parser.add_argument("--out", type=Path, required=True, help="a line of JSON per table is appended to this file")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    done = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    known = {(one["question"], one["kind"], one["seed"]) for one in done}
    asked = [
        (name, kind)
        for name in QUESTIONS
        for kind in QUESTIONS[name][1]
        if name in options.questions or f"{name}:{kind}" in options.questions
    ]
    seeds = range(options.first, options.first + options.number)
    for seed in seeds:
        for name, kind in asked:
            if (name, kind, seed) not in known:
                answer = {"question": name, "kind": kind, "seed": seed, **QUESTIONS[name][0](kind, seed)}
                done.append(answer)
                with open(options.out, "a") as file:
                    file.write(json.dumps(answer) + "\n")
    for name, kind in asked:
        mine = [one for one in done if (one["question"], one["kind"]) == (name, kind) and one["seed"] in seeds]
        sums = {
            key: round(float(np.sum([one[key] for one in mine])), 3)
            for key in mine[0]
            if key not in ("question", "kind", "seed", "shares")
        }
        print(f"{name:11} {kind:26} {len(mine):4} tables  {sums}", flush=True)


if __name__ == "__main__":
    main()
