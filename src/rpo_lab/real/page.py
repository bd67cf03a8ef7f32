"""The page of the study: the answer first, then tables, figures and how it was done; all from the records.

A page shows the settings of `ON_THE_PAGE`; the tables beside it have them all.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from rpo_lab.data.recipes import recipe_of
from rpo_lab.real.planting import CLEAN, DEVIATIONS, SETTINGS, THINNED, WRONG
from rpo_lab.real.quality import ESTIMATORS, NO_MODEL, OFF, THEIRS
from rpo_lab.real.results import DRAWS, RealResults
from rpo_lab.real.study import BEST_OF, CONTROLS, ROWS, Amount
from rpo_lab.real.words import answer, figure_of, shown
from rpo_lab.runner.page import link

UNDONE = (
    "[The share of the damage that weights undo, as CSV]({}). Damage is the increase of the error, with uniform "
    "weights, that the planted noise causes on the same folds, summed over tables (above 100 %: the error is below "
    "that without noise). What weights from the true noise do not undo is information that the noise has destroyed."
)
WAYS = {"quality": "judged", "permuted": "permuted", "true": "true noise"}
ON_THE_PAGE = [SETTINGS[name].words for name in (CLEAN, "domains-30", "cells-30", "scarce", "confounder")]
NOTHING = "There are no results for this setting yet."


def beside(results: RealResults) -> dict[str, pd.DataFrame]:
    """The tables of every setting, that a page has no room for, by their names; those without results are left out."""
    tables = {
        "real-settings": settings_table(results),
        "real-weights": gains_table(results),
        "real-undone": undone_table(results),
        "real-detection": detection_table(results),
    }
    return {name: table for name, table in tables.items() if len(table)}


def tables_folder(page: Path) -> Path:
    """Where the tables beside a page are."""
    return page.parent / "tables"


def section(results: RealResults, command: str, figures: tuple[Path, Path], page: Path, frozen: str) -> str:
    """The page between its marks."""
    dots, curve = (link(path, page) for path in figures)
    every = beside(results)
    places = {name: link(tables_folder(page) / f"{name}.csv", page) for name in every}
    tables = {
        name: f"{_markdown(_brief(table))}\n\n[All settings as CSV]({places[name]})" for name, table in every.items()
    }
    stock = ", ".join(ROWS[name].label for name in BEST_OF)
    blocks = [
        f"Made by `{command}`.",
        "## The answer",
        _listed(answer(results)),
        f"![Error over the best stock learner]({dots})",
        "## Tables as they are",
        f"Error relative to the best of {stock} on the same folds. The best is known only afterwards, so 1.00 is "
        "what you would get by always choosing the right one. `pip install 'rpo[real]'` installs missing libraries.",
        _markdown(table) if len(table := summary_table(results, CLEAN)) else NOTHING,
        _listed(failures(results)),
        "## With planted problems",
        "Geometric mean of the same ratio.",
        tables.get("real-settings", NOTHING),
        "## The weights and their controls",
        "Error relative to uniform weights, geometric mean over tables: judged weights, the same weights permuted "
        "between cells, and weights from the noise that was planted.",
        tables.get("real-weights", NOTHING),
        UNDONE.format(places["real-undone"]) if "real-undone" in places else "",
        "## When does quality matter?",
        "The same ratio by the unevenness of a table, for all settings together. Unevenness is computed from the "
        "judged weights: the share of the rows that they cost, 1 − (Σw)²/(nΣw²); it is 0 if all weights are equal.",
        _markdown(curve_table(results)),
        f"![Gain against unevenness]({curve})",
        "## Detection of what was planted",
        "AUC, mean over tables, and the number of tables on which ours is higher. cleanlab gets out-of-sample "
        "predictions of a random forest; its score for a domain is the mean over the rows.",
        tables.get("real-detection", NOTHING),
        '<details markdown="1"><summary>Protocol, seeds and versions</summary>',
        _listed(protocol(results, frozen)),
        "</details>",
    ]
    return "\n\n".join(block for block in blocks if block)


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _markdown(table: pd.DataFrame) -> str:
    rule = f"|---|{'---:|' * (table.shape[1] - 1)}"
    lines = (f"| {' | '.join(line)} |" for line in table.itertuples(index=False))
    return "\n".join([f"| {' | '.join(map(str, table))} |", rule, *lines])


def _brief(table: pd.DataFrame) -> pd.DataFrame:
    """The settings that the page shows: columns of a table by learner, lines of a table by setting."""
    if "learner" in table:
        return table[[name for name in table if name in ("learner", *ON_THE_PAGE)]]
    return table[table["setting"].isin(ON_THE_PAGE)]


def summary_table(results: RealResults, setting: str) -> pd.DataFrame:
    """A line per row, by section, best first; weights have a table of their own with their controls."""
    table = results.summary[results.summary["setting"] == setting]
    table = table[[ROWS[name].section != CONTROLS or name == OFF for name in table["row"]]]
    lines = []
    for part in dict.fromkeys(row.section for row in ROWS.values()):
        some = table[[ROWS[name].section == part for name in table["row"]]].sort_values("mean")
        gone = [name for name in results.study.missing if ROWS[name].section == part]
        if len(some) or gone:
            lines.append([f"*{part}*", *[""] * 6])
        for one in some.to_dict("records"):
            counts = (str(one[name]) for name in ("won", "lost", "tables"))
            figures = (shown(one["mean"], one["low"], one["high"]), f"{one['median']:.2f}", f"{one['worst']:.2f}")
            lines.append([ROWS[one["row"]].label, *figures, *counts])
        lines += [[ROWS[name].label, f"{results.study.missing[name]} is not installed", *[""] * 5] for name in gone]
    heads = ["learner", "geometric mean (95 %)", "median", "worst", "won", "lost", "tables"]
    return pd.DataFrame(lines if len(table) else [], columns=heads)


def settings_table(results: RealResults) -> pd.DataFrame:
    """A line per row, a column per setting with a problem; controls are in a table of their own."""
    known = [name for name in SETTINGS if name != CLEAN and (results.summary["setting"] == name).any()]
    means = {(one["row"], one["setting"]): one["mean"] for one in results.summary.to_dict("records")}
    rows = [name for name in ROWS if ROWS[name].section != CONTROLS and any((name, one) in means for one in known)]
    nothing = float("nan")
    lines = [[ROWS[name].label, *(shown(means.get((name, setting), nothing)) for setting in known)] for name in rows]
    return pd.DataFrame(lines, columns=["learner", *(SETTINGS[name].words for name in known)])


def gains_table(results: RealResults) -> pd.DataFrame:
    """A line per setting; of each estimator the weights as judged with their interval, permuted and true."""
    gains = results.gains
    estimators = [name for name in ESTIMATORS if (gains["estimator"] == name).any()]
    lines = []
    for setting in (name for name in SETTINGS if (gains["setting"] == name).any()):
        line = [SETTINGS[setting].words]
        for name in estimators:
            some = gains[(gains["setting"] == setting) & (gains["estimator"] == name)]
            line += [
                shown(*figure_of(some["quality"])),
                *(shown(figure_of(some[way])[0]) for way in ("permuted", "true")),
            ]
        lines.append(line)
    heads = [f"{name}, {words}" for name in estimators for words in WAYS.values()]
    return pd.DataFrame(lines, columns=["setting", *heads])


def undone_table(results: RealResults) -> pd.DataFrame:
    """A line per setting with noise; of each estimator what judged weights undo of the damage, and true ones."""
    found = {(one["estimator"], one["setting"]): one for one in results.undone.to_dict("records")}
    estimators, settings = (
        [name for name in some if any(name in key for key in found)] for some in (ESTIMATORS, SETTINGS)
    )
    lines = [
        [
            SETTINGS[setting].words,
            *(_percent(found.get((name, setting)), way) for name in estimators for way in ("judged", "true")),
        ]
        for setting in settings
    ]
    heads = [f"{name}, {words}" for name in estimators for words in ("judged", "true noise")]
    return pd.DataFrame(lines, columns=["setting", *heads])


def _percent(found: Mapping[Any, Any] | None, way: str) -> str:
    return "–" if found is None else f"{100 * found[way]:.0f} %"


def curve_table(results: RealResults) -> pd.DataFrame:
    """A line per bin of unevenness, a column per estimator, with the number of cases."""
    curve = results.curve.to_dict("records")
    estimators = list(dict.fromkeys(one["estimator"] for one in curve))
    lines = []
    for low, high in sorted({(one["from"], one["to"]) for one in curve}):
        line = ["none" if high == 0 else f"above {low:g}, to {high:g}"]
        for name in estimators:
            found = next((one for one in curve if (one["estimator"], one["to"]) == (name, high)), None)
            line.append("–" if found is None else _with_cases(found))
        lines.append(line)
    return pd.DataFrame(lines, columns=["unevenness", *estimators])


def _with_cases(one: Mapping[Any, Any]) -> str:
    return f"{shown(one['ratio'], one['low'], one['high'])}, {_count(one['cases'], 'case')}"


def detection_table(results: RealResults) -> pd.DataFrame:
    """A line per setting; of corrupted domains and rows our AUC, cleanlab's, and on how many tables ours is higher."""
    kinds = [what for what in ("domains", "rows") if (results.detection["what"] == what).any()]
    lines = []
    for setting in (name for name in SETTINGS if (results.detection["setting"] == name).any()):
        line = [SETTINGS[setting].words]
        for what in kinds:
            here = (results.detection["setting"] == setting) & (results.detection["what"] == what)
            line += _detected(results.detection[here].pivot_table(index="table", columns="way", values="auc"))
        lines.append(line)
    heads = [f"{what}, {said}" for what in kinds for said in ("rpo", THEIRS, "ours higher")]
    return pd.DataFrame(lines, columns=["setting", *heads])


def _detected(wide: pd.DataFrame) -> list[str]:
    if "rpo" not in wide:
        return ["–", "–", "–"]
    if THEIRS not in wide:
        return [f"{wide['rpo'].mean():.2f}", "not installed", "–"]
    higher = int((wide["rpo"] > wide[THEIRS]).sum())
    return [f"{wide['rpo'].mean():.2f}", f"{wide[THEIRS].mean():.2f}", f"{higher} of {len(wide)}"]


def failures(results: RealResults) -> list[str]:
    """What failed, rows with the same reason together; controls of a model that failed are not named beside it."""
    own = results.failed[results.failed["reason"] != NO_MODEL]
    by: dict[tuple[int, tuple[str, ...], str], list[str]] = {}
    for row, some in own.groupby("row", sort=False):
        tables = tuple(dict.fromkeys(some["table"]))
        by.setdefault((len(some), tables, str(some["reason"].iloc[0])[:100]), []).append(ROWS[str(row)].label)
    return [
        f"{'; '.join(labels)} failed in {_count(folds, 'fold')} of {_count(len(tables), 'table')} "
        f"(first: {tables[0]}, {reason})."
        for (folds, tables, reason), labels in by.items()
    ]


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def protocol(results: RealResults, frozen: str) -> list[str]:
    """Everything that a reader needs to judge or repeat it."""
    study, profile = results.study, results.study.profile
    classes = sum(recipe_of(name).task == "classification" for name in study.tables)
    one = "All Quality models were fitted under one set of rules (fingerprint of the code that judges and decides: {})"
    several = "The rules of the Quality models changed between runs (fingerprints {})"
    under = (several if len(results.rules) > 1 else one).format(", ".join(results.rules))
    networks = f"; networks {_amounts(profile.networks)}" if profile.networks else ""
    without = f" Left out to save time: {', '.join(profile.left_out)}." if profile.left_out else ""
    return [
        f"{len(study.tables)} tables, {classes} of them with classes: {', '.join(study.tables)}. `rpo data list` has "
        "their sizes, licences and sources.",
        "Whole domains are held out. Problems are planted in the training domains only; errors are on the true "
        "target of the held-out domains: root mean squared error, or Brier score.",
        f"Bad domains (at least one), bad cells: noise of {DEVIATIONS:g} standard deviations of the target is added, "
        f"or {100 * WRONG:.0f} % of the labels are flipped. Cells are quarters of one column within a domain. "
        f"Scarce: a third of the domains is thinned to {100 * THINNED:.0f} %. Confounder: a column that follows the "
        "target with slope 1, 0.6 or 0.3, depending on the domain, and not at all in the held-out domains.",
        "Every learner uses the defaults of its library; networks are ours, with 400 steps. One-hot columns, and "
        "medians for missing values, are the same for all.",
        f"Intervals: bootstrap over tables, {DRAWS:,} draws. Won and lost: paired t-test over folds, p < 0.05, with "
        "the variance of Nadeau and Bengio (2003), because folds share training rows; Holm correction over tables.",
        "Size, chosen before the study from the time of a few runs, for two hours on two cores: tables with more "
        f"than {profile.rows:,} rows are sampled (whole domains until there are that many rows, at least 40 domains, "
        "then a share of each); seeds for dividing the domains × held-out folds of each: "
        f"{_amounts(profile.learners)}{networks}.{without} `--profile full` has no limits.",
        f"{under}{f'; frozen: {frozen}' if frozen else ''}.",
        f"{len(study.runs):,} runs, {results.seconds / 3600:.1f} hours of one core; {', '.join(results.versions)}.",
    ]


def _amounts(amounts: Mapping[str, Amount]) -> str:
    by: dict[Amount, list[str]] = {}
    for name, amount in amounts.items():
        by.setdefault(amount, []).append(SETTINGS[name].words)
    return "; ".join(f"{seeds} × {folds} ({', '.join(names)})" for (seeds, folds), names in by.items())
