"""Small tables of several domains, cut into Parquet files in several ways."""

import numpy as np
import pandas as pd


def table(n=4_000, seed=0, classes=False):
    rng = np.random.default_rng(seed)
    site = rng.integers(0, 6, n)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    frame["a"] += site * 0.3
    frame["c"] = frame["c"].mask(rng.random(n) < np.where(site == 1, 0.6, 0.05))
    frame["colour"] = rng.choice(["red", "green", "blue", None], n, p=[0.5, 0.3, 0.15, 0.05])
    frame["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    frame["site"] = [f"s{k}" for k in site]
    signal = frame["a"] + np.sin(2 * frame["b"]) + 0.2 * site
    noise = rng.normal(size=n) * np.where(site == 2, 2.0, 0.5)
    if classes:
        wrong = (site == 2) & (rng.random(n) < 0.35)
        frame["y"] = np.where((2 * signal + rng.logistic(size=n) > 1) ^ wrong, "yes", "no")
    else:
        frame["y"] = signal + noise
        frame.loc[rng.random(n) < 0.02, "y"] = np.nan
    return frame


def written(frame, folder, pieces=1, group=None):
    """The rows in as many files, in groups of rows."""
    folder.mkdir(parents=True, exist_ok=True)
    for k, rows in enumerate(np.array_split(np.arange(len(frame)), pieces)):
        frame.iloc[rows].to_parquet(folder / f"part-{k:03d}.parquet", index=False, row_group_size=group or len(rows))
    return folder


def by_site(frame, folder):
    """A file for each site, whose name is in that of its folder alone."""
    for name, rows in frame.groupby("site"):
        place = folder / f"site={name}"
        place.mkdir(parents=True, exist_ok=True)
        rows.drop(columns="site").to_parquet(place / "rows.parquet", index=False)
    return folder
