"""A new table beside training domains: what is ordinary passes, what is not is named, what cannot be told is said."""

import json

import numpy as np
import pandas as pd
import pytest

import rpo
from rpo._models.table_files import save_model
from rpo._models.table_model import fit_table
from rpo._table import prepare
from rpo.exceptions import InputError

QUICK = {"weights": "off", "screen": "off", "verbose": False}


def visits(seed, domains, rows=40):
    """Clinics that differ a little in age and in level."""
    rng = np.random.default_rng(seed)
    site = np.repeat(np.arange(domains), rows)
    n = len(site)
    age = 40 + 4 * rng.normal(size=domains)[site] + 9 * rng.normal(size=n)
    pressure = 90 + 0.7 * age + 3 * rng.normal(size=n)
    ward = rng.choice(["north", "south", "west"], n)
    stay = 0.1 * age + (ward == "west") + 0.3 * rng.normal(size=domains)[site] + 0.5 * rng.normal(size=n)
    table = {"site": site.astype(str), "age": age, "pressure": pressure, "ward": ward, "stay": stay}
    return pd.DataFrame(table).assign(long=np.where(stay > 4.5, "yes", "no"))


@pytest.fixture(scope="module")
def model():
    table = visits(0, 25)
    features = table.drop(columns=["stay", "long"])
    return rpo.QualityRegressor("linear", **QUICK).fit(features, table["stay"], domains="site")


@pytest.fixture
def new():
    table = visits(1, 1)
    return table[["age", "pressure", "ward"]], table["stay"].to_numpy()


def test_ordinary_domains_are_as_usual(model):
    table = visits(2, 40)
    found = rpo.check(model, table, target="stay", domain="site")
    assert len(found.domains) == 40
    assert (found.domains["verdict"] == "as usual").mean() > 0.75
    assert "40 domains" in found.summary[0]
    assert (found.domains["seen"] == found.domains["domain"].astype(int).lt(25)).all()


@pytest.mark.parametrize(
    "change, column",
    [
        (lambda t: t.assign(age=t["pressure"], pressure=t["age"]), "age"),
        (lambda t: t.assign(age=t["age"] + 60), "age"),
        (lambda t: t.assign(pressure=t["pressure"].mean()), "pressure"),
        (lambda t: t.assign(pressure=t["pressure"].to_numpy()[::-1]), "pressure"),  # alike, but not beside age
    ],
)
def test_columns_that_are_not_what_they_were_are_named(model, new, change, column):
    found = rpo.check(model, change(new[0]))
    assert found.verdict != "as usual"
    assert found.columns.set_index("column")["shifted"][column]
    assert any(column in sentence for sentence in found.summary)


def test_another_unit_is_outside(model, new):
    found = rpo.check(model, new[0].assign(age=12 * new[0]["age"]))
    assert found.verdict == "outside"
    assert found.domains["outside"][0] == 1
    assert "(mean" in str(found)
    assert "this one is further away" in str(found)


def test_a_shuffled_target_is_found_without_a_change_of_columns(model, new):
    features, y = new
    shuffled = np.random.default_rng(0).permutation(y)
    assert rpo.check(model, features, target=y).verdict == "as usual"
    found = rpo.check(model, features, target=shuffled)
    assert found.verdict == "careful"
    row = found.domains.iloc[0]
    assert row["p"] <= 1 / 26 + 1e-9
    assert row["p shift"] > 0.1
    assert row["can tell"]


def test_noise_shows_in_the_error(model, new):
    features, y = new
    found = rpo.check(model, features, target=y + 5 * np.random.default_rng(0).normal(size=len(y)))
    assert found.domains["p error"][0] == pytest.approx(1 / 26)
    assert "worse than in 25 of 25 held-out domains" in str(found)


def test_where_nothing_can_be_told_that_is_said(model, new):
    features, y = new
    found = rpo.check(model, features[:2], target=y[:2])
    assert not found.domains["can tell"][0]
    assert "Cannot tell" in str(found)


def test_what_is_lacking_missing_or_unseen_is_said(model, new):
    features = new[0].drop(columns="pressure").assign(ward="roof")
    features.loc[:9, "age"] = np.nan
    found = rpo.check(model, features)
    assert found.verdict != "as usual"
    assert "Columns missing from the table: 'pressure'." in found.summary
    assert "100 % of its rows have a ward that does not occur in the training data." in found.summary
    assert any("'age' is missing in 10 rows" in note for note in found.notes)
    assert found.columns.set_index("column")["missing"]["age"] == 0.25


def test_the_nearest_training_domain_is_the_same_domain(model):
    table = visits(0, 25)
    found = rpo.check(model, table[table["site"] == "7"].drop(columns=["site", "stay", "long"]))
    assert found.domains["nearest"][0] == "7"
    assert len(found.distances) == 25
    assert found.distances["distance"].is_monotonic_increasing


def test_classes_are_checked_too():
    table = visits(3, 25)
    model = rpo.QualityClassifier("linear", **QUICK).fit(
        table[["age", "pressure", "ward"]], table["long"], domains=table["site"]
    )
    new = visits(4, 1, rows=150)
    y = new["long"].to_numpy()
    assert rpo.check(model, new, target="long").domains["p error"][0] > 0.05
    turned = np.where(y == "yes", "no", "yes")
    found = rpo.check(model, new, target=turned)
    assert found.verdict == "careful"
    assert "Brier score" in str(found)
    odd = rpo.check(model, new, target=np.where(np.arange(150) < 75, "perhaps", y))
    assert odd.domains["error"][0] > rpo.check(model, new, target=y).domains["error"][0] + 0.2


def test_rows_without_a_target_are_checked_by_their_columns(model, new):
    features, y = new
    some = np.where(np.arange(len(y)) < 10, np.nan, y)
    found = rpo.check(model, features, target=some)
    assert "10 rows have no target" in found.notes[0]
    whole = rpo.check(model, features[10:], target=y[10:])
    assert found.domains["error"][0] == pytest.approx(whole.domains["error"][0])
    assert "error" not in rpo.check(model, features, target=np.full(len(y), np.nan)).domains


def test_a_folder_knows_its_target_and_domain_and_gives_the_same(tmp_path, new):
    table = visits(0, 25).drop(columns="long")
    fitted = fit_table(prepare(table, target="stay", domain="site"), method="linear")
    save_model(fitted, tmp_path / "model")
    frame = visits(5, 2).assign(site=["x"] * 40 + ["y"] * 40)
    one, other = rpo.check(fitted, frame), rpo.check(str(tmp_path / "model"), frame)
    assert one.summary == other.summary
    for name in ("domains", "columns", "distances"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name), check_exact=True)
        assert json.dumps(getattr(one, name).to_dict("records")) == json.dumps(getattr(other, name).to_dict("records"))
    assert one.domains["domain"].tolist() == ["x", "y"]
    assert "error" in one.domains


def test_two_training_domains_cannot_tell_what_is_usual(new):
    table = visits(6, 2)
    model = rpo.QualityRegressor("linear", **QUICK).fit(
        table[["age", "pressure", "ward"]], table["stay"], domains=table["site"]
    )
    found = rpo.check(model, new[0], target=new[1])
    assert found.verdict == "as usual"
    assert np.isnan(found.domains["p shift"][0])
    assert "fewer than three training domains" in str(found)
    assert rpo.check(model, new[0].assign(age=500.0)).verdict == "outside"


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"frame": np.zeros((3, 2))}, "must be a DataFrame"),
        ({"frame": pd.DataFrame({"q": [1]})}, "none of the columns that the model needs"),
        ({"frame": pd.DataFrame({"age": []})}, "no rows"),
        ({"target": "nothing"}, "no column 'nothing'"),
        ({"domain": "nothing"}, "no column 'nothing'"),
        ({"target": [1.0]}, "1 values, but the table has 40 rows"),
        ({"target": ["a"] * 40}, "not a number in 40 of 40 rows"),
        ({"model": rpo.QualityRegressor()}, "not fitted"),
        ({"model": object()}, "a model with held-out domains"),
    ],
)
def test_what_cannot_be_checked_is_refused_in_one_line(model, new, arguments, words):
    given = {"model": model, "frame": new[0], **arguments}
    with pytest.raises(InputError, match=words) as error:
        rpo.check(given.pop("model"), given.pop("frame"), **given)
    assert "\n" not in str(error.value)


def test_an_adapted_model_is_not_checked(model, new):
    moved = model.adapt(new[0], new[1])
    with pytest.raises(InputError, match="was adapted to a domain"):
        rpo.check(moved, new[0])
