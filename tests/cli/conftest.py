"""A table of homes on disk."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def homes(tmp_path):
    """A table of homes on disk: numbers, a category, a date, gaps; the site "c" is noisy."""
    rng = np.random.default_rng(0)
    n = 240
    site = np.array(["a", "b", "c"])[np.arange(n) % 3]
    frame = pd.DataFrame(
        {
            "site": site,
            "floor": rng.integers(0, 3, n).astype(float),
            "wall": np.array(["brick", "wood"])[rng.integers(0, 2, n)],
            "day": (pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D")).strftime("%Y-%m-%d"),
        }
    )
    frame["radon"] = frame["floor"] + (frame["wall"] == "wood") + rng.normal(size=n) * np.where(site == "c", 2.0, 0.2)
    frame["high"] = np.where(frame["radon"] > 1.5, "yes", "no")
    frame.loc[::17, "floor"] = np.nan
    path = tmp_path / "homes.csv"
    frame.to_csv(path, index=False)
    return path
