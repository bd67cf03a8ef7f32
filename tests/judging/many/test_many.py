"""Sums against rows: the same noise from bins, no bias from lines of few rows, no row by models that saw it."""

import numpy as np
import pandas as pd
import pytest

from rpo._judging.evidence import estimate
from rpo._judging.levels import OwnLines, number_noise
from rpo._judging.noise_sums import number_noise_of, spent_on
from rpo._judging.ruler import Ruler
from rpo._judging.sums import Sums, added
from rpo._learners.crossfit import Expected, FoldModels, Problem
from rpo._learners.places import Ranks
from rpo._table import prepare


def _flat(n_domains, scale):
    """A ruler of models that say zero, and of lines that take nothing off."""

    class Zero:
        def predict(self, x):
            return np.zeros(len(x))

    models = FoldModels(np.arange(1), ([Zero()],), np.zeros((1, n_domains)), np.ones(1), 0)
    lines = OwnLines.empty(n_domains, 1)
    return Ruler(models, Ranks.of(np.zeros(1, np.uint64)), np.arange(1), n_domains, 1, scale, lines, None)


@pytest.mark.parametrize("tail", ["normal", "heavy"])
def test_bins_give_the_noise_that_rows_give(tail):
    rng = np.random.default_rng(0)
    domain = rng.integers(0, 4, 40_000)
    r = rng.normal(size=40_000) if tail == "normal" else rng.standard_t(2, size=40_000)
    r = r * np.array([1.0, 2.0, 1e-3, 1e4])[domain]
    x = rng.normal(size=(40_000, 1))
    problem = Problem(x, r, domain, 4, 0, np.ones(40_000))
    zero = np.zeros(40_000)
    noise, levels = number_noise(problem, Expected(zero, zero, np.ones(1)))
    ruler = _flat(4, np.array([1.3, 1.0, 2e-3, 7e3]))  # the sample's own noise is off by as much
    ruler.lines.coef[:], ruler.lines.intercept[:] = levels.lines.coef, levels.lines.intercept
    ruler.lines.centre[:] = levels.lines.centre
    ruler.lines.plain_bounds[:] = levels.lines.plain_bounds
    ruler.lines.used[:], ruler.lines.rows[:] = levels.lines.used, levels.lines.rows
    sums = Sums()
    for some in np.array_split(np.arange(40_000), 7):
        added(sums, ruler.measure(x[some], r[some], domain[some], np.zeros(len(some), np.intp)).sums)
    binned, all_levels, stratum = number_noise_of(sums, ruler.lines, levels)
    one, other = noise.table(domain, 4), binned.table(binned.domain, 4)
    assert other["n"].tolist() == one["n"].tolist()
    np.testing.assert_allclose(other["noise"], one["noise"], rtol=2e-4)
    np.testing.assert_allclose(other[["low", "high", "ratio"]], one[["low", "high", "ratio"]], rtol=2e-3)
    assert other["noisy"].tolist() == one["noisy"].tolist()
    np.testing.assert_allclose(all_levels.offset, levels.offset, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(all_levels.error, levels.error, rtol=2e-3)
    assert not stratum.any()


def test_lines_of_few_rows_leave_no_bias_in_the_noise():
    """Lines fitted to 30 of 600 rows: what is left of the others is corrected for what the lines miss."""
    rng = np.random.default_rng(1)
    ratio = []
    for _ in range(200):
        x, y = np.column_stack([np.ones(600), rng.normal(size=(600, 4))]), rng.normal(size=600)
        line = np.linalg.lstsq(x[:30], y[:30], rcond=None)[0]
        lines = OwnLines.empty(1, 4)
        lines.used[:], lines.rows[:] = 5.0, 30.0
        left = float(((y - x @ line) ** 2).sum())
        ratio.append(left / (600 * (1 - float(spent_on(lines, np.array([600.0]))[0]))))
    mean, error = np.mean(ratio), np.std(ratio) / np.sqrt(len(ratio))
    assert abs(mean - 1) < 4 * error + 0.02
    assert np.mean(ratio) * (1 - spent_on(lines, np.array([600.0]))[0]) > 1.1  # without it, far too large


def test_rows_of_the_sample_are_judged_by_models_that_did_not_see_them():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(600, 2)), columns=["a", "b"]).assign(site=np.arange(600) % 3)
    frame["y"] = frame["a"] + rng.normal(size=600)
    ready = prepare(frame, target="y", domain="site")
    seen = estimate(ready, estimator="trees", grouping="none", progress=False)
    ruler = Ruler.of(seen, 2)
    found = ruler.measure(ready.X, ready.y, seen.problem.domain, np.zeros(600, np.intp))
    np.testing.assert_allclose(found.value, seen.expected.value, rtol=1e-12)
    twice = np.repeat(np.arange(5), 2)  # a copy of a row is judged by the same models
    again = ruler.measure(ready.X[twice], ready.y[twice], seen.problem.domain[twice], np.zeros(10, np.intp))
    np.testing.assert_allclose(again.value, seen.expected.value[twice], rtol=1e-12)


def test_very_many_cells_have_coarser_bins():
    ruler = _flat(2_000, np.ones(2_000))
    assert ruler.octave == 32
    many = Ruler(ruler.models, ruler.ranks, ruler.kept, 2_000, 12, ruler.usual, ruler.lines, None)
    assert many.octave == 4
    few = np.zeros(10, np.intp)
    sums = many.measure(np.zeros((10, 1)), np.ones(10), few, few).sums
    assert sums["cell_count"].nbytes + sums["cell_square"].nbytes < 50e6


def test_nothing_at_all_left_of_rows_is_no_noise():
    ruler = _flat(2, np.ones(2))
    domain = np.arange(100) % 2
    sums = ruler.measure(np.zeros((100, 1)), np.zeros(100), domain, np.zeros(100, np.intp)).sums
    noise, *_ = number_noise_of(sums, ruler.lines, number_noise_levels())
    assert noise.table(noise.domain, 2)["noise"].tolist() == [0.0, 0.0]


def number_noise_levels():
    problem = Problem(np.zeros((20, 1)), np.zeros(20), np.arange(20) % 2, 2, 0, np.ones(20))
    return number_noise(problem, Expected(np.zeros(20), np.zeros(20), np.ones(1)))[1]
