"""How the page was computed, and its limitations."""

from typing import TYPE_CHECKING, Any

from rpo.judging.features import CHANCE, CHANCE_FURTHER, FURTHER, SHARE
from rpo.judging.noise import FEWEST_JUDGED, MANY_WRONG, NOISY, WORTH_TELLING
from rpo.judging.residuals import FOLDS
from rpo.report.page_numbers import percent

if TYPE_CHECKING:
    from rpo.judging import Quality


def section(found: "Quality", shorter: int) -> dict[str, Any]:  # noqa: ARG001 (all sections have one signature)
    """What was done, in order, and what the figures do not say."""
    ready = found.prepared
    regression = ready.task == "regression"
    number = "one column" if len(ready.columns) == 1 else f"{len(ready.columns)} columns"
    if regression:
        left = (
            "From what they left of the target, each domain's own level and slopes were removed: a shift is not noise. "
            f"Noise is the standard deviation of the rest, in the unit of {ready.target}."
        )
        more = f"its noise is at least {WORTH_TELLING} times that of the rest"
    else:
        left = (
            "Each domain's own frequency of the classes was allowed for: that a class is more frequent is not noise. "
            "Wrong labels are those that disagree with the probabilities more often than these allow."
        )
        more = f"its share of wrong labels exceeds that of the rest by more than {percent(MANY_WRONG)}"
    done = [
        "The values of the columns were compared between domains, without a model.",
        f"Models were fitted to {number} in {FOLDS} folds: every row was judged by models that had not seen it.",
        left,
        f"A domain or group of rows is called noisy if {more}, with p < {NOISY} after correction for the number of "
        "comparisons (Holm).",
        "The relation of a column to the target is said to differ if another slope in every domain explains more than "
        f"{percent(SHARE)} of what the models left ({percent(FURTHER)} once one was found), with p < {CHANCE} "
        f"(then {CHANCE_FURTHER}) divided by the number of columns.",
    ]
    if found.scope is not None:
        done.insert(0, found.scope.words)
    doubts = [
        "Noise is what these columns do not explain. A cause that no column records looks the same as a wrong value.",
        f"Domains, groups and cells of fewer than {FEWEST_JUDGED[found.task]} rows are not judged.",
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
        "notes": [note[:1].upper() + note[1:] for note in ready.notes],
    }
