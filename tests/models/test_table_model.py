"""What a model fitted to a table says of what it did."""

import numpy as np
import pandas as pd

from rpo._models.table_files import make_readme
from rpo._models.table_model import fit_table
from rpo._table import prepare

ALIKE = "all rows have the same weight: none is clearly noisier than the others"
NOTE = "dropped, because their relation to the target differs between domains: 'spurious'"


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    domain, x = np.repeat([0, 1, 2], 200), rng.normal(size=600)
    y = x + rng.normal(size=600)
    spurious = (1 - domain) * y + 0.3 * rng.normal(size=600)
    return pd.DataFrame({"x": x, "z": rng.normal(size=600), "spurious": spurious, "d": domain.astype(str), "y": y})


def test_features_that_are_not_used_are_named():
    model = fit_table(prepare(table(), target="y", domain="d"), method="linear")
    assert NOTE in model.notes


def test_nothing_is_named_where_all_are_used_and_nothing_is_noisier():
    ready = prepare(table().drop(columns="spurious"), target="y", domain="d")
    fitted = fit_table(ready, method="linear")
    assert not [note for note in fitted.notes if "dropped" in note]
    assert ALIKE in fitted.notes


def test_rpo_has_its_scales_mended_and_no_feature_is_dropped():
    model = fit_table(prepare(table(), target="y", domain="d"), method="rpo", steps=20)
    assert type(model.estimator).__name__ == "RPORegressor"
    assert model.estimator.penalties_.scheme == "calibrated"
    assert NOTE not in model.notes
    assert make_readme(model).startswith("# y by rpo\n")


def test_where_a_domain_is_noisier_its_rows_count_less_and_rpo_names_it_first():
    rough = table().drop(columns="spurious")
    noise = np.random.default_rng(1).normal(size=len(rough))
    rough["y"] += np.where((rough["d"] == "2") & (rough["x"] > 0), 6 * noise, 0)
    ready = prepare(rough, target="y", domain="d")
    model = fit_table(ready, method="linear")
    assert ALIKE not in model.notes
    assert "rows get less weight, because they are noisier than the others" in " ".join(model.notes)
    lines = make_readme(fit_table(ready, method="rpo", steps=100)).splitlines()
    assert lines[lines.index("|---|---:|---:|") + 1].split()[1] == "2"
