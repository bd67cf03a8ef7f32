"""The sections of the page that take a table or two of the judgement as they are, each one function.

A function takes the judgement and how much shorter the page must be, and returns what its template of the same name
shows.
"""

import math
from typing import TYPE_CHECKING, Any, Protocol

from rpo._judging.features import CHANCE, CHANCE_FURTHER, FURTHER, SHARE
from rpo._judging.heat_map import heat
from rpo._judging.noise import FEWEST_JUDGED, MANY_WRONG, NOISY, WORTH_TELLING
from rpo._learners.crossfit import FOLDS
from rpo._report.page_drawing import about_zero, bars, from_zero
from rpo._report.page_numbers import decimals, noise_digits, number, percent

if TYPE_CHECKING:
    import pandas as pd

    from rpo._judging.judgement import Judgement

MOST_DOMAINS, MOST_STRATA, MOST_CELLS = 300, 100, 200
MAP_DOMAINS, MAP_STRATA = 100, 24
HELD_OUT_DOMAINS, MOST_METHODS = 100, 6
QUALITY = "quality"
SHARES = ("variance explained", "largest class", "wrong labels")
PLACES = {
    "domains": "domains",
    "strata": "groups of rows",
    "features": "columns",
    "columns": "columns",
    "rows": "rows",
}


def build_summary(judgement: "Judgement", shorter: int) -> dict[str, Any]:  # noqa: ARG001 (all sections have one signature)
    """Build "What to do first": sentences with links, and tiles with figures."""
    return {
        "title": "What to do first",
        "findings": [(sentence, PLACES[place], place) for place, sentence in judgement.findings],
        "tiles": [(name, _figure(name, value)) for name, value in judgement.overview.items()],
    }


def _figure(name: str, value: float | None) -> str:
    if value is None:
        return "cannot tell"
    if name == "variance explained" and value <= 0:
        return "none"  # held-out rows are predicted worse than by the mean
    if name in SHARES:
        return percent(value)
    return number(int(value)) if value.is_integer() else number(value, decimals([value]))


def build_domains(judgement: "Judgement", shorter: int) -> dict[str, Any]:
    """Build "Domains": a row for each domain, with its drawings."""
    table = judgement.domains
    shown = table.head(MOST_DOMAINS // shorter)
    return {
        "title": "Domains",
        "rows": shown.to_dict("records"),
        "left": len(table) - len(shown),
        "levels": about_zero(shown["offset_low"], shown["offset"], shown["offset_high"]),
        "relations": bars(shown["relation"], 1.0),
        "novelties": bars(shown["novelty"], 1.0),
        "noises": from_zero(shown["low"], shown["noise"], shown["high"], judgement.noise),
        "digits": noise_digits(shown["noise"], judgement.task),
        "overall": judgement.noise,
        "known": math.isfinite(judgement.noise),
        "fewest": FEWEST_JUDGED[judgement.task],
        "target": judgement.table.target,
        "regression": judgement.task == "regression",
    }


def build_groups(judgement: "Judgement", shorter: int) -> dict[str, Any]:
    """Build "Groups of rows": a row for each group, with the drawing of its interval."""
    shown = judgement.strata.head(MOST_STRATA // shorter)
    return {
        "title": "Groups of rows",
        "rows": shown.to_dict("records"),
        "left": len(judgement.strata) - len(shown),
        "noises": from_zero(shown["low"], shown["noise"], shown["high"], judgement.noise),
        "digits": noise_digits(shown["noise"], judgement.task),
        "overall": judgement.noise,
        "known": int(judgement.strata["judged"].sum()) > 1,
        "searched": judgement.assigned.searched,
        "single": len(judgement.strata) == 1,
        "fewest": FEWEST_JUDGED[judgement.task],
        "differ": bool(judgement.strata["noisy"].any()),
        "regression": judgement.task == "regression",
    }


def build_heat_map(judgement: "Judgement", shorter: int) -> dict[str, Any]:
    """Build "Groups of rows in each domain": domains down, groups across, both noisiest first."""
    domains = judgement.domains["domain"].tolist()[: MAP_DOMAINS // shorter]
    strata = judgement.strata["stratum"].tolist()[: MAP_STRATA // min(shorter, 4)]
    cells: dict[tuple[str, str], Any] = {
        (row["domain"], row["stratum"]): row for row in judgement.cells.to_dict("records")
    }
    return {
        "title": "Groups of rows in each domain",
        "strata": strata,
        "rows": [
            {"domain": domain, "cells": [_cell(cells.get((domain, stratum)), judgement) for stratum in strata]}
            for domain in domains
        ],
        "digits": noise_digits([judgement.noise], judgement.task),
        "overall": judgement.noise,
        "known": math.isfinite(judgement.noise),
        "judged": bool(judgement.cells["noise"].notna().any()),
        "single": len(judgement.strata) == 1,
        "fewest": FEWEST_JUDGED[judgement.task],
        "regression": judgement.task == "regression",
        "left_domains": len(judgement.domains) - len(domains),
        "left_strata": len(judgement.strata) - len(strata),
    }


def _cell(row: dict[str, Any] | None, judgement: "Judgement") -> dict[str, Any] | None:
    """Colour a cell: red if significantly noisier; else only if its interval excludes the overall noise."""
    if row is None:
        return None
    noise = judgement.noise
    strength = abs(heat(row["noise"], noise, classes=judgement.task == "classification"))
    colour = "hot" if row["noisy"] else "warm" if row["low"] > noise else "cold" if row["high"] < noise else ""
    return row | {"colour": colour, "heat": strength}


def build_method(judgement: "Judgement", shorter: int) -> dict[str, Any]:  # noqa: ARG001 (all sections have one signature)
    """Build "Method and limitations": what was done, in order, and the limitations."""
    ready = judgement.table
    regression = ready.task == "regression"
    number = "one column" if len(ready.columns) == 1 else f"{len(ready.columns)} columns"
    if regression:
        left = (
            "The level and slopes of each domain were removed from the residuals, because a shift is not noise. "
            f"Noise is the standard deviation of what remains, in the unit of {ready.target}."
        )
        more = f"its noise is at least {WORTH_TELLING} times that of the other rows"
    else:
        left = (
            "The class frequencies of each domain were allowed for, because a more frequent class is not noise. "
            "The share of wrong labels is estimated from how much labels disagree with the predicted probabilities, "
            "beyond what is expected."
        )
        more = f"its share of wrong labels exceeds that of the other rows by more than {percent(MANY_WRONG)}"
    done = [
        "The values of the columns were compared between domains, without a model.",
        f"Models were fitted to {number} in {FOLDS} folds; every row was predicted by models that had not seen it.",
        left,
        f"A domain or group of rows is called noisy if {more}, with p < {NOISY} after correction for the number of "
        "comparisons (Holm).",
        "The relation of a column to the target is said to differ if separate slopes in every domain explain more than "
        f"{percent(SHARE)} of the residual variance ({percent(FURTHER)} after the first column), with p < {CHANCE} "
        f"({CHANCE_FURTHER} after the first) divided by the number of columns.",
    ]
    if judgement.scope is not None:
        done.insert(0, judgement.scope.words)
    doubts = [
        "Noise is what these columns do not explain. An effect that no column records looks the same as a wrong value.",
        f"Domains, groups and cells of fewer than {FEWEST_JUDGED[judgement.task]} rows are not judged.",
        "A row far from its expected value may be correct but rare. Check it before you correct it.",
    ]
    if len(judgement.domains) == 1:
        doubts.insert(0, "There is only one domain, so differences between domains cannot be judged.")
    return {
        "title": "Method and limitations",
        "done": done,
        "doubts": doubts,
        "notes": [note[:1].upper() + note[1:] for note in ready.notes],
    }


class HeldOut(Protocol):
    """Attributes of a comparison of methods (`rpo.compare`) that the page shows."""

    @property
    def methods(self) -> "pd.DataFrame":
        """A row for each method, best first."""

    @property
    def domains(self) -> "pd.DataFrame":
        """A row for each held-out domain, a column for each method."""

    @property
    def verdict(self) -> str:
        """The verdict, in plain words."""

    @property
    def protocol(self) -> tuple[str, ...]:
        """How the error was measured."""


def build_held_out(comparison: HeldOut, shorter: int) -> dict[str, Any]:
    """Build "Methods on unseen domains": verdict, methods, and the error of the best few on each domain."""
    best = comparison.methods["method"].tolist()
    shown = list(dict.fromkeys([QUALITY, *best]))[:MOST_METHODS]
    table = comparison.domains[["domain", "n", *shown]]
    return {
        "title": "Methods on unseen domains",
        "verdict": comparison.verdict,
        "methods": comparison.methods.to_dict("records"),
        "names": shown,
        "rows": table.head(HELD_OUT_DOMAINS // shorter).to_dict("records"),
        "left": max(0, len(table) - HELD_OUT_DOMAINS // shorter),
        "protocol": comparison.protocol,
    }


def build_penalties(judgement: "Judgement", shorter: int) -> dict[str, Any]:
    """Build "For readers of the paper": every cell, those of the smallest η first."""
    shown = judgement.penalties.head(MOST_CELLS // shorter)
    return {
        "title": "For readers of the paper",
        "rows": shown.to_dict("records"),
        "left": len(judgement.penalties) - len(shown),
    }
