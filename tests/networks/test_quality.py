"""What the estimators say about the data: the worst is found, and what is too small to judge is not judged."""

import numpy as np
import pytest

from rpo import DomainRegressor, RPOClassifier, RPORegressor
from rpo.datasets import make_uneven
from rpo.exceptions import CollapseWarning
from rpo.functional.statistics import MIN_ROWS


def uneven(seed, rows=400):
    """Domain 1 is bad (noisy, half its rows), strata 1 and 4 are bad everywhere (noisy, a quarter of their rows)."""
    data = make_uneven(rows_per_domain=rows, seed=seed)
    return data.X, data.y, data.domains, data.strata


@pytest.mark.parametrize("scheme", ["paper", "calibrated"])
@pytest.mark.filterwarnings("ignore::rpo.exceptions.CollapseWarning")
def test_bad_domain_and_bad_strata_rank_worst_in_twenty_of_twenty_seeds(scheme):
    for seed in range(20):
        X, y, domain, stratum = uneven(seed)
        model = RPORegressor(scheme=scheme, hidden=(16,), steps=60, random_state=seed)
        quality = model.fit(X, y, domains=domain, strata=stratum).quality_
        assert model.penalties_.eta.idxmin() == 1
        worst = quality.groupby("stratum")["rho"].mean().nlargest(2)
        assert set(worst.index) == {1, 4}
        assert quality.groupby("domain")["noise"].mean().idxmax() == 1
        for _, cells in quality.groupby("domain"):
            assert set(cells.nlargest(2, "rho")["stratum"]) == {1, 4}


def test_found_strata_contain_the_bad_ones():
    X, y, domain, _ = uneven(0)
    model = RPORegressor(steps=150).fit(X, y, domains=domain)
    worst = model.quality_.groupby("stratum")["noise"].mean().nlargest(2).index
    # Feature 0 says the stratum: k < x0 < k + 1.
    assert all(name.startswith("x0 ") for name in worst)
    middles = [np.mean([float(end) for end in name.removeprefix("x0 ").split("–")]) for name in worst]
    assert {int(middle) for middle in middles} <= {1, 4}


def test_the_columns_and_their_meaning():
    X, y, domain, stratum = uneven(1)
    model = RPORegressor(steps=200).fit(X, y, domains=domain, strata=stratum)
    quality = model.quality_
    assert list(quality.columns) == ["domain", "stratum", "n", "density", "noise", "rho", "judged"]
    assert quality["n"].sum() == len(y)
    np.testing.assert_allclose(quality.groupby("domain")["density"].sum(), 1)
    assert quality["rho"].is_monotonic_decreasing
    assert np.average(quality["rho"], weights=quality["n"]) == pytest.approx(1)
    assert model.penalties_.eta.mean() == pytest.approx(1)
    rows = quality.groupby("domain")["n"].sum()
    tried = [(1 / rows).sum() ** 0.4 * fraction for fraction in (1, 0.1, 0.01)]
    assert any(model.penalties_.lam == pytest.approx(lam) for lam in tried)
    for row in quality.itertuples():
        assert model.penalties_.rho[row.domain, row.stratum] == row.rho
    # Noise is in the target's own unit: good cells have σ = 0.3 (and the model's own error on top), bad strata 1.5.
    good = quality[(quality["domain"] != 1) & ~quality["stratum"].isin([1, 4])]
    assert 0.27 < good["noise"].median() < 0.5
    assert quality[quality["stratum"].isin([1, 4])]["noise"].median() == pytest.approx(1.5, rel=0.3)


def test_a_domain_and_a_stratum_of_a_single_row_are_no_error():
    X, y, domain, stratum = uneven(2)
    domain, stratum = domain.astype(object), stratum.astype(object)
    domain[0], stratum[1], domain[7], stratum[7] = "tiny", "rare", "lone", "lonely"
    y[0] += 500.0
    model = RPORegressor(steps=100, strength=1e-3).fit(X, y, domains=domain.astype(str), strata=stratum.astype(str))
    quality = model.quality_.set_index(["domain", "stratum"])
    assert np.isfinite(quality["rho"]).all()
    assert np.isfinite(model.penalties_.eta).all()
    for cell in [("tiny", str(stratum[0])), (str(domain[1]), "rare"), ("lone", "lonely")]:
        assert quality.loc[cell, "n"] == 1
        assert not quality.loc[cell, "judged"]
    # Borrowed from the pool: one row 500 off does not make its own cell 500 noisy.
    assert quality.loc[("tiny", str(stratum[0])), "noise"] < 100
    assert quality[quality["n"] >= MIN_ROWS]["judged"].all()


def test_strong_penalties_warn_of_collapse_and_calibrated_ones_do_not():
    X, y, domain, stratum = uneven(3)
    with pytest.warns(CollapseWarning, match=r"η·E\[y²\] = .* above 2"):
        RPORegressor(scheme="paper", steps=20).fit(X, y, domains=domain, strata=stratum)
    with pytest.warns(CollapseWarning):
        DomainRegressor("irm-lip", hyperparameters={"eta": 100.0}, steps=20).fit(X, y, domains=domain)
    RPORegressor(steps=20).fit(X, y, domains=domain, strata=stratum)
    # Nor where one domain has most of the target's variance; a strength that is asked for is kept, with a warning.
    y = y * np.where(domain == domain[0], 9.0, 1.0)
    RPORegressor(steps=20).fit(X, y, domains=domain, strata=stratum)
    with pytest.warns(CollapseWarning):
        RPORegressor(steps=20, strength=9.0).fit(X, y, domains=domain, strata=stratum)


def test_the_paper_to_the_letter_is_one_word_away():
    """scheme, sums, in-sample residuals: η* and ρ* are Proposition 1 of the printed statistics."""
    X, y, domain, stratum = uneven(4)
    with pytest.warns(CollapseWarning):
        model = RPORegressor(scheme="paper", steps=50).fit(X, y, domains=domain, strata=stratum)
    quality = model.quality_
    sigma = quality["noise"] / model.y_scale_
    np.testing.assert_allclose(quality["rho"], 4**-0.4 * (sigma / quality["density"]) ** 0.8, rtol=1e-6)
    for e, cells in quality.groupby("domain"):
        difficulty = (sigma[cells.index] / cells["density"]).pow(0.8).sum()
        assert model.penalties_.eta[e] == pytest.approx(cells["n"].sum() * 4**-1.4 / difficulty)


def test_classes_are_strata_only_on_demand(rng):
    X = rng.normal(size=(300, 3))
    y = np.array(["cat", "dog", "rat"])[(X[:, 0] > 0).astype(int) + (X[:, 0] > 1)]
    fits = {g: RPOClassifier(grouping=g).fit(X, y, domains=np.arange(300) % 3) for g in ("auto", "class")}
    assert set(fits["auto"].quality_["stratum"]) == {"all"}
    assert set(fits["class"].quality_["stratum"]) == {"cat", "dog", "rat"}
    for model in fits.values():
        assert model.score(X, y) > 0.9
        np.testing.assert_allclose(model.predict_proba(X).sum(1), 1)


@pytest.mark.filterwarnings("ignore::rpo.exceptions.CollapseWarning")
def test_a_value_given_replaces_the_schemes_own():
    X, y, domain, stratum = uneven(0, rows=40)

    def fit(**options):
        return RPORegressor(steps=20, hidden=(4,), **options).fit(X, y, domains=domain, strata=stratum).predict(X)

    usual = fit()
    for name, same, other in (
        ("reduction", "mean", "sum"),
        ("anneal", 0.25, 0.5),
        ("rescale", "divide", "none"),
        ("folds", 4, 2),
        ("density_exponent", -0.4, -0.8),
    ):
        np.testing.assert_array_equal(fit(**{name: same}), usual)
        if name not in ("anneal", "rescale"):  # these two act where η passes one
            assert not np.array_equal(fit(**{name: other}), usual)
    strong = fit(strength=100.0)
    assert not np.array_equal(fit(strength=100.0, anneal=0.5), strong)
    assert not np.array_equal(fit(strength=100.0, rescale="none"), strong)


def test_same_seed_same_model_and_weights_are_counts(rng):
    X, y, domain, stratum = uneven(5, rows=60)
    fit = lambda **o: RPORegressor(steps=60, **o).fit(X, y, domains=domain, strata=stratum)  # noqa: E731
    np.testing.assert_array_equal(fit().predict(X), fit().predict(X))
    assert not np.array_equal(fit().predict(X), fit(random_state=1).predict(X))
    twice = np.repeat(np.arange(len(y)), 1 + stratum % 2)
    counted = RPORegressor(steps=60).fit(X, y, 1 + stratum % 2, domains=domain, strata=stratum)
    repeated = RPORegressor(steps=60).fit(X[twice], y[twice], domains=domain[twice], strata=stratum[twice])
    np.testing.assert_allclose(counted.predict(X), repeated.predict(X), rtol=1e-6, atol=1e-7)
