"""`rpo.quality` on tables whose truth is known: what is bad comes first; where nothing is, it says so."""

import numpy as np
import pandas as pd
import pytest

import rpo
from rpo.datasets import make_uneven
from rpo.exceptions import InputError


def frame_of(data):
    frame = pd.DataFrame(data.X, columns=["age", *(f"x{i}" for i in range(1, data.X.shape[1]))])
    return frame.assign(y=data.y, site=np.array(list("abcd"))[data.domains])


@pytest.fixture(scope="module")
def uneven():
    data = make_uneven(seed=1)
    return data, rpo.quality(frame_of(data), target="y", domain="site", verbose=False)


def test_bad_strata_and_the_bad_domain_come_first(uneven):
    data, found = uneven
    assert found.domains["domain"][0] == "b"
    assert found.domains["noisy"].tolist() == [True, False, False, False]
    noisy = found.strata[found.strata["noisy"]]["stratum"].tolist()
    assert noisy == found.strata["stratum"].tolist()[: len(noisy)]
    true = data.strata[np.isin(found.assigned.labels, [found.assigned.names.index(name) for name in noisy])]
    assert set(np.unique(true[np.isin(true, data.bad_strata)])) == set(data.bad_strata)
    assert np.isin(true, data.bad_strata).mean() > 0.8
    assert all(name.startswith("age ") for name in found.assigned.names)
    said = " ".join(found.summary)
    assert said.startswith("In site b, y is 2.8 times as noisy as in the other sites (p < 0.0001).")
    assert noisy[0] in said


def test_intervals_hold_the_noise_and_ranks_are_in_order(uneven):
    _, found = uneven
    for table in (found.domains, found.strata, found.cells):
        known = table[table["judged"]]
        assert ((known["low"] < known["noise"]) & (known["noise"] < known["high"])).all()
        assert known["rank"].tolist() == list(range(1, len(known) + 1))
        assert table[~table["judged"]]["rank"].isna().all()
        assert known["noisy"].is_monotonic_decreasing
    assert found.cells["n"].sum() == len(found.assigned.labels)


def test_rows_to_look_at_first_are_the_least_likely_and_show_their_columns(uneven):
    data, found = uneven
    rows = found.rows
    assert rows["times"].is_monotonic_decreasing
    assert np.allclose(rows["difference"], rows["target"] - rows["expected"])
    assert rows["target"].tolist() == data.y[rows["row"] - 1].tolist()
    assert rows["column age"].tolist() == data.X[rows["row"] - 1, 0].tolist()
    off = np.abs(data.y - data.signal)[rows["row"].to_numpy() - 1]
    assert np.median(off) > 3 * np.median(np.abs(data.y - data.signal))


def test_weights_are_small_where_rows_are_noisy_and_one_elsewhere(uneven):
    data, found = uneven
    bad = (data.domains == data.bad_domain) & np.isin(data.strata, data.bad_strata)
    good = (data.domains != data.bad_domain) & ~np.isin(data.strata, data.bad_strata)
    assert found.weight.shape == data.y.shape
    assert found.weight[bad].mean() < 0.3 * found.weight[good].mean()


@pytest.mark.parametrize("seed", [0, 1])
def test_where_nothing_differs_it_says_so(seed):
    data = make_uneven(bad_domain=None, bad_strata=(), seed=seed)
    found = rpo.quality(frame_of(data), target="y", domain="site", verbose=False)
    assert found.summary[0] == "Nothing wrong was found in the 1,608 rows of 4 sites."
    assert not found.domains["noisy"].any()
    assert not found.strata["noisy"].any()
    assert not found.features["suspicious"].any()
    assert (found.weight == 1).all()


def test_a_domain_of_another_level_is_shifted_and_not_noisy():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"x": rng.normal(size=400), "site": np.repeat(list("abcd"), 100)})
    frame["y"] = frame["x"] + 0.3 * rng.normal(size=400) + 3 * (frame["site"] == "c")
    found = rpo.quality(frame, target="y", domain="site", verbose=False)
    table = found.domains.set_index("domain")
    assert table["shifted"]["c"]
    assert not table["noisy"].any()
    assert found.summary[0] == "Nothing wrong was found in the 400 rows of 4 sites."
    assert found.summary[1].startswith("4 of 4 sites (c, ")
    assert "differ in level, not in noise: y is" in found.summary[1]


def test_classes_are_strata_only_on_demand_and_rows_are_those_with_the_least_likely_label():
    data = make_uneven(task="classification", seed=2)
    frame = frame_of(data).assign(y=np.where(data.y > 0, "yes", "no"))
    asked = rpo.quality(frame, target="y", domain="site", grouping="class", verbose=False)
    assert set(asked.assigned.names) == {"y no", "y yes"}
    found = rpo.quality(frame, target="y", domain="site", grouping="none", verbose=False)
    assert found.assigned.names == ("all rows",)
    assert np.allclose(found.expected.value.sum(1), 1)
    assert (found.rows["expected"] != found.rows["target"]).mean() > 0.9
    assert found.rows["probability"][:20].max() < 0.5
    known = found.domains.dropna(subset=["noise"])
    assert ((known["low"] <= known["noise"]) & (known["noise"] <= known["high"])).all()


def test_domains_of_one_row_are_not_judged_and_no_error():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60), "d": [*"ab" * 25, *"cdefghijkl"]})
    frame["y"] = frame["x"] + 0.1 * rng.normal(size=60)
    found = rpo.quality(frame, target="y", domain="d", verbose=False)
    small = found.domains[found.domains["n"] == 1]
    assert len(small) == 10
    assert not small["judged"].any()
    assert small["noise"].isna().all()
    assert small["rank"].isna().all()
    assert "10 of 12 domains have fewer than 5 rows" in found.summary[-1]


def test_the_same_seed_gives_the_same_tables(uneven):
    data, found = uneven
    again = rpo.quality(frame_of(data), target="y", domain="site", verbose=False)
    pd.testing.assert_frame_equal(again.cells, found.cells)


def test_arrays_and_a_table_give_the_same(uneven):
    data, found = uneven
    frame = frame_of(data)
    again = rpo.quality(frame[found.table.names], frame["y"], domains=frame["site"], verbose=False)
    pd.testing.assert_frame_equal(again.domains, found.domains)
    assert again.weight.tolist() == found.weight.tolist()


def test_strata_by_categories_dates_and_gaps_are_named_in_plain_terms():
    rng = np.random.default_rng(1)
    n = 600
    frame = pd.DataFrame({"city": np.array(["Ulm", "Bonn", "Kiel"])[rng.integers(0, 3, n)], "d": np.arange(n) % 2})
    frame["y"] = rng.normal(size=n) * np.where(frame["city"] == "Kiel", 3.0, 0.3)
    found = rpo.quality(frame, target="y", domain="d", verbose=False)
    assert found.strata["stratum"][0] == "city Kiel"
    frame = frame.drop(columns="city").assign(day=pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(n), "D"))
    frame["y"] = rng.normal(size=n) * np.where(np.arange(n) < 200, 3.0, 0.3)
    frame.loc[n - 1, "day"] = pd.NaT
    found = rpo.quality(frame, target="y", domain="d", verbose=False)
    assert found.strata["stratum"][0].startswith("day 2020-0")


def test_groupings_that_do_not_fit_are_refused():
    frame = pd.DataFrame({"x": np.arange(40.0), "wall": ["brick", "wood"] * 20, "y": np.arange(40.0)})
    with pytest.raises(InputError, match="grouping='class' needs classes"):
        rpo.quality(frame, target="y", grouping="class")
    with pytest.raises(InputError, match="grouping must be one of auto, search, class, none, got 'magic'"):
        rpo.quality(frame, target="y", grouping="magic")
    with pytest.raises(InputError, match="grouping='search' has no effect when strata are given"):
        rpo.quality(frame, target="y", strata=["wall"], grouping="search")


def test_columns_are_looked_at_before_any_model_and_said_in_the_summary():
    rng = np.random.default_rng(0)
    site = np.repeat(list("abcd"), 60)
    table = pd.DataFrame({"age": rng.normal(50, 9, 240), "pressure": rng.normal(120, 15, 240), "site": site})
    table["y"] = table["age"] + rng.normal(size=240)
    table.loc[table["site"] == "b", "pressure"] = 0.0
    table.loc[table.index % 5 == 0, "y"] = np.nan  # rows without a target have no place in what is counted
    found = rpo.quality(table, target="y", domain="site", verbose=False)
    first = found.columns.findings[0].words
    assert first == "Site b records pressure = 0 in all of its 48 rows; the other sites never do."
    assert first in found.summary
    assert found.columns.missing.shape == (4, 2)


@pytest.mark.parametrize("seed", [2, 3])
def test_with_more_columns_than_rows_of_a_domain_noise_is_still_noise(seed):
    """Slopes of a domain's own would pass through all of its rows: nothing would be left, and any rest look large."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(240, 40))
    y = X[:, 0] - 0.5 * X[:, 1] + 0.4 * rng.normal(size=240)
    found = rpo.quality(X, y, domains=np.repeat(np.arange(8), 30), grouping="none", verbose=False)
    assert found.noise == pytest.approx(0.4, rel=0.25)
    assert found.domains["noise"].between(0.2, 0.8).all()
    assert not found.domains["noisy"].any()
    assert (found.weight == 1).all()


@pytest.mark.parametrize("classes", [False, True])
def test_rows_that_the_models_did_not_see_make_no_level_surer(classes, monkeypatch):
    """A sample's models are a little off in every domain: with all rows counted that is certain, but no shift."""
    monkeypatch.setattr("rpo._learners.crossfit.MOST_ROWS", 1_000)

    def table(seed, offset):
        rng = np.random.default_rng(seed)
        site = rng.integers(0, 6, 15_000)
        x = rng.normal(size=(len(site), 4)) + rng.normal(size=(6, 4))[site]
        y = 2 * np.sin(1.5 * x[:, 0]) + x[:, 1] + rng.normal(size=len(site)) + offset * (site == 2)
        frame = pd.DataFrame(x, columns=list("abcd")).assign(site=[f"s{k}" for k in site])
        return frame.assign(y=np.where(y > 0, "yes", "no") if classes else y)

    asked = {"target": "y", "domain": "site", "verbose": False}
    nothing = [rpo.quality(table(seed, 0.0), **asked).domains["shifted"].any() for seed in range(4)]
    assert sum(nothing) <= 1
    found = rpo.quality(table(7, 1.5), **asked).domains
    assert "s2" in set(found.loc[found["shifted"], "domain"])


@pytest.mark.parametrize("domains, rows, seeds", [(4, 120, (4, 6, 11)), (6, 60, (0, 2, 11))])
def test_noise_in_half_of_the_domains_makes_no_feature_suspicious(domains, rows, seeds):
    """Skewed columns and curves: a fit that noisy rows pulled off course misses the clean domains along a feature."""
    flagged = 0
    for seed in seeds:
        rng = np.random.default_rng([seed, 5])
        domain = np.repeat(np.arange(domains), rows)
        x = np.exp(0.9 * rng.normal(size=(len(domain), 5))) * np.exp(0.5 * rng.normal(size=(domains, 5)))[domain]
        y = np.log(x[:, 0]) + 3 * x[:, 1] / (1 + x[:, 1]) + 0.3 * rng.normal(size=len(domain))
        y = y + np.where(domain < domains / 2, 3 * y.std() * rng.normal(size=len(domain)), 0.0)
        flagged += bool(rpo.quality(x, y, domains=domain, verbose=False).features["suspicious"].any())
    assert flagged <= 1


def test_a_feature_beside_which_nothing_varies_is_flagged_and_stays_in_the_fits():
    from dataclasses import replace

    from rpo._quality import judge
    from rpo._table import prepare

    rng = np.random.default_rng(0)
    domain, y = np.repeat(["a", "b", "c", "d"], 200), rng.normal(size=800)
    x = y * np.repeat([1.0, 0.6, 0.3, -0.5], 200) + 0.2 * rng.normal(size=800)
    ready = prepare(
        pd.DataFrame({"x": x, "z": rng.normal(size=800), "y": y, "site": domain}), target="y", domain="site"
    )
    # As in a fold of a larger table: a column that varies elsewhere, and not among these rows.
    part = replace(ready, X=np.column_stack([ready.X[:, 0], np.ones(800)]))
    found = judge(part, random_state=0, progress=False)
    assert found.features["feature"][found.features["suspicious"]].tolist() == ["x"]
    assert np.isfinite(found.weight).all()
