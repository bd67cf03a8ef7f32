"""What was found, in sentences."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from rpo.functional.statistics import MIN_ROWS

if TYPE_CHECKING:
    from rpo.judging.quality import Quality

MOST_NAMED = 3


def summary(found: "Quality") -> tuple[str, ...]:
    """Noise, level, relation, suspicious features, scarcity, a sentence each; then what is wrong with columns."""
    said = [noisy_words(found), level_words(found), relation_words(found), feature_words(found), scarce_words(found)]
    columns = [finding.words for finding in found.columns.findings if finding.wrong]
    return (*(sentence for sentence in said if sentence), *columns[:MOST_NAMED])


def noisy_words(found: "Quality") -> str:
    """Where the target is noisier than elsewhere, or that it is nowhere, or that it cannot be told."""
    tables = (("domain", found.domains), ("stratum", found.strata))
    parts = [part for kind, table in tables if (part := _noisy(found, kind, table[table["noisy"]]))]
    if parts:
        return f"{' '.join(parts)}"
    if not any(table["judged"].sum() > 1 for _, table in tables):
        if found.task == "classification" and (found.domains["n"] >= MIN_ROWS).sum() > 1:
            return "Cannot tell which labels are wrong: the columns hardly predict the target."
        return f"Cannot tell whether noise differs: fewer than two domains have {MIN_ROWS} rows or more."
    what = "labels agree less with the rest" if found.task == "classification" else "the target is noisier"
    return f"There is no domain or group of rows for which {what} with certainty."


def _noisy(found: "Quality", kind: str, table: pd.DataFrame) -> str:
    if table.empty:
        return ""
    if found.task == "classification":
        named = [
            f"{name} (an estimated {rate:.0%} are wrong, {low:.0%} to {high:.0%})"
            for name, rate, low, high in zip(table[kind], table["noise"], table["low"], table["high"], strict=True)
        ]
        return f"Labels agree less with the rest in {_listed(named)}."
    named = [f"{name} ({ratio:.1f} times the rest)" for name, ratio in zip(table[kind], table["ratio"], strict=True)]
    return f"The target is noisier in {_listed(named)}."


def level_words(found: "Quality") -> str:
    """Which domains differ in level."""
    table = found.domains[found.domains["shifted"]]
    if table.empty:
        return ""
    order = (table["offset"].abs() / (table["offset_high"] - table["offset_low"])).sort_values(ascending=False).index
    unit = " points" if found.task == "classification" else ""
    scale = 100 if found.task == "classification" else 1
    named = [f"{table['domain'][i]} ({table['offset'][i] * scale:+.3g}{unit})" for i in order]
    verb = "differs" if len(named) == 1 else "differ"
    return f"{_listed(named)} {verb} in level from what the columns explain; that is no noise."


def relation_words(found: "Quality") -> str:
    """In which domains the columns mean something else."""
    names = found.domains[found.domains["differs"]]["domain"].tolist()
    return f"The columns relate to the target in another way in {_listed(names)}." if names else ""


def feature_words(found: "Quality") -> str:
    """Which features mean something else in other domains."""
    table = found.features[found.features["suspicious"]]
    if table.empty:
        return ""
    named = [
        f"{row.feature} (slope of what is left {row.lowest:+.2g} in {row.lowest_domain}, {row.highest:+.2g} in "
        f"{row.highest_domain})"
        for row in table.itertuples()
    ]
    return f"Suspicious: the relation to the target differs between domains for {_listed(named)}."


def scarce_words(found: "Quality") -> str:
    """What is scarce, and what is too small to judge."""
    small = int((found.domains["n"] < MIN_ROWS).sum())
    scarce = int((found.domains["scarce"] & (found.domains["n"] >= MIN_ROWS)).sum())
    parts = []
    if small:
        parts.append(f"{small} of {len(found.domains)} domains have fewer than {MIN_ROWS} rows, too few to judge")
    if scarce:
        parts.append(f"{scarce} have less than half the average number of rows")
    return f"{'; '.join(parts)}." if parts else ""


def _listed(names: Sequence[str]) -> str:
    shown, more = [str(name) for name in names[:MOST_NAMED]], len(names) - MOST_NAMED
    if more > 0:
        return f"{', '.join(shown)} and {more} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
