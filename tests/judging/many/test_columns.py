"""Sums of columns by domain against the rows themselves: gaps, values beyond the fences, categories, empty domains."""

import numpy as np
import pandas as pd

from rpo._judging.column_sums import ColumnRuler
from rpo._judging.columns.profiles import between_fences
from rpo._judging.measuring import Measuring, Roles, rows_of
from rpo._judging.sums import Sums, added
from rpo._table import prepare


def test_sums_of_columns_are_those_of_the_rows():
    import pyarrow as pa

    rng = np.random.default_rng(0)
    n = 3_000
    frame = pd.DataFrame(
        {
            "plain": 1e6 + rng.normal(size=n),
            "wild": rng.standard_t(1.2, size=n),
            "gap": np.where(rng.uniform(size=n) < 0.2, np.nan, rng.normal(size=n)),
            "both": np.where(rng.uniform(size=n) < 0.2, np.nan, rng.standard_cauchy(size=n)),
            "flat": np.where(rng.uniform(size=n) < 0.01, 5.0, 2.0),
            "town": np.array(["a", "b", "c", None], dtype=object)[rng.integers(0, 4, n)],
            "site": np.array(["u", "v", "w"])[rng.integers(0, 3, n)],
            "y": rng.normal(size=n),
        }
    )
    ready = prepare(frame, target="y", domain="site")
    domain = np.searchsorted(["u", "v", "w", "x"], frame["site"].to_numpy(str))
    ruler = ColumnRuler.of(ready, domain, 4)  # the fourth has no row
    roles = Roles("y", "site", ready.columns, ("u", "v", "w", "x"), None)
    work = Measuring(None, roles, None, ruler, None)  # type: ignore[arg-type]
    sums, values = Sums(), []
    for some in np.array_split(np.arange(n), 5):
        rows = rows_of(pa.RecordBatch.from_pandas(frame.iloc[some], preserve_index=False), roles)
        work.add(rows, sums, [], 0, "")
        values.append(rows.X)
    X = np.vstack(values)
    np.testing.assert_array_equal(X, ready.X)
    about = X - ruler.middle[:-1]
    for e in range(4):
        here = domain == e
        scale = np.abs(about).max(0) ** 2
        np.testing.assert_allclose(sums["features"][e] / np.sqrt(scale), about[here].sum(0) / np.sqrt(scale), atol=1e-9)
        np.testing.assert_allclose(sums["feature_squares"][e] / scale, (about[here] ** 2).sum(0) / scale, atol=1e-9)
        numeric = 0
        for j, (column, fence) in enumerate(zip(ruler.columns, ruler.fences, strict=True)):
            known = frame.loc[here, column.name].notna()
            assert sums["known"][e, j] == known.sum()
            if fence is not None:
                z = between_fences(frame.loc[here, column.name][known].to_numpy(), fence)
                np.testing.assert_allclose(sums["total"][e, numeric], z.sum(), rtol=1e-10, atol=1e-9)
                np.testing.assert_allclose(sums["squares"][e, numeric], (z * z).sum(), rtol=1e-10)
                numeric += 1
        counts = frame.loc[here, "town"].value_counts()
        assert sums["total"][e, numeric:].tolist() == [counts.get(name, 0) for name in ruler.labels[-1].categories]
    assert numeric == 5
    assert added({}, sums)["known"][3].sum() == 0
