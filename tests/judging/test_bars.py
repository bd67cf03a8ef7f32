"""What the judgement must not say of ordinary tables, and must say of bad ones.

Fast tests look at a few tables of each kind; the slow ones count two hundred, on seeds that chose no rule.
"""

import numpy as np
import pytest
from made import TRUTHS, labels, numbers

from rpo.judging import quality

FRESH = 1000  # seeds from here on were never looked at while rules were chosen
LABELS = {
    "alike": {},
    "intercepts": {"intercept": 1.5},
    "three classes": {"classes": 3},
    "three classes, intercepts": {"classes": 3, "intercept": 1.5},
}


def judged(x, y, domain, **options):
    return quality(x, y, domains=domain, verbose=False, **options)


def claims(found):
    return bool(found.domains["noisy"].any() or found.strata["noisy"].any())


def first(found):
    return found.domains["domain"][0] if found.domains["noisy"][0] else None


@pytest.mark.parametrize("truth", TRUTHS)
def test_nothing_is_noisier_where_noise_is_the_same(truth):
    found = judged(*numbers(truth, seed=0)[:3])
    assert not claims(found)
    assert (found.weight == 1).all()
    assert not found.features["suspicious"].any()


@pytest.mark.parametrize("kind", LABELS)
def test_prevalence_is_no_noise(kind):
    found = judged(*labels(seed=2, **LABELS[kind]), task="classification")
    assert not claims(found)
    assert (found.weight == 1).all()


@pytest.mark.parametrize("truth", ["exp", "interaction"])
def test_a_domain_of_twice_the_noise_is_named_first(truth):
    found = judged(*numbers(truth, seed=3, domains=8, rows=150, bad=5)[:3])
    assert first(found) == "5"
    assert found.domains["domain"][found.domains["noisy"]].tolist() == ["5"]
    assert found.domains["weight"][0] < 0.5


def test_turned_labels_are_named_first():
    found = judged(*labels(seed=4, domains=8, rows=300, prevalence=0.4, bad=2), task="classification")
    assert first(found) == "2"
    assert found.domains["low"][0] < 0.4 < found.domains["high"][0] + 0.1


def test_a_level_is_an_offset_and_no_noise():
    x, y, domain, level = numbers("square", seed=5, domains=6, rows=120, offset=1.0)
    found = judged(x, y, domain)
    assert not claims(found)
    assert found.domains["shifted"].sum() >= 5
    offset = found.domains.set_index("domain")["offset"].loc[[str(e) for e in range(6)]].to_numpy()
    np.testing.assert_allclose(offset - offset.mean(), level - level.mean(), atol=0.15)


def _share(kind, number, bad=False):
    hits = 0
    for seed in range(FRESH, FRESH + number):
        if kind in TRUTHS:
            made = numbers(kind, seed, domains=8, rows=150, bad=seed % 8)[:3] if bad else numbers(kind, seed)[:3]
            found = judged(*made)
        else:
            options = dict(LABELS[kind])
            if bad:
                options |= {"domains": 8, "rows": 300, "bad": seed % 8, "steep": 2.5, "prevalence": 0.4}
            found = judged(*labels(seed, **options), task="classification")
        hits += first(found) == str(seed % 8) if bad else claims(found)
    return hits / number


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*TRUTHS, *LABELS])
def test_two_hundred_null_tables(kind):
    assert _share(kind, 200) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*TRUTHS, "alike", "three classes"])
def test_planted_noise_is_named_first(kind):
    assert _share(kind, 60, bad=True) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("truth", TRUTHS)
def test_planted_offsets_are_found(truth):
    planted, found = 0, 0
    for seed in range(FRESH, FRESH + 40):
        x, y, domain, level = numbers(truth, seed, offset=0.3)
        table = judged(x, y, domain).domains.set_index("domain")
        count = np.bincount(domain)
        centre = np.average(level, weights=count)
        large = np.abs(level - centre) > 4 * 0.3 / np.sqrt(count)
        planted += int(large.sum())
        found += int(table["shifted"].loc[[str(e) for e in np.flatnonzero(large)]].sum())
    assert found >= 0.9 * planted


@pytest.mark.slow
def test_two_bad_cells_in_forty():
    areas = []
    for seed in range(FRESH, FRESH + 40):
        rng = np.random.default_rng(seed)
        x, y, domain, _ = numbers("square", seed, domains=8, rows=200)
        stratum = rng.integers(0, 5, len(y))
        bad = rng.choice(40, 2, replace=False)
        hit = np.isin(domain * 5 + stratum, bad)
        y = y + np.where(hit, 0.6 * rng.normal(size=len(y)), 0.0)
        cells = judged(x, y, domain, strata=stratum).cells
        place = cells["domain"].astype(int) * 5 + cells["stratum"].str.rsplit(n=1).str[-1].astype(int)
        is_bad, ratio = np.isin(place, bad), cells["ratio"].to_numpy()
        areas.append(np.mean(ratio[is_bad][:, None] > ratio[~is_bad][None]))
    assert np.mean(areas) >= 0.9
