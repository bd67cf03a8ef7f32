"""The page of the study: the answer first, then tables, figures and how it was done; all from the records.

A page shows the settings of `ON_THE_PAGE`; the tables beside it have them all.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from rpo._io import write_whole
from rpo_lab.data.recipes import recipe_of
from rpo_lab.real.figures import curve_figure, dots_figure
from rpo_lab.real.planting import CLEAN, DEVIATIONS, SETTINGS, THINNED, WRONG
from rpo_lab.real.quality import ESTIMATORS, NO_MODEL, OFF, THEIRS
from rpo_lab.real.results import DRAWS, RealResults, geometric_mean
from rpo_lab.real.study import BEST_OF, CONTROLS, ROWS, Amount
from rpo_lab.real.words import answer, mean_shown, shown
from rpo_lab.runner.drawing import save
from rpo_lab.runner.page import fold, link, put
from rpo_lab.runner.render import markdown

if TYPE_CHECKING:
    from rich.table import Table

UNDONE = (
    "[The share of the damage that weights undo, as CSV]({}). Damage is the increase of the error, with uniform "
    "weights, that the planted noise causes on the same folds, summed over tables (above 100 %: the error is below "
    "that without noise). What weights from the true noise do not undo is information that the noise has destroyed."
)
WAYS = ("judged", "permuted", "true noise")
ON_THE_PAGE = [SETTINGS[name] for name in (CLEAN, "domains-30", "cells-30", "scarce", "confounder")]
NOTHING = "There are no results for this setting yet."


def write(
    results: RealResults, command: str, folder: Path, drawings: Path, page: Path | None, frozen: str
) -> list[Path]:
    """Write every error, the figures, and the page with the tables beside it; return the paths, the page last."""
    # Thousands of dots: as SVG these would be larger than their page.
    (dots,) = save(dots_figure(results), drawings, "real", kinds=["png"])
    (curve,) = save(curve_figure(results), drawings, "real-unevenness", kinds=["png"])
    files = [folder / "errors.csv", folder / "summary.csv", folder / "gains.csv"]
    for path, table in zip(files, (results.errors, results.summary, results.gains), strict=True):
        write_whole(path, table.to_csv(index=False))
    page = page or folder / "real.md"
    for name, table in beside(results).items():
        write_whole(tables_folder(page) / f"{name}.csv", table.to_csv(index=False))
    put(page, "real", section(results, command, (dots, curve), page, frozen))
    return [dots, curve, *files, page]


def beside(results: RealResults) -> dict[str, pd.DataFrame]:
    """Return the tables of every setting, which a page has no room for, by name; those without results are left out."""
    tables = {
        "real-settings": settings_table(results),
        "real-weights": gains_table(results),
        "real-undone": undone_table(results),
        "real-detection": detection_table(results),
    }
    return {name: table for name, table in tables.items() if len(table)}


def tables_folder(page: Path) -> Path:
    """Return where the tables beside a page are."""
    return page.parent / "tables"


def section(results: RealResults, command: str, figures: tuple[Path, Path], page: Path, frozen: str) -> str:
    """Write the page between its marks."""
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
        fold([_listed(protocol(results, frozen))]),
    ]
    return "\n\n".join(block for block in blocks if block)


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _markdown(table: pd.DataFrame) -> str:
    return markdown([str(name) for name in table], table.itertuples(index=False))


def _brief(table: pd.DataFrame) -> pd.DataFrame:
    """Return the settings that the page shows: columns of a table by learner, lines of a table by setting."""
    if "learner" in table:
        return table[[name for name in table if name in ("learner", *ON_THE_PAGE)]]
    return table[table["setting"].isin(ON_THE_PAGE)]


HEADS = ["learner", "geometric mean (95 %)", "median", "worst", "won", "lost", "tables"]


def summary_line(line: Mapping[Any, Any]) -> list[str]:
    """Return the texts of a row of the summary, in the order of `HEADS`."""
    counts = (str(line[name]) for name in ("won", "lost", "tables"))
    return [ROWS[line["row"]].label, mean_shown(line), f"{line['median']:.2f}", f"{line['worst']:.2f}", *counts]


def summary_table(results: RealResults, setting: str) -> pd.DataFrame:
    """Return a line per row, by section, best first; weights have a table of their own with their controls."""
    table = results.summary[results.summary["setting"] == setting]
    table = table[[ROWS[name].section != CONTROLS or name == OFF for name in table["row"]]]
    lines = []
    for part in dict.fromkeys(row.section for row in ROWS.values()):
        own = table[[ROWS[name].section == part for name in table["row"]]].sort_values("mean")
        gone = [name for name in results.study.missing if ROWS[name].section == part]
        if len(own) or gone:
            lines.append([f"*{part}*", *[""] * 6])
        lines += map(summary_line, own.to_dict("records"))
        lines += [[ROWS[name].label, f"{results.study.missing[name]} is not installed", *[""] * 5] for name in gone]
    return pd.DataFrame(lines if len(table) else [], columns=HEADS)


def terminal_tables(results: RealResults) -> "list[Table]":
    """Return a table for each setting, its rows in the order of the study."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    tables = []
    for setting, own in results.summary.groupby("setting", sort=False):
        table = Table("", *HEADS[1:], box=SIMPLE_HEAD, title_justify="left")
        table.title = f"Error over the best stock learner, {SETTINGS[str(setting)]}"
        for line in sorted(own.to_dict("records"), key=lambda line: list(ROWS).index(line["row"])):
            table.add_row(*summary_line(line))
        for name, library in results.study.missing.items():
            table.add_row(ROWS[name].label, f"{library} is not installed")
        tables.append(table)
    return tables


def settings_table(results: RealResults) -> pd.DataFrame:
    """Return a line per row, a column per setting with a problem; controls are in a table of their own."""
    means = {(line["row"], line["setting"]): line["mean"] for line in results.summary.to_dict("records")}
    known = [name for name in SETTINGS if name != CLEAN and any(setting == name for _, setting in means)]
    rows = [name for name in ROWS if ROWS[name].section != CONTROLS and any((name, kind) in means for kind in known)]
    nothing = float("nan")
    lines = [[ROWS[name].label, *(shown(means.get((name, setting), nothing)) for setting in known)] for name in rows]
    return pd.DataFrame(lines, columns=["learner", *(SETTINGS[name] for name in known)])


def gains_table(results: RealResults) -> pd.DataFrame:
    """Return a line per setting: of each estimator the weights as judged with their interval, permuted and true."""
    gains = results.gains
    estimators = [name for name in ESTIMATORS if (gains["estimator"] == name).any()]
    lines = []
    for setting in (name for name in SETTINGS if (gains["setting"] == name).any()):
        line = [SETTINGS[setting]]
        for name in estimators:
            own = gains[(gains["setting"] == setting) & (gains["estimator"] == name)]
            line.append(shown(*geometric_mean(own["quality"])))
            line += [shown(geometric_mean(own[way])[0]) for way in ("permuted", "true")]
        lines.append(line)
    return pd.DataFrame(lines, columns=["setting", *(f"{name}, {words}" for name in estimators for words in WAYS)])


def undone_table(results: RealResults) -> pd.DataFrame:
    """Return a line per setting with noise: what judged weights of each estimator undo of the damage, and true ones."""
    lines_by_place = {(line["estimator"], line["setting"]): line for line in results.undone.to_dict("records")}
    estimators = [name for name in ESTIMATORS if any(estimator == name for estimator, _ in lines_by_place)]
    columns = [(name, way, words) for name in estimators for way, words in (("judged", "judged"), ("true", WAYS[-1]))]
    lines = [
        [SETTINGS[setting], *(_percent(lines_by_place.get((name, setting)), way) for name, way, _ in columns)]
        for setting in SETTINGS
        if any(setting == name for _, name in lines_by_place)
    ]
    return pd.DataFrame(lines, columns=["setting", *(f"{name}, {words}" for name, _, words in columns)])


def _percent(line: Mapping[Any, Any] | None, way: str) -> str:
    return "–" if line is None else f"{100 * line[way]:.0f} %"


def curve_table(results: RealResults) -> pd.DataFrame:
    """Return a line per bin of unevenness, a column per estimator, with the number of cases."""
    curve = {(line["estimator"], line["from"], line["to"]): line for line in results.curve.to_dict("records")}
    estimators = list(dict.fromkeys(name for name, *_ in curve))
    lines = []
    for low, high in sorted({(low, high) for _, low, high in curve}):
        texts = (_with_cases(curve.get((name, low, high))) for name in estimators)
        lines.append(["none" if high == 0 else f"above {low:g}, to {high:g}", *texts])
    return pd.DataFrame(lines, columns=["unevenness", *estimators])


def _with_cases(line: Mapping[Any, Any] | None) -> str:
    if line is None:
        return "–"
    return f"{shown(line['ratio'], line['low'], line['high'])}, {_count(line['cases'], 'case')}"


def detection_table(results: RealResults) -> pd.DataFrame:
    """Return a line per setting: of corrupted domains and rows our AUC, cleanlab's, and how often ours is higher."""
    kinds = [what for what in ("domains", "rows") if (results.detection["what"] == what).any()]
    lines = []
    for setting in (name for name in SETTINGS if (results.detection["setting"] == name).any()):
        line = [SETTINGS[setting]]
        for what in kinds:
            here = (results.detection["setting"] == setting) & (results.detection["what"] == what)
            line += _detected(results.detection[here].pivot_table(index="table", columns="way", values="auc"))
        lines.append(line)
    heads = [f"{what}, {words}" for what in kinds for words in ("rpo", THEIRS, "ours higher")]
    return pd.DataFrame(lines, columns=["setting", *heads])


def _detected(wide: pd.DataFrame) -> list[str]:
    if "rpo" not in wide:
        return ["–", "–", "–"]
    if THEIRS not in wide:
        return [f"{wide['rpo'].mean():.2f}", "not installed", "–"]
    higher = int((wide["rpo"] > wide[THEIRS]).sum())
    return [f"{wide['rpo'].mean():.2f}", f"{wide[THEIRS].mean():.2f}", f"{higher} of {len(wide)}"]


def failures(results: RealResults) -> list[str]:
    """Describe failures, rows with the same reason together; controls of a failed model are not named beside it."""
    own = results.failed[results.failed["reason"] != NO_MODEL]
    by: dict[tuple[int, tuple[str, ...], str], list[str]] = {}
    for row, lines in own.groupby("row", sort=False):
        tables = tuple(dict.fromkeys(lines["table"]))
        by.setdefault((len(lines), tables, str(lines["reason"].iloc[0])[:100]), []).append(ROWS[str(row)].label)
    return [
        f"{'; '.join(labels)} failed in {_count(folds, 'fold')} of {_count(len(tables), 'table')} "
        f"(first: {tables[0]}, {reason})."
        for (folds, tables, reason), labels in by.items()
    ]


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def protocol(results: RealResults, frozen: str) -> list[str]:
    """Describe everything that a reader needs to judge or repeat the study."""
    study, profile = results.study, results.study.profile
    classes = sum(recipe_of(name).task == "classification" for name in study.tables)
    same = "All Quality models were fitted under one set of rules (fingerprint of the code that judges and decides: {})"
    several = "The rules of the Quality models changed between runs (fingerprints {})"
    under = (several if len(results.rules) > 1 else same).format(", ".join(results.rules))
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
        by.setdefault(amount, []).append(SETTINGS[name])
    return "; ".join(f"{seeds} × {folds} ({', '.join(names)})" for (seeds, folds), names in by.items())
