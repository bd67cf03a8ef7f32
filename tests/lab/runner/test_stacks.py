import math
from collections import OrderedDict

import numpy as np
import pytest
import torch

from rpo.engine import make_data
from rpo_lab.runner import stacks
from rpo_lab.runner.metrics import area_under_roc, measure, metrics, risk_of_domain
from rpo_lab.runner.problems import Problem, load
from rpo_lab.runner.specification import DataSpec, Run, Training, complete
from rpo_lab.runner.stacks import pack, run_stack


def test_packing_keeps_every_run_once_and_kinds_apart(small):
    runs = small.study(leave_one_out=True).runs()
    for width in (None, 1, 3):
        stacks = pack(runs, width)
        assert sorted(run.digest for stack in stacks for run in stack) == sorted(run.digest for run in runs)
        for stack in stacks:
            assert len({(run.method, str(run.options), run.training) for run in stack}) == 1
            assert width is None or len(stack) <= width
    assert pack(runs) == pack(runs)


def test_data_of_two_shapes_are_never_one_stack():
    every = [DataSpec(name="confounded", options={"columns": c}) for c in ("all", "causal")]
    stacks = pack([Run(data=data, method="erm-l2", seed=s) for s in range(2) for data in every])
    assert [len({run.data.options["columns"] for run in stack}) for stack in stacks] == [1, 1]


def test_the_mean_predictor_by_hand():
    run = Run(data=DataSpec(name="confounded"), method="mean", leave_one_out=True)
    (record,) = run_stack([run])
    problem = load(run.data, 0)
    means = [float(problem.train.y[problem.train.domain == e].mean()) for e in range(3)]
    truth = problem.tests["test"].y.numpy()
    assert record.measured.test["test"]["mse"] == pytest.approx(np.mean((truth - np.mean(means)) ** 2), rel=1e-5)
    left = problem.train.y[problem.train.domain == 2].numpy()
    expected = np.mean((left - np.mean(means[:2])) ** 2)
    assert record.measured.left_out_risk[2] == pytest.approx(expected, rel=1e-5)


def test_left_out_models_never_see_the_domain():
    """Rows of a domain that are nonsense change every score but that of the model trained without it."""
    from dataclasses import replace

    from rpo_lab.runner import problems

    run = Run(data=DataSpec(name="confounded"), method="erm-l2", numbers={"c": 1e-3}, leave_one_out=True)
    run = run.model_copy(update={"training": run.training.model_copy(update={"steps": 5})})
    (before,) = run_stack([run])

    @problems.problem("muddled")
    def muddled(seed=0):
        real = load(run.data, seed)
        x = torch.where((real.train.domain == 1)[:, None], 100.0, real.train.x)
        return Problem(replace(real.train, x=x), real.validation, real.tests)

    try:
        (after,) = run_stack([run.model_copy(update={"data": DataSpec(name="muddled")})])
        # The score itself is taken on the muddled rows; the others' models were trained on them.
        assert after.measured.left_out_risk[0] != before.measured.left_out_risk[0]
        assert after.measured.validation_risk != before.measured.validation_risk

        @problems.problem("muddled labels")
        def labels(seed=0):
            real = load(run.data, seed)
            y = torch.where(real.train.domain == 1, real.train.y + 7, real.train.y)
            return Problem(replace(real.train, y=y), real.validation, real.tests)

        (shifted,) = run_stack([run.model_copy(update={"data": DataSpec(name="muddled labels")})])
        real = load(run.data, 0).train
        assert shifted.measured.left_out_risk[1] != before.measured.left_out_risk[1]
        # (f − y − 7)² − (f − y)² = 49 − 14 (f − y), so the same f gives the mean residual twice over.
        rise = shifted.measured.left_out_risk[1] - before.measured.left_out_risk[1]
        residual = (49 - rise) / 14
        assert abs(residual) < np.sqrt(before.measured.left_out_risk[1]) + 1e-6
        assert len(real.y) > 0
    finally:
        for name in ("muddled", "muddled labels"):
            problems.PROBLEMS.pop(name, None)


def test_measures_by_hand():
    train = make_data(torch.zeros(2, 1), torch.zeros(2), torch.tensor([0, 1]), task="regression")
    valid = make_data(torch.zeros(3, 1), torch.tensor([0.0, 1.0, 2.0]), torch.tensor([0, 0, 1]), task="regression")
    found = measure(Problem(train, valid, {"a": valid, "b": train}), torch.ones(3, 1), {"a": torch.ones(3, 1)})
    assert found.validation_risk == [0.5, 1.0]
    # d/dw of mean (w − y)² at one: 2 mean (1 − y), squared.
    assert found.validation_irm == [1.0, 4.0]
    assert found.test == {"a": {"mse": 0.666667}}
    assert risk_of_domain(torch.full((3, 1), torch.nan), valid, 0) is None


def test_accuracy_of_classes():
    y = torch.tensor([0.0, 1.0, 1.0])
    binary = make_data(torch.zeros(3, 1), y, torch.zeros(3, dtype=torch.long), task="binary")
    found = metrics(torch.tensor([[-1.0], [1.0], [-1.0]]), binary)
    sure = 1 / (1 + math.exp(-1))  # of the second class at output 1
    brier = pytest.approx((2 * (1 - sure) ** 2 + sure**2) / 3, rel=1e-6)
    assert found == {"accuracy": pytest.approx(2 / 3), "brier": brier, "auc": 0.75}
    one_class = make_data(torch.zeros(3, 1), torch.ones(3), torch.zeros(3, dtype=torch.long), task="binary")
    found = metrics(torch.tensor([[-1.0], [1.0], [-1.0]]), one_class)
    assert found == {"accuracy": pytest.approx(1 / 3), "brier": pytest.approx((2 * sure**2 + (1 - sure) ** 2) / 3)}
    several = make_data(torch.zeros(3, 1), y.long(), torch.zeros(3, dtype=torch.long), task="multiclass")
    found = metrics(torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), several)
    assert found == {"accuracy": 1.0, "brier": pytest.approx((1 - sure) ** 2, rel=1e-6)}


def test_the_area_under_the_curve_is_scikit_learns(rng):
    from sklearn.metrics import roc_auc_score

    y = (rng.random(500) < 0.3).astype(float)
    for score in (rng.normal(size=500) + y, rng.integers(0, 4, 500).astype(float)):  # the second has many ties
        assert area_under_roc(torch.tensor(score), torch.tensor(y)) == pytest.approx(roc_auc_score(y, score), abs=1e-12)


def digits(method, seed=0, setting=1, **numbers):
    """A run on the small digits that trains alone, in single precision, for a few steps."""
    training = Training(hidden=(8,), steps=6, batch_size=16, dtype="float32")
    data = DataSpec(name="colored", options={"setting": setting, "digits": "sklearn"})
    return complete(Run(data=data, method=method, numbers=numbers, seed=seed, training=training))


def test_methods_with_the_same_first_stage_train_it_once(monkeypatch):
    """RPO alone and RPO after RPO-Pen give the same figures; the second took its first stage from the other."""
    kept = OrderedDict()
    monkeypatch.setattr(stacks, "_kept", kept)
    (alone,) = run_stack([digits("rpo", strength=10.0)])
    kept.clear()
    run_stack([digits("rpo-pen", strength=3.0)])
    assert len(kept) == 1
    (after,) = run_stack([digits("rpo", strength=10.0)])
    assert len(kept) == 1
    assert after.measured == alone.measured
    # Another seed, other data, another λ: another first stage.
    for other in (digits("rpo", seed=1), digits("rpo", setting=2), digits("rpo", lam=0.5)):
        run_stack([other])
    assert len(kept) == 4
    # HAR's own strength of smoothness is not the weight decay of its first stage.
    for c in (0.1, 10.0):
        run_stack([digits("har", c=c)])
    assert len(kept) == 5


def test_a_prediction_that_looks_at_its_rows_sees_one_domain_of_one_model():
    """MTL in a stack of sets of unequal size gives what it gives alone: no padding, no other domain in its mean."""
    runs = [digits("mtl", setting=s, seed=s) for s in (1, 7)]
    runs = [run.model_copy(update={"training": run.training.model_copy(update={"dtype": "float64"})}) for run in runs]
    sizes = {load(run.data, run.seed).train.n_rows for run in runs}
    assert len(sizes) == 2
    stacked = run_stack(runs)
    for run, record in zip(runs, stacked, strict=True):
        assert run_stack([run])[0].measured == record.measured


def test_large_sets_train_alone_seed_by_seed(monkeypatch):
    monkeypatch.setattr("rpo_lab.runner.stacks.STACK_ROWS", 100)
    runs = [digits(method, seed, setting) for method in ("erm-l2", "sd") for setting in (1, 2) for seed in (0, 1)]
    packed = [(run.seed, run.data.options["setting"], run.method) for (run,) in pack(runs)]
    assert packed == sorted(packed)


def test_problems_are_kept_up_to_a_size(monkeypatch):
    from rpo_lab.runner import problems

    monkeypatch.setattr(problems, "_kept", OrderedDict())
    specs = [DataSpec(name="colored", options={"setting": s, "digits": "sklearn"}) for s in range(1, 15)]
    one = load(specs[0], 0)
    assert load(specs[0], 0) is one
    monkeypatch.setattr(problems, "KEPT_BYTES", int(2.5 * one.bytes))
    for spec in specs:
        load(spec, 0)
    assert len(problems._kept) == 2
    assert load(specs[-1], 0) is problems._kept[next(reversed(problems._kept))]
