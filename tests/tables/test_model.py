"""What a model fitted to a table says of what it did."""

import numpy as np
import pandas as pd
import pytest

from rpo.frames import prepare
from rpo.tables.folder import card_text
from rpo.tables.model import fit_table

ALIKE = "no domain or stratum is clearly noisier than usual: all rows have the same weight"
NOTE = "dropped, because their relation to the target differs between domains: 'spurious'"


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    domain, x = np.repeat([0, 1, 2], 200), rng.normal(size=600)
    y = x + 0.3 * rng.normal(size=600)
    spurious = (1 - 0.8 * domain) * y + 0.3 * rng.normal(size=600)
    return pd.DataFrame({"x": x, "z": rng.normal(size=600), "spurious": spurious, "d": domain.astype(str), "y": y})


@pytest.mark.parametrize("method", ["rpo-weights", "erm-screened"])
def test_features_that_are_not_used_are_named(method):
    model = fit_table(prepare(table(), target="y", domain="d"), method=method, steps=20)
    assert NOTE in model.notes


def test_nothing_is_named_where_all_are_used():
    ready = prepare(table().drop(columns="spurious"), target="y", domain="d")
    fitted = fit_table(ready, method="rpo-weights", steps=20)
    assert not [note for note in fitted.notes if "dropped" in note]


def test_rpo_has_its_scales_mended_and_no_feature_is_dropped():
    model = fit_table(prepare(table(), target="y", domain="d"), method="rpo", steps=20)
    assert type(model.estimator).__name__ == "RPORegressor"
    assert model.estimator.penalties_.scheme == "calibrated"
    assert NOTE not in model.notes
    assert card_text(model).startswith("# y by rpo\n")


def test_where_nothing_is_noisier_it_says_so_and_names_the_largest_domains():
    few = table().drop(columns="spurious").query("d != '0' or index < 60")
    model = fit_table(prepare(few, target="y", domain="d"), method="rpo-weights", steps=100)
    assert ALIKE in model.notes
    lines = card_text(model).splitlines()
    assert [line.split()[1] for line in lines[lines.index("|---|---:|---:|") + 1 :][:3]] == ["1", "2", "0"]


def test_where_a_domain_is_noisier_its_rows_count_less():
    rough = table().drop(columns="spurious")
    noise = np.random.default_rng(1).normal(size=len(rough))
    rough["y"] += np.where((rough["d"] == "2") & (rough["x"] > 0), 3 * noise, 0)
    model = fit_table(prepare(rough, target="y", domain="d"), method="rpo-weights", steps=100)
    assert ALIKE not in model.notes
    lines = card_text(model).splitlines()
    assert lines[lines.index("|---|---:|---:|") + 1].split()[1] == "2"
