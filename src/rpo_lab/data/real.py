"""Real tables with a real domain: what `rpo data get tables` fetched, made ready to predict from."""

import numpy as np
import pandas as pd

from rpo.datasets.tables import Table
from rpo.exceptions import InputError
from rpo_lab.data.recipes import Recipe, recipe_of
from rpo_lab.data.wheel import read_cached

MOST_ROWS = 20_000


def load_real(name: str) -> Table:
    """A real table from the cache, with its target, its domains and its task. Run `rpo data get tables` once.

    Text columns and gaps are kept. Rows without a target or a domain go, as do columns that identify a unit or give the
    target away; of tables with more than 20,000 rows there is a sample, always the same. Nothing is downloaded here.

    Parameters
    ----------
    name : str
        As `rpo data list` has it.

    Returns
    -------
    Table
        `X`, `y`, `domains` and `task`.

    Examples
    --------
    >>> import rpo
    >>> exam = rpo_lab.data.real.load_real("exam")  # doctest: +SKIP
    >>> exam.X.shape, exam.target, exam.domain  # doctest: +SKIP
    ((4059, 7), 'normexam', 'school')
    """
    recipe = recipe_of(name)
    return make_table(recipe, read_cached(recipe))


def make_table(recipe: Recipe, raw: pd.DataFrame) -> Table:
    """The table that a recipe makes of what is in the wheel; rows and domains must be as many as the recipe says."""
    frame = raw.drop(columns=["rownames", *recipe.left_out])
    frame = frame[frame[recipe.target].notna() & frame[recipe.domain].notna()]
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    frame = frame.reset_index(drop=True)
    labels = [recipe.domain] + [recipe.target] * (recipe.task == "classification")
    for column in labels:
        if pd.api.types.is_float_dtype(frame[column]):
            frame[column] = frame[column].astype(int)  # numbered names, floats only because some were missing
    if recipe.against is not None:
        frame[recipe.target] = frame[recipe.target].where(frame[recipe.target] == recipe.against, "other")
    names = {c: f"log_{c}" for c in recipe.log} | {c: f"log1p_{c}" for c in recipe.log1p}
    logs = {c: np.log(frame[c]) for c in recipe.log} | {c: np.log1p(frame[c]) for c in recipe.log1p}
    frame = frame.assign(**logs).rename(columns=names)
    target = names.get(recipe.target, recipe.target)
    _check(recipe, frame[recipe.domain])
    return Table(
        frame,
        target=target,
        features=[column for column in frame.columns if column not in (target, recipe.domain)],
        domain=recipe.domain,
        description=recipe.title,
        source=recipe.source,
        name=recipe.name,
        task=recipe.task,
    )


def _check(recipe: Recipe, domains: "pd.Series[str]") -> None:
    sizes = domains.value_counts()
    found = len(domains), len(sizes), (int(sizes.min()), int(sizes.max()))
    expected = recipe.rows, recipe.domains, tuple(recipe.sizes)
    if found != expected:
        line = "{} rows in {} domains (smallest and largest: {})"
        raise InputError(
            f"the table {recipe.name!r} has {line.format(*found)}, expected {line.format(*expected)}; "
            "run `rpo data get tables`"
        )
