"""Tables of a hundred rows under the names of real ones: `python -c` and tests put them in the place of `load_real`."""

import numpy as np
import pandas as pd

from rpo.datasets.tables import Table
from rpo_lab.data.recipes import recipe_of

DOMAINS, ROWS = 10, 18


def small_table(name: str) -> Table:
    """y = x + .5 if it is red + noise, or whether that is above 0; ten domains of eighteen rows."""
    rng = np.random.default_rng(len(name))
    n = DOMAINS * ROWS
    frame = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n), "red": rng.choice(["yes", "no"], n)})
    y = frame["x"] + 0.5 * (frame["red"] == "yes") + 0.3 * rng.normal(size=n)
    task = recipe_of(name).task
    frame["y"] = y if task == "regression" else np.where(y > 0, "above", "below")
    frame["site"] = np.repeat([f"s{i}" for i in range(DOMAINS)], ROWS)
    return Table(frame, "y", ["x", "z", "red"], "site", name, "made up", name, task)


def use_small_tables() -> None:
    """From now on, in this process."""
    from rpo_lab.real import folds

    folds.load_real = small_table
    folds.real_table.cache_clear()
    folds.make_fold.cache_clear()
