"""The section on method and limitations."""

from typing import TYPE_CHECKING, Any

from rpo._judging.features import CHANCE, CHANCE_FURTHER, FURTHER, SHARE
from rpo._judging.noise import FEWEST_JUDGED, MANY_WRONG, NOISY, WORTH_TELLING
from rpo._learners.crossfit import FOLDS
from rpo._report.page_numbers import percent

if TYPE_CHECKING:
    from rpo._judging.judgement import Judgement


def section(judgement: "Judgement", shorter: int) -> dict[str, Any]:  # noqa: ARG001 (all sections have one signature)
    """Build the section: what was done, in order, and the limitations."""
    ready = judgement.table
    regression = ready.task == "regression"
    number = "one column" if len(ready.columns) == 1 else f"{len(ready.columns)} columns"
    if regression:
        left = (
            "The level and slopes of each domain were removed from the residuals, because a shift is not noise. "
            f"Noise is the standard deviation of what remains, in the unit of {ready.target}."
        )
        more = f"its noise is at least {WORTH_TELLING} times that of the other rows"
    else:
        left = (
            "The class frequencies of each domain were allowed for, because a more frequent class is not noise. "
            "The share of wrong labels is estimated from how much labels disagree with the predicted probabilities, "
            "beyond what is expected."
        )
        more = f"its share of wrong labels exceeds that of the other rows by more than {percent(MANY_WRONG)}"
    done = [
        "The values of the columns were compared between domains, without a model.",
        f"Models were fitted to {number} in {FOLDS} folds; every row was predicted by models that had not seen it.",
        left,
        f"A domain or group of rows is called noisy if {more}, with p < {NOISY} after correction for the number of "
        "comparisons (Holm).",
        "The relation of a column to the target is said to differ if separate slopes in every domain explain more than "
        f"{percent(SHARE)} of the residual variance ({percent(FURTHER)} after the first column), with p < {CHANCE} "
        f"({CHANCE_FURTHER} after the first) divided by the number of columns.",
    ]
    if judgement.scope is not None:
        done.insert(0, judgement.scope.words)
    doubts = [
        "Noise is what these columns do not explain. An effect that no column records looks the same as a wrong value.",
        f"Domains, groups and cells of fewer than {FEWEST_JUDGED[judgement.task]} rows are not judged.",
        "A row far from its expected value may be correct but rare. Check it before you correct it.",
    ]
    if len(judgement.domains) == 1:
        doubts.insert(0, "There is only one domain, so differences between domains cannot be judged.")
    return {
        "kind": "doubts",
        "id": "doubts",
        "title": "Method and limitations",
        "done": done,
        "doubts": doubts,
        "notes": [note[:1].upper() + note[1:] for note in ready.notes],
    }
