"""How the page was computed, and its limitations."""

from typing import TYPE_CHECKING, Any

from rpo.functional.significance import SURE
from rpo.functional.statistics import MIN_ROWS
from rpo.judging.noise import MANY_WRONG, WORTH_TELLING
from rpo.judging.residuals import FOLDS
from rpo.report.page_numbers import percent

if TYPE_CHECKING:
    from rpo.judging import Quality


def section(found: "Quality", shorter: int) -> dict[str, Any]:  # noqa: ARG001 (all sections have one signature)
    """What was done, in order, and what the figures do not say."""
    ready = found.prepared
    regression = ready.task == "regression"
    noise = (
        f"Noise is the deviation of what is left, in the unit of {ready.target}."
        if regression
        else "Noise is the estimated share of wrong labels: what disagrees beyond what the probabilities allow."
    )
    more = f"at least {WORTH_TELLING} times" if regression else f"more than {percent(MANY_WRONG)} beyond"
    done = [
        f"Models were fitted to {len(ready.columns)} columns in {FOLDS} folds, so that every row was judged by models "
        "that had not seen it.",
        "Of what they left, each domain's own level and its own slopes were taken out first: a shift is not noise. "
        + noise,
        f"A domain or group of rows is called noisy if its noise is {more} that of the rest with p < {SURE}, "
        f"corrected for the number of comparisons (Holm).",
        "A feature is called suspicious if its relation to what is left differs between domains by much and surely.",
    ]
    doubts = [
        "Noise is what these columns do not explain. A cause that no column records looks the same as a wrong value.",
        f"Domains, groups and cells of fewer than {MIN_ROWS} rows are not judged.",
        "A row far from what is expected may be right and rare. Look before correcting.",
    ]
    if len(found.domains) == 1:
        doubts.insert(0, "There is only one domain: nothing can be said about differences between domains.")
    return {
        "kind": "doubts",
        "id": "doubts",
        "title": "Method and limitations",
        "done": done,
        "doubts": doubts,
        "notes": ready.notes,
    }
