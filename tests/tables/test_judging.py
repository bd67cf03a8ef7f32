"""`rpo.quality` on tables whose truth is known: what is bad comes first; where nothing is, it says so."""

import numpy as np
import pandas as pd
import pytest

import rpo
from rpo.datasets import make_uneven


def frame_of(data):
    frame = pd.DataFrame(data.X, columns=["age", *(f"x{i}" for i in range(1, data.X.shape[1]))])
    return frame.assign(y=data.y, site=np.array(list("abcd"))[data.domains])


@pytest.fixture(scope="module")
def uneven():
    data = make_uneven(seed=1)
    return data, rpo.quality(frame_of(data), target="y", domain="site", steps=200)


def test_bad_strata_and_the_bad_domain_come_first(uneven):
    data, found = uneven
    assert found.domains["domain"][0] == "b"
    assert found.domains["noisy"].tolist() == [True, False, False, False]
    noisy = found.strata[found.strata["noisy"]]["stratum"].tolist()
    assert noisy == found.strata["stratum"].tolist()[: len(noisy)]
    true = data.strata[np.isin(found.stratum, [found.stratum_names.index(name) for name in noisy])]
    assert set(np.unique(true[np.isin(true, data.bad_strata)])) == set(data.bad_strata)
    assert np.isin(true, data.bad_strata).mean() > 0.8
    assert all(name.startswith("age ") for name in found.stratum_names)
    assert "“b”" in found.summary[0]
    assert f"“{noisy[0]}”" in found.summary[0]


def test_intervals_hold_the_noise_and_ranks_are_in_order(uneven):
    _, found = uneven
    for table in (found.domains, found.strata, found.cells):
        known = table[table["judged"]]
        assert ((known["low"] < known["noise"]) & (known["noise"] < known["high"])).all()
        assert known["rank"].tolist() == list(range(1, len(known) + 1))
        assert table[~table["judged"]]["rank"].isna().all()
    assert found.domains[found.domains["judged"]]["eta"].is_monotonic_increasing
    assert found.cells["n"].sum() == len(found.stratum)


def test_rows_to_look_at_first_are_those_with_the_largest_residuals(uneven):
    data, found = uneven
    assert found.rows["times"].is_monotonic_decreasing
    said = found.rows["target"] - found.rows["expected"]
    assert np.allclose(found.rows["difference"], said)
    assert found.rows["target"].tolist() == data.y[found.rows["row"] - 1].tolist()
    off = np.abs(data.y - data.signal)[found.rows["row"].to_numpy() - 1]
    assert np.median(off) > 3 * np.median(np.abs(data.y - data.signal))


@pytest.mark.parametrize("seed", [0, 1])
def test_where_nothing_differs_it_says_so(seed):
    data = make_uneven(bad_domain=None, bad_strata=(), seed=seed)
    found = rpo.quality(frame_of(data), target="y", domain="site", steps=200)
    assert found.summary[0].startswith("No difference in noise between domains or strata could be established")
    assert found.summary[1].startswith("Nothing is scarce")
    assert not found.domains["noisy"].any()
    assert not found.strata["noisy"].any()
    assert not found.cells["noisy"].any()


def test_a_classification_has_one_stratum_unless_classes_are_asked_for():
    data = make_uneven(task="classification", seed=2)
    frame = frame_of(data).assign(y=np.where(data.y > 0, "yes", "no"))
    asked = rpo.quality(frame, target="y", domain="site", grouping="class", steps=20)
    assert set(asked.stratum_names) == {"y no", "y yes"}
    found = rpo.quality(frame, target="y", domain="site", steps=150)
    assert found.stratum_names == ("all rows",)
    assert found.domains["domain"][0] == "b"
    assert (found.residuals.squared <= 1).all()
    assert np.allclose(found.residuals.expected.sum(1), 1, atol=1e-5)
    assert (found.rows["expected"] != found.rows["target"]).all()  # the worst are those taken for the other class
    assert found.rows["probability"].is_monotonic_increasing


def test_domains_of_one_row_are_not_judged_and_no_error():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60), "d": [*"ab" * 25, *"cdefghijkl"]})
    frame["y"] = frame["x"] + 0.1 * rng.normal(size=60)
    found = rpo.quality(frame, target="y", domain="d", steps=50)
    small = found.domains[found.domains["n"] == 1]
    assert len(small) == 10
    assert not small["judged"].any()
    assert small["noise"].isna().all()
    assert small["rank"].isna().all()
    assert "10 of 12 domains have fewer than 5 rows" in found.summary[1]


def test_the_same_seed_gives_the_same_tables(uneven):
    data, found = uneven
    again = rpo.quality(frame_of(data), target="y", domain="site", steps=200)
    pd.testing.assert_frame_equal(again.cells, found.cells)


def test_strata_by_categories_dates_and_gaps_are_named_in_plain_terms():
    rng = np.random.default_rng(1)
    n = 600
    frame = pd.DataFrame({"city": np.array(["Ulm", "Bonn", "Kiel"])[rng.integers(0, 3, n)], "d": np.arange(n) % 2})
    frame["y"] = rng.normal(size=n) * np.where(frame["city"] == "Kiel", 3.0, 0.3)
    found = rpo.quality(frame, target="y", domain="d", steps=50)
    assert found.stratum_names[0] in ("city Kiel", "city Bonn or Ulm")
    assert found.strata["stratum"][0] == "city Kiel"
    frame = frame.drop(columns="city").assign(day=pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(n), "D"))
    frame["y"] = rng.normal(size=n) * np.where(np.arange(n) < 200, 3.0, 0.3)
    frame.loc[n - 1, "day"] = pd.NaT
    found = rpo.quality(frame, target="y", domain="d", steps=50)
    assert found.strata["stratum"][0].startswith("day 2020-0")


def test_the_figure_has_a_cell_for_each_domain_and_stratum(uneven):
    _, found = uneven
    figure = found.figure()
    assert figure.axes[0].images[0].get_array().shape == (4, len(found.strata))
