"""Where strata come from when nobody gives them."""

from typing import Any, Literal

from rpo.exceptions import InputError

Grouping = Literal["auto", "search", "class", "none"]
GROUPINGS = ("auto", "search", "class", "none")


def chosen_grouping(asked: Any, *, classes: bool) -> Grouping:
    """The source of strata: "auto" searches for a regression and makes one stratum of all rows for `classes`.

    Classes are strata only on demand: the rarer one has the larger residuals on clean data, too, and would count as
    noisy. Nor are they searched for: residuals are largest where the classes meet, which is no noise either.

    >>> chosen_grouping("auto", classes=False), chosen_grouping("auto", classes=True)
    ('search', 'none')
    """
    if asked not in GROUPINGS:
        raise InputError(f"grouping is {asked!r}: use one of {', '.join(GROUPINGS)}, or give the strata yourself")
    if asked == "class" and not classes:
        raise InputError("grouping='class' needs classes: use 'search' or 'none' for a regression")
    if asked == "auto":
        return "none" if classes else "search"
    return asked  # type: ignore[no-any-return]
