"""What is planted is where it should be, and nowhere else."""

import numpy as np
import pandas as pd
import pytest

from rpo._table import prepare
from rpo.exceptions import InputError
from rpo_lab.real.planting import CONFOUNDER_NOISE, DEVIATIONS, SETTINGS, SLOPES, WRONG, plant, quarters


def table(task, rows=40, domains=20):
    rng = np.random.default_rng(0)
    n = rows * domains
    frame = pd.DataFrame({"x": rng.normal(size=n), "flag": rng.integers(0, 2, n)})
    frame["y"] = frame["x"] if task == "regression" else np.where(frame["x"] > 0, "a", "b")
    frame["site"] = np.repeat([f"s{i:02}" for i in range(domains)], rows)
    return prepare(frame, target="y", domain="site", task=task)


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("name", list(SETTINGS))
def test_rows_that_are_not_hit_stay_as_they_are(name, task):
    ready = table(task)
    made = plant(name, ready, 30, np.random.default_rng(1))
    clean = ready.y[made.kept]
    assert np.array_equal(made.y[~made.bad], clean[~made.bad])
    assert (made.y[made.bad] != clean[made.bad]).all()
    assert not made.bad[made.noise == 0].any()
    assert len(made.y) == len(made.noise) == len(made.kept)
    assert (made.column is not None) == (name == "confounder")


@pytest.mark.parametrize("percent", [10, 30, 50])
def test_that_share_of_the_domains_is_noisy_throughout(percent):
    ready = table("regression")
    made = plant(f"domains-{percent}", ready, 0, np.random.default_rng(2))
    by_domain = pd.Series(made.bad).groupby(ready.domains).mean()
    assert sorted(by_domain.unique()) == [0.0, 1.0]
    assert by_domain.sum() == np.ceil(percent / 100 * 20)
    added = (made.y - ready.y)[made.bad].astype(float)
    assert added.std() == pytest.approx(DEVIATIONS * ready.y.std(), rel=0.2)
    assert np.unique(made.noise[made.bad]) == pytest.approx((DEVIATIONS * ready.y.std()) ** 2)


def test_labels_are_turned_in_bad_domains():
    ready = table("classification", rows=200)
    made = plant("domains-30", ready, 0, np.random.default_rng(3))
    assert made.bad[made.noise > 0].mean() == pytest.approx(WRONG, abs=0.05)
    assert set(np.unique(made.noise)) == {0.0, WRONG}


def test_cells_are_quarters_of_a_column_within_domains():
    ready = table("regression")
    made = plant("cells-30", ready, 0, np.random.default_rng(4))
    stratum = quarters(ready, np.random.default_rng(4))
    by_cell = pd.Series(made.bad).groupby([ready.domains, stratum]).mean()
    assert set(by_cell.unique()) == {0.0, 1.0}
    assert by_cell.sum() == round(0.3 * 20 * 4)
    assert by_cell.groupby(level=0).mean().max() < 1  # every domain keeps a good one


def test_a_table_of_flags_has_two_strata_and_one_of_a_constant_one():
    ready = table("regression")
    rng = np.random.default_rng(0)
    flags = prepare(ready.frame[["flag", "y", "site"]], target="y", domain="site", task="regression")
    assert len(np.unique(quarters(flags, rng))) == 2


def test_a_third_of_the_domains_keeps_a_tenth_of_its_rows():
    ready = table("regression")
    made = plant("scarce", ready, 0, np.random.default_rng(5))
    count = pd.Series(ready.domains[made.kept]).value_counts()
    assert sorted(count.unique()) == [4, 40]
    assert (count == 4).sum() == 7
    assert (np.diff(made.kept) > 0).all()


def test_the_confounder_follows_the_target_by_domain_and_not_elsewhere():
    ready = table("regression", rows=400)
    made = plant("confounder", ready, 500, np.random.default_rng(6))
    y = (ready.y - ready.y.mean()) / ready.y.std()
    lines = [np.polyfit(y[rows], made.column[rows], 1) for rows in _domains(ready)]
    nearest = [min(SLOPES, key=lambda slope: abs(slope - line[0])) for line in lines]
    assert np.abs(np.array(lines)[:, 0] - nearest).max() < 0.1
    assert set(nearest) == set(SLOPES)
    left = [made.column[rows] - np.polyval(line, y[rows]) for line, rows in zip(lines, _domains(ready), strict=True)]
    assert np.concatenate(left).std() == pytest.approx(CONFOUNDER_NOISE, rel=0.1)
    assert len(made.elsewhere) == 500
    assert made.elsewhere.std() == pytest.approx(made.column.std(), rel=0.1)


def _domains(ready):
    return [ready.domains == name for name in np.unique(ready.domains)]


def test_an_unknown_setting_is_named():
    with pytest.raises(InputError, match="unknown setting 'domains-20'"):
        plant("domains-20", table("regression"), 0, np.random.default_rng(0))
