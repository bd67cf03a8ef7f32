"""What was found, in sentences: what is wrong first, at most five."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rpo._io import few, p_equals
from rpo._judging.columns.findings import MOST_NAMED, Speech, percent, sentence
from rpo._judging.noise import FEWEST_JUDGED

if TYPE_CHECKING:
    from rpo._judging.judgement import Judgement

MOST_FINDINGS = 5
MOST_COLUMNS = 3  # of them about columns, if there is something else to say
GRAVE = 0.45  # findings about columns of that weight come before noise, lesser ones after it

Said = tuple[str, str]
"""The table that has the evidence, and one sentence."""


def findings(found: "Judgement") -> tuple[Said, ...]:
    """At most five: what is wrong, the gravest first; else that nothing is; then what is merely different."""
    speech = Speech(found.table.domain or "domain", tuple(str(name) for name in found.domains["domain"]))
    about = [(f.weight >= GRAVE, ("columns", f.words)) for f in found.columns.findings if f.wrong]
    judged = _some(
        ("rows", repeated(found)),
        ("domains", noisy_domains(found, speech)),
        ("features", suspicious_features(found, speech)),
        ("domains", other_relations(found, speech)),
        ("strata", noisy_strata(found)),
    )
    about = about[: max(MOST_COLUMNS, MOST_FINDINGS - len(judged))]
    wrong = [said for grave, said in about if grave] + judged + [said for grave, said in about if not grave]
    unknown = _some(("domains", cannot_tell(found, speech)))
    if not wrong and not unknown:
        unknown = [("domains", f"Nothing wrong was found in {_extent(found, speech)}.")]
    different = _some(("domains", levels(found, speech)), ("domains", too_small(found, speech)))
    return (*wrong, *unknown, *different)[:MOST_FINDINGS]


def _some(*said: Said) -> list[Said]:
    return [one for one in said if one[1]]


def repeated(found: "Judgement") -> str:
    """How many rows are copies."""
    if not found.copies:
        return ""
    return (
        f"{found.copies:,} of {len(found.table.y):,} rows are duplicates of another row: drop them if they are "
        "copies, because duplicates make every difference look more certain than it is."
    )


def _extent(found: "Judgement", speech: Speech) -> str:
    rows = f"the {len(found.table.y) if found.scope is None else found.scope.rows:,} rows"
    return rows if len(found.domains) == 1 else f"{rows} of {len(found.domains):,} {speech.many}"


def cannot_tell(found: "Judgement", speech: Speech) -> str:
    """Why noise could not be judged, if it could not."""
    if any(table["judged"].sum() > 1 for table in (found.domains, found.strata)):
        return ""
    fewest = FEWEST_JUDGED[found.task]
    if found.task == "classification" and (found.domains["n"] >= fewest).any():
        return f"Cannot tell which labels are wrong: the columns hardly predict {found.table.target}."
    if len(found.domains) == 1:
        return "Cannot tell whether noise differs between domains: there is only one."
    return f"Cannot tell whether noise differs: fewer than two {speech.many} have {fewest} rows or more."


def noisy_domains(found: "Judgement", speech: Speech) -> str:
    """In which domains the target is noisier, or labels are wrong, and by how much."""
    places = np.flatnonzero(found.domains["noisy"]).tolist()
    if not places:
        return ""
    table = found.domains.iloc[places]
    if found.task == "classification":
        return f"In {speech.some(places)}, {_wrong(table)}."
    noisy = f"{found.table.target} is {_times(table)} as noisy as in {speech.rest(places)}"
    return f"In {speech.some(places)}, {noisy} ({_chance(table)})."


def noisy_strata(found: "Judgement") -> str:
    """The same of groups of rows."""
    table = found.strata[found.strata["noisy"]]
    if table.empty:
        return ""
    names = "; ".join(table["stratum"][:MOST_NAMED])
    more = f"; and {len(table) - MOST_NAMED} more" if len(table) > MOST_NAMED else ""
    where = f"rows with {names}" if len(table) == 1 else f"{len(table)} groups of rows ({names}{more})"
    if found.task == "classification":
        return f"Among {where}, {_wrong(table)}."
    return f"Among {where}, {found.table.target} is {_times(table)} as noisy as among the others ({_chance(table)})."


def _wrong(table: pd.DataFrame) -> str:
    if len(table) == 1:
        rate, low, high = table[["noise", "low", "high"]].to_numpy(float)[0].tolist()
        return f"an estimated {percent(rate)} of the labels are wrong ({_span(low, high)})"
    return f"an estimated {_span(table['noise'].min(), table['noise'].max())} of the labels are wrong"


def _span(low: float, high: float) -> str:
    """A range of shares.

    >>> _span(0.09, 0.27), _span(0.0, 0.004)
    ('9–27 %', '0 % to 0.4 %')
    """
    first, last = percent(low), percent(high)
    if first == last:
        return last
    whole = all(part.removesuffix(" %").isdigit() for part in (first, last))
    return f"{first.removesuffix(' %')}–{last}" if whole and low > 0 else f"{first} to {last}"


def _times(table: pd.DataFrame) -> str:
    first, last = f"{table['ratio'].min():.1f}", f"{table['ratio'].max():.1f}"
    return f"{last} times" if first == last else f"{first} to {last} times"


def _chance(table: pd.DataFrame) -> str:
    """How surely they are noisier: the corrected p, of several the largest."""
    said = p_equals(float(table["p"].max()))
    return said if len(table) == 1 else said.replace("=", "≤")


def suspicious_features(found: "Judgement", speech: Speech) -> str:
    """Which features relate to the target differently in other domains."""
    table = found.features[found.features["suspicious"]]
    if table.empty:
        return ""
    row = table.iloc[0]
    slope = "its slope" if len(table) == 1 else f"the slope of {row['feature']}"
    features = few(table["feature"].tolist(), MOST_NAMED)
    return (
        f"The relation of {features} to {found.table.target} differs between {speech.many}: "
        f"{slope} differs from the common one by {_signed(row['lowest'])} in "
        f"{_one(speech, row['lowest_domain'])} and by {_signed(row['highest'])} in "
        f"{_one(speech, row['highest_domain'])}."
    )


def _one(speech: Speech, name: object) -> str:
    return speech.one(speech.names.index(str(name)))


def other_relations(found: "Judgement", speech: Speech) -> str:
    """In which domains the columns mean something else."""
    places = np.flatnonzero(found.domains["differs"]).tolist()
    if not places:
        return ""
    share = found.domains["relation"].iloc[places]
    own = f"separate slopes explain {_span(share.min(), share.max())} of the residual variance"
    if len(places) == len(found.domains):
        return f"The columns relate to {found.table.target} differently in all {speech.many}: {own}."
    where, others = speech.some(places), speech.rest(places)
    return f"In {where}, the columns relate to {found.table.target} differently than in {others}: {own}."


def levels(found: "Judgement", speech: Speech) -> str:
    """Which domains differ in level, the surest first."""
    table = found.domains[found.domains["shifted"]]
    if table.empty:
        return ""
    surely = table["offset"].abs() / (table["offset_high"] - table["offset_low"]).clip(lower=1e-300)
    table = table.loc[surely.sort_values(ascending=False, kind="stable").index]
    places = table.index.tolist()
    verb = "differs" if len(places) == 1 else "differ"
    noise = "" if table["noisy"].any() else ", not in noise"
    return sentence(f"{speech.some(places)} {verb} in level{noise}: {_level(found, table)}.")


def _level(found: "Judgement", table: pd.DataFrame) -> str:
    """By how much, at most."""
    what, scale, unit, words = found.table.target, 1.0, "", ("lower", "higher")
    if found.task == "classification":
        classes = np.unique(found.table.y)
        what = f"{what} = {classes[1]}" if len(classes) == 2 else "a class"
        scale, unit, words = 100.0, " percentage points", ("less frequent", "more frequent")
    ends = [scale * float(table["offset"].min()), scale * float(table["offset"].max())]
    said = [f"{abs(end):.2g}{unit} {words[end > 0]}" for end in dict.fromkeys(ends)]
    if len(said) == 2 and ends[0] * ends[1] > 0:
        said = [f"{min(map(abs, ends)):.2g} to {max(map(abs, ends)):.2g}{unit} {words[ends[0] > 0]}"]
    return f"{what} is {' to '.join(said)} than the columns predict"


def too_small(found: "Judgement", speech: Speech) -> str:
    """How many domains are too small to judge."""
    fewest = FEWEST_JUDGED[found.task]
    small = int((found.domains["n"] < fewest).sum())
    if not small:
        return ""
    have = "has" if small == 1 else "have"
    return f"{small:,} of {len(found.domains):,} {speech.many} {have} fewer than {fewest} rows: too few to judge."


def _signed(value: float) -> str:
    return f"{value:+.2g}".replace("-", "−")
