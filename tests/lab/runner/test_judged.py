"""Rows judged: noisy cells count less, flagged features are gone, and the controls differ in the place alone."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rpo._judging import RULES
from rpo.engine import make_data
from rpo_lab.runner import judged as module
from rpo_lab.runner import problems
from rpo_lab.runner.judged import RATIO, bounded, judged, permuted
from rpo_lab.runner.problems import Problem, load, problem
from rpo_lab.runner.specification import DataSpec, Run, complete
from rpo_lab.runner.stacks import pack

NOISY = (1, 2)  # domain, stratum


def part(rows, seed):
    """Three domains by three strata; one cell is noisy; the last feature follows the target as its domain likes."""
    rng = np.random.default_rng([seed, rows])
    domain, stratum = np.arange(rows) % 3, np.arange(rows) // 3 % 3
    x = rng.normal(size=(rows, 3))
    y = x[:, 0] + rng.normal(size=rows) * np.where((domain == NOISY[0]) & (stratum == NOISY[1]), 5.0, 1.0)
    x = np.column_stack([x, np.array([1.0, 0.6, 0.3])[domain] * y + 0.2 * rng.normal(size=rows)])
    columns = [torch.from_numpy(column) for column in (x, y, domain, stratum)]
    return make_data(columns[0], columns[1], columns[2], task="regression", stratum=columns[3])


@pytest.fixture(scope="module")
def planted():
    return Problem(part(540, 0), part(90, 1), {"test": part(60, 2)})


@pytest.fixture(scope="module")
def weighted(planted):
    return judged(planted, "weights", seed=0)


def cells(data):
    """The weight of every cell, `(E, K)`; all rows of a cell weigh the same."""
    table = torch.zeros(data.n_domains, data.n_strata, dtype=torch.float64)
    table[data.domain, data.stratum] = data.weight
    assert torch.equal(table[data.domain, data.stratum], data.weight)
    return table.numpy()


def test_the_noisy_cell_counts_least_and_domains_count_as_before(planted, weighted):
    found = cells(weighted.train)
    assert np.unravel_index(found.argmin(), found.shape) == NOISY
    assert found[NOISY[0]].max() / found[NOISY] == pytest.approx(RATIO)
    torch.testing.assert_close(weighted.train.size(1), planted.train.size(1))


def test_the_flagged_feature_is_gone_from_all_rows_and_no_other(planted, weighted):
    for before, after in (
        (planted.train, weighted.train),
        (planted.validation, weighted.validation),
        (planted.tests["test"], weighted.tests["test"]),
    ):
        assert torch.equal(after.x[:, :3], before.x[:, :3])
        assert not after.x[:, 3].any()
        assert torch.equal(after.y, before.y)
    assert (weighted.validation.weight == 1).all()


def test_controls_rest_on_the_same_judgement(planted, weighted, monkeypatch):
    monkeypatch.setattr(module, "quality", None)  # nothing is judged a second time
    even, dealt = judged(planted, "uniform", seed=0), judged(planted, "permuted", seed=0)
    assert (even.train.weight == 1).all()
    assert torch.equal(even.train.x, weighted.train.x)
    own, other = cells(weighted.train), cells(dealt.train)
    for e in range(3):
        np.testing.assert_allclose(np.sort(other[e]), np.sort(own[e]))  # cells of one size
    places = {tuple(cells(judged(planted, "permuted", seed=seed).train)[1].round(6)) for seed in range(20)}
    assert len(places) > 2


def test_what_rows_weigh_already_is_a_factor_and_no_hint(planted, weighted, monkeypatch):
    monkeypatch.setattr(module, "quality", None)
    known = torch.linspace(0.5, 1.5, planted.train.n_rows, dtype=torch.float64)
    given = Problem(planted.train.with_weight(known), planted.validation, planted.tests)
    torch.testing.assert_close(judged(given, "weights", seed=0).train.weight, known * weighted.train.weight)


def test_a_run_on_judged_rows_is_another_run_and_others_keep_their_name():
    runs = [
        complete(Run(data=DataSpec(name="confounded", judged=how), method="erm-l2"))
        for how in (None, "weights", "permuted", "uniform")
    ]
    assert len({run.digest for run in runs}) == 4
    assert [run.data.judged for run in runs] == [None, "weights", "permuted", "uniform"]
    assert [run.data.rules for run in runs] == ["", *[str(RULES)] * 3]
    other = runs[1].model_copy(update={"data": runs[1].data.model_copy(update={"rules": "other"})})
    assert other.digest != runs[1].digest
    assert Run(data=DataSpec(name="confounded"), method="rpo", seed=1).digest == "b6fd3506bb9fbf39c67d"
    with pytest.raises(ValueError, match="judged"):
        DataSpec(name="confounded", judged="loosely")


def test_data_are_judged_where_a_run_asks_and_not_to_be_packed(planted, weighted, monkeypatch):
    @problem("planted")
    def planted_problem(*, seed: int = 0) -> Problem:
        return planted

    try:
        monkeypatch.setattr(module, "quality", None)
        assert load(DataSpec(name="planted"), seed=0).train is planted.train
        asked = load(DataSpec(name="planted", judged="weights"), seed=0).train
        assert torch.equal(asked.weight, weighted.train.weight)
        monkeypatch.setattr(module, "judged", None)
        data = [DataSpec(name="planted", judged=how) for how in ("weights", None)]
        stacks = pack([Run(data=one, method="erm-l2", seed=seed) for one in data for seed in range(2)])
        assert [[(run.seed, run.data.judged) for run in stack] for stack in stacks] == [
            [(0, None), (0, "weights"), (1, None), (1, "weights")]
        ]
    finally:
        del problems.PROBLEMS["planted"]
        problems._kept.clear()


@given(st.integers(1, 30).flatmap(lambda n: arrays(float, n, elements=st.floats(0.002, 1.0))), st.integers(1, 4))
def test_domains_keep_their_mass_and_no_row_counts_more_than_the_ratio_times_another(weight, n_domains):
    domain = np.arange(len(weight)) % n_domains
    found = bounded(weight, domain)
    for e in np.unique(domain):
        own = found[domain == e]
        assert own.mean() == pytest.approx(1)
        assert own.max() <= RATIO * own.min() * (1 + 1e-12)
        assert (np.diff(own[np.argsort(weight[domain == e])]) >= -1e-12).all()
    np.testing.assert_allclose(bounded(3 * weight, domain), found)


@given(st.integers(0, 100))
def test_permuted_weights_stay_in_their_domain(seed):
    domain = np.repeat([0, 1], 6)
    cell = np.arange(12) // 2
    weight = np.repeat([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 2)
    found = permuted(weight, domain, cell, seed)
    assert sorted(found[:6]) == sorted(weight[:6])
    assert sorted(found[6:]) == sorted(weight[6:])
    assert (found[::2] == found[1::2]).all()
