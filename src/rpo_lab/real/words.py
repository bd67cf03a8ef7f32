"""Sentences that describe the results of the study, for any figures."""

from collections.abc import Mapping
from typing import Any

from rpo_lab.real.planting import CLEAN, SETTINGS
from rpo_lab.real.quality import OURS as FOUND_BY
from rpo_lab.real.quality import THEIRS
from rpo_lab.real.results import RealResults, geometric_mean
from rpo_lab.real.study import CONTROLS, OURS, QUALITY, ROWS

NOISY = "domains-30"
VISIBLE = 0.005  # an interval this close to one is no difference that anybody would see
SAID = {"lower": "lower the error", "higher": "raise the error", "": "make no significant difference"}
NOTHING = ["There are no results yet for Quality models on tables as they are."]


def direction(low: float, high: float) -> str:
    """Return which side of one an interval is on: "lower", "higher", or neither.

    >>> direction(0.8, 0.95), direction(0.9, 1.1), direction(float("nan"), float("nan"))
    ('lower', '', '')
    """
    return "lower" if high < 1 - VISIBLE else "higher" if low > 1 + VISIBLE else ""


def shown(mean: float, low: float = float("nan"), high: float = float("nan")) -> str:
    """Write a ratio with its interval, if it has one.

    >>> shown(0.9, 0.85, 0.951), shown(1.0), shown(float("nan"))
    ('0.90 (0.85–0.95)', '1.00', '–')
    """
    if mean != mean:
        return "–"
    return f"{mean:.2f}" if low != low else f"{mean:.2f} ({low:.2f}–{high:.2f})"


def mean_shown(line: Mapping[Any, Any]) -> str:
    """Write the geometric mean of a line of the summary with its interval."""
    return shown(line["mean"], line["low"], line["high"])


def answer(results: RealResults) -> list[str]:
    """Answer the question of the study, the most important sentence first."""
    parts = (_headline, _as_they_are, _weights, _undone, _elsewhere, _detection)
    return [line for part in parts for line in part(results)] or NOTHING


def _headline(results: RealResults) -> list[str]:
    """Describe whether the weights of the main row reduce errors, on original tables and with noisy domains."""
    gains = results.gains[results.gains["estimator"] == OURS.removeprefix("quality-")]
    parts = []
    for setting, words in ((CLEAN, "on tables as they are"), (NOISY, "with noise added to 30 % of the domains")):
        if len(ratios := gains.loc[gains["setting"] == setting, "quality"]):
            mean, *ends = geometric_mean(ratios)
            times = f"{shown(mean, *ends)} times that with uniform weights"
            parts.append(f"{words} they {SAID[direction(*ends)]}: {times}")
    question = "Do weights from judged quality help on unseen domains?"
    return [f"**{question} {'; '.join(parts).capitalize()}.**"] if parts else []


def _as_they_are(results: RealResults) -> list[str]:
    lines = []
    table = results.summary[results.summary["setting"] == CLEAN]
    for own in table[table["row"] == OURS].to_dict("records"):
        lines.append(
            f"{ROWS[OURS].label}, tables as they are: {mean_shown(own)} times the error of the best stock learner "
            f"(95 % interval over {own['tables']} tables), median {own['median']:.2f}, worst {own['worst']:.2f} "
            f"({own['worst table']}); won on {own['won']}, lost on {own['lost']}."
        )
    rivals = table[[ROWS[name].section not in (QUALITY, CONTROLS) for name in table["row"]]]
    if lines and len(rivals):
        best = rivals.sort_values("mean").to_dict("records")[0]
        name, worst = ROWS[best["row"]].label, f"{best['worst']:.2f} ({best['worst table']})"
        lines.append(f"The best other method is {name}: {mean_shown(best)}, worst {worst}.")
    return lines


def _weights(results: RealResults) -> list[str]:
    """Describe the gain of the weights where domains were made noisy, of each estimator beside its controls."""
    parts = []
    for estimator, own in results.gains[results.gains["setting"] == NOISY].groupby("estimator", sort=False):
        beside = {"permuted": geometric_mean(own["permuted"])[0], "from the true noise": geometric_mean(own["true"])[0]}
        known = [f"{words} {value:.2f}" for words, value in beside.items() if value == value]
        used = f"used in {100 * own['weighted'].mean():.0f} % of the folds"
        parts.append(f"{estimator} {shown(*geometric_mean(own['quality']))}, {', '.join([*known, used])}")
    words = f"Error with judged weights relative to uniform ones, {SETTINGS[NOISY]}"
    return [f"{words}: {'; '.join(parts)}."] if parts else []


def _undone(results: RealResults) -> list[str]:
    """Describe how much of the noise the weights undo."""
    shares = [
        f"{line['estimator']} {100 * line['judged']:.0f} % (true noise {100 * line['true']:.0f} %)"
        for line in results.undone[results.undone["setting"] == NOISY].to_dict("records")
    ]
    return [f"Share of the damage of that noise that the weights undo: {', '.join(shares)}."] if shares else []


def _elsewhere(results: RealResults) -> list[str]:
    parts = [
        f"{SETTINGS[line['setting']]} {mean_shown(line)}"
        for line in results.summary[results.summary["row"] == OURS].to_dict("records")
        if line["setting"] in (NOISY, "scarce", "confounder")
    ]
    return [f"{ROWS[OURS].label}, relative to the best stock learner: {', '.join(parts)}."] if parts else []


def _detection(results: RealResults) -> list[str]:
    parts = []
    for what in ("domains", "rows"):
        means = results.detection[results.detection["what"] == what].groupby("way")["auc"].mean()
        if len(means):
            ways = [f"{way} {means[way]:.2f}" for way in (FOUND_BY, THEIRS) if way in means]
            parts.append(f"corrupted {what} {', '.join(ways)}")
    return [f"Detection of what was planted (AUC, mean over tables and settings): {'; '.join(parts)}."] if parts else []
