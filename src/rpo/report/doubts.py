"""How the page was computed, and what to doubt about it."""

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from rpo.functional.noise import LEVEL
from rpo.functional.statistics import MIN_ROWS
from rpo.report.page_numbers import percent
from rpo.tables.grouped import SURE, WORTH_TELLING
from rpo.tables.residuals import FOLDS
from rpo.tables.words import p_text

if TYPE_CHECKING:
    from rpo.tables.quality import Quality


def section(found: "Quality", shorter: int) -> dict[str, Any]:  # noqa: ARG001 (all sections have one signature)
    """What was done, in order, and what the figures do not say."""
    ready = found.prepared
    unit = f"in the unit of {ready.target}" if ready.task == "regression" else "of the probability of the class"
    done = [
        f"A small network was fitted to {len(ready.columns)} columns in {FOLDS} folds, so that every row was judged by "
        f"a model that had not seen it; smoothness λ = {found.residuals.lam:.3g}, the best of three in the same folds.",
        f"Noise is the root of the mean squared residual, {unit}. Its {percent(LEVEL)} interval takes the tails into "
        f"account: their kurtosis here is {found.kurtosis:.1f}, and 3 would be Gaussian.",
        f"A domain or stratum is called noisy if its noise is at least {WORTH_TELLING} times that of the rest and the "
        f"chance of that without a difference is below {SURE}, corrected for the number of comparisons (Holm).",
        f"Chance of such differences if there were none: domains {p_text(found.p_domains)}, "
        f"strata {p_text(found.p_strata)}, corrected for asking twice"
        + ("; strata were looked for on each half of the rows and tested on the other." if found.searched else "."),
        "η, the invariance asked of a domain, and ρ, the smoothness asked of a cell, are those of Proposition 1 of RPO "
        "with its scales mended: η has mean one over domains, ρ over rows.",
    ]
    doubts = [
        "Noise is what these columns do not explain. A cause that no column tells of looks the same as a bad label.",
        f"Domains, strata and cells of fewer than {MIN_ROWS} rows are not judged; they borrow the noise of their kind.",
        "A row with a large residual may be right and rare. Look before correcting.",
        "The model is small and was not tuned to this table; where it fits badly, misfit counts as noise.",
    ]
    if len(found.domains) == 1:
        doubts.insert(0, "There is one domain only: nothing can be said about what differs between domains.")
    return {
        "kind": "doubts",
        "id": "doubts",
        "title": "How this was computed, and what to doubt",
        "done": done,
        "doubts": doubts,
        "notes": ready.notes,
        "version": version("rpo"),
    }
