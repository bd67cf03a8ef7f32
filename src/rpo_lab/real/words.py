"""What the study says, in sentences made from its figures, whichever way they fall."""

import numpy as np
import pandas as pd

from rpo_lab.real.planting import CLEAN, SETTINGS
from rpo_lab.real.quality import OURS as FOUND_BY
from rpo_lab.real.quality import THEIRS
from rpo_lab.real.results import RealResults, bootstrap
from rpo_lab.real.study import CONTROLS, OURS, QUALITY, ROWS

NOISY = "domains-30"
VISIBLE = 0.005  # an interval this close to one is no difference that anybody would see
SAID = {"lower": "lower the error", "higher": "raise the error", "": "make no significant difference"}


def direction(low: float, high: float) -> str:
    """Which side of one an interval is on: "lower", "higher", or neither.

    >>> direction(0.8, 0.95), direction(0.9, 1.1), direction(float("nan"), float("nan"))
    ('lower', '', '')
    """
    return "lower" if high < 1 - VISIBLE else "higher" if low > 1 + VISIBLE else ""


def figure_of(ratios: "pd.Series[float]") -> tuple[float, float, float]:
    """The geometric mean and its interval over tables."""
    logs = np.log(ratios.dropna().to_numpy(dtype=np.float64))
    if not len(logs):
        return float("nan"), float("nan"), float("nan")
    low, high = bootstrap(logs)
    return float(np.exp(logs.mean())), float(np.exp(low)), float(np.exp(high))


def shown(mean: float, low: float = float("nan"), high: float = float("nan")) -> str:
    """A ratio with its interval, if it has one.

    >>> shown(0.9, 0.85, 0.951), shown(1.0), shown(float("nan"))
    ('0.90 (0.85–0.95)', '1.00', '–')
    """
    if mean != mean:
        return "–"
    return f"{mean:.2f}" if low != low else f"{mean:.2f} ({low:.2f}–{high:.2f})"


def answer(results: RealResults) -> list[str]:
    """The answer, the most important sentence first."""
    lines = [*_headline(results), *_as_they_are(results), *_weights(results), *_elsewhere(results), *_found(results)]
    return lines or ["There are no results yet for Quality models on tables as they are."]


def _headline(results: RealResults) -> list[str]:
    """Whether the weights of the main row pay, on tables as they are and where domains were made noisy."""
    gains = results.gains[results.gains["estimator"] == OURS.removeprefix("quality-")]
    parts = []
    for setting, words in ((CLEAN, "on tables as they are"), (NOISY, "with noise added to 30 % of the domains")):
        some = gains[gains["setting"] == setting]
        if len(some):
            found = figure_of(some["quality"])
            parts.append(f"{words} they {SAID[direction(*found[1:])]}: {shown(*found)} times that with uniform weights")
    return (
        [f"**Do weights from judged quality help on unseen domains? {'; '.join(parts).capitalize()}.**"]
        if parts
        else []
    )


def _as_they_are(results: RealResults) -> list[str]:
    said = []
    table = results.summary[results.summary["setting"] == CLEAN]
    for one in table[table["row"] == OURS].to_dict("records"):
        said.append(
            f"{ROWS[OURS].label}, tables as they are: {shown(one['mean'], one['low'], one['high'])} times the "
            f"error of the best stock learner (95 % interval over {one['tables']} tables), median {one['median']:.2f}, "
            f"worst {one['worst']:.2f} ({one['worst table']}); won on {one['won']}, lost on {one['lost']}."
        )
    rivals = table[[ROWS[name].section not in (QUALITY, CONTROLS) for name in table["row"]]]
    if said and len(rivals):
        one = rivals.sort_values("mean").to_dict("records")[0]
        said.append(
            f"The best other method is {ROWS[one['row']].label}: {shown(one['mean'], one['low'], one['high'])}, "
            f"worst {one['worst']:.2f} ({one['worst table']})."
        )
    return said


def _weights(results: RealResults) -> list[str]:
    """The weights where domains were made noisy, each estimator's beside its controls; and what they undo."""
    said = []
    some = results.gains[results.gains["setting"] == NOISY]
    parts = []
    for estimator, own in some.groupby("estimator", sort=False):
        beside = {"permuted": figure_of(own["permuted"])[0], "from the true noise": figure_of(own["true"])[0]}
        known = [f"{words} {value:.2f}" for words, value in beside.items() if value == value]
        used = f"used in {100 * own['weighted'].mean():.0f} % of the folds"
        parts.append(f"{estimator} {shown(*figure_of(own['quality']))}, {', '.join([*known, used])}")
    if parts:
        said.append(f"Error with judged weights relative to uniform ones, {_words(NOISY)}: {'; '.join(parts)}.")
    undone = results.undone[results.undone["setting"] == NOISY].to_dict("records")
    if undone:
        shares = [
            f"{one['estimator']} {100 * one['judged']:.0f} % (true noise {100 * one['true']:.0f} %)" for one in undone
        ]
        said.append(f"Share of the damage of that noise that the weights undo: {', '.join(shares)}.")
    return said


def _elsewhere(results: RealResults) -> list[str]:
    table = results.summary[results.summary["row"] == OURS].to_dict("records")
    parts = [
        f"{_words(one['setting'])} {shown(one['mean'], one['low'], one['high'])}"
        for one in table
        if one["setting"] in (NOISY, "scarce", "confounder")
    ]
    return [f"{ROWS[OURS].label}, relative to the best stock learner: {', '.join(parts)}."] if parts else []


def _words(setting: str) -> str:
    return SETTINGS[setting].words


def _found(results: RealResults) -> list[str]:
    parts = []
    for what in ("domains", "rows"):
        some = results.detection[results.detection["what"] == what]
        means = some.groupby("way")["auc"].mean()
        if len(means):
            ways = [f"{way} {means[way]:.2f}" for way in (FOUND_BY, THEIRS) if way in means]
            parts.append(f"corrupted {what} {', '.join(ways)}")
    return [f"Detection of what was planted (AUC, mean over tables and settings): {'; '.join(parts)}."] if parts else []
