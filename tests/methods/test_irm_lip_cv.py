"""IRM + lip with λ by held-out rows: a λ that is given is IRM + lip, and one that is chosen is the best of three."""

import pytest
import torch

from rpo.engine import Config, make_data, mlp, train
from rpo.engine.training import Preparation
from rpo.functional.penalties import optimal_lambda
from rpo.methods import get_method
from rpo.methods.irm_lip_cv import prepare
from rpo.methods.rpo import LAM_FRACTIONS

QUIET = {"progress": False, "dtype": torch.float64, "device": "cpu"}


def table(task="regression", n=240, seed=0):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 3, dtype=torch.float64, generator=g)
    signal = 2 * x[:, 0] - x[:, 1] + 0.2 * torch.randn(n, dtype=torch.float64, generator=g)
    return make_data(x, signal if task == "regression" else (signal > 0).double(), torch.arange(n) % 3, task=task)


def build():
    return mlp(3, 1, (8,))


@pytest.mark.parametrize("task", ["regression", "binary"])
def test_a_given_lambda_is_irm_lip_bit_for_bit(task):
    ours, plain = (
        train(name, build, table(task), seeds=[3], numbers={"eta": 3.0, "lam": 0.05}, config=Config(steps=40, **QUIET))
        for name in ("irm-lip-cv", "irm-lip")
    )
    assert torch.equal(ours.snapshot.flat, plain.snapshot.flat)


def chosen(data, **given):
    numbers, options = get_method("irm-lip-cv").fill(given)
    hp = {name: torch.full((1,), value, dtype=torch.float64) for name, value in numbers.items()}
    return float(prepare(Preparation(data, [0], hp, options, build, Config(steps=200, **QUIET)))["lam"])


def test_a_steep_smooth_truth_takes_the_smallest_and_no_folds_the_formula():
    data = table()
    formula = optimal_lambda(data.size(1)[0].numpy())
    assert chosen(data) == pytest.approx(min(LAM_FRACTIONS) * formula)
    assert chosen(data, folds=0) == pytest.approx(formula)


def test_rows_of_weight_zero_have_no_say():
    """Where the rows that count say nothing, more smoothness is better, whatever the others say."""
    data = table(n=480)
    counts = torch.arange(480) < 120
    y = torch.where(counts, torch.randn(480, dtype=torch.float64, generator=torch.Generator().manual_seed(1)), data.y)
    loud = make_data(data.x, y, data.domain, task="regression", weight=counts.double())
    few = make_data(data.x[:120], y[:120], data.domain[:120], task="regression")
    assert chosen(loud) == chosen(few)
