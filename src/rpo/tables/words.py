"""What was found, in sentences."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from rpo.functional.statistics import MIN_ROWS
from rpo.io import few
from rpo.tables.grouped import SURE, WORTH_TELLING

if TYPE_CHECKING:
    from rpo.tables.quality import Quality

MOST_NAMED = 3


def p_text(p: float) -> str:
    """A probability to two digits; one too small to matter by its bound.

    >>> p_text(0.0123), p_text(4e-12), p_text(1.0)
    ('0.012', '< 0.0001', '1')
    """
    return "< 0.0001" if p < 1e-4 else f"{p:.2g}"


def p_equals(p: float) -> str:
    """`p = 0.012`, or `p < 0.0001`.

    >>> p_equals(0.0123), p_equals(4e-12)
    ('p = 0.012', 'p < 0.0001')
    """
    return f"p = {p_text(p)}".replace("= <", "<")


def noisy_words(found: "Quality") -> str:
    """Where the noise is larger than elsewhere, or that it is nowhere."""
    domains, strata = _noisy(found.domains, "domain"), _noisy(found.strata, "stratum")
    parts = [
        f"in the {one if len(names) == 1 else many} {_listed(names)}"
        for one, many, names in (("domain", "domains", domains), ("stratum", "strata", strata))
        if names
    ]
    if parts:
        return f"The target is noisier than elsewhere {', and '.join(parts)}."
    tables = (("domains", found.domains), ("strata", found.strata))
    several = [kind for kind, table in tables if table["judged"].sum() > 1]
    if not several:
        return "Nothing can be said about differences in noise: there are not two domains or strata of five rows."
    if min(found.p_domains, found.p_strata) < SURE:
        return (
            f"Noise differs between {' or '.join(several)} as a whole, but none stands out by a factor of "
            f"{WORTH_TELLING} with certainty."
        )
    return (
        f"No difference in noise between {' or '.join(several)} could be established: "
        f"what is seen is what chance gives ({p_equals(found.p_domains)} for domains, "
        f"{p_text(found.p_strata)} for strata)."
    )


def scarce_words(found: "Quality") -> str:
    """What is scarce, and what is too small to judge."""
    small = int((found.domains["n"] < MIN_ROWS).sum())
    scarce = found.domains[found.domains["scarce"] & (found.domains["n"] >= MIN_ROWS)]["domain"].tolist()
    real = not found.searched or found.p_strata < SURE
    strata = found.strata[found.strata["scarce"]]["stratum"].tolist() if real else []
    parts = []
    if small:
        parts.append(
            f"{small} of {len(found.domains)} domains {_have(small)} fewer than {MIN_ROWS} rows, too few to judge"
        )
    if scarce:
        parts.append(f"{len(scarce)} more {_have(len(scarce))} less than half the usual number of rows")
    if strata:
        parts.append(f"{len(strata)} of {len(found.strata)} strata {_have(len(strata))} less than half an even share")
    if not parts:
        return (
            f"Nothing is scarce: every {'domain and stratum' if real else 'domain'} has half of an even share or more."
        )
    return f"Scarce: {'; '.join(parts)}."


def _noisy(table: pd.DataFrame, what: str) -> list[str]:
    noisy = table[table["noisy"]].sort_values("ratio", ascending=False)
    return [f"“{name}” ({ratio:.1f} times)" for name, ratio in zip(noisy[what], noisy["ratio"], strict=True)]


def _listed(names: Sequence[str]) -> str:
    if len(names) > MOST_NAMED or len(names) < 2:
        return few(names, MOST_NAMED)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _have(number: int) -> str:
    return "has" if number == 1 else "have"
