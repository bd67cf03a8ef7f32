"""Networks that `lipirm_loss` cannot take, and rows that it cannot."""

import pytest
import torch
from torch import nn

from rpo.exceptions import InputError
from rpo.functional.lipirm import lipirm_loss

pytestmark = pytest.mark.usefixtures("seeded")


def loss(layer=None, y=None, domain=None, eta=1.0):
    model = nn.Sequential(nn.Linear(3, 4), layer or nn.ReLU(), nn.Linear(4, 1))
    x = torch.randn(6, 3)
    y = torch.zeros(6) if y is None else y
    domain = torch.tensor([0, 0, 0, 1, 1, 1]) if domain is None else domain
    return lipirm_loss(model, x, y, domain, eta=eta, rho=1.0, lam=0.1, task="regression")


@pytest.mark.parametrize(
    "given, said",
    [
        ({"layer": nn.BatchNorm1d(4)}, "layer '1' is a BatchNorm1d, which mixes or tracks samples: use GroupNorm"),
        ({"layer": nn.Dropout(0.5)}, "layer '1' is a Dropout, whose draws break determinism"),
        ({"y": torch.zeros(6, 1)}, r"y must have one target per row, got shape \(6, 1\): use y.squeeze\(1\)"),
        ({"domain": torch.tensor([1, 1, 1, 2, 2, 2]), "eta": torch.ones(2)}, "from 1 to 2, and there are 2 domains"),
        ({"domain": torch.tensor([-1, 0, 0, 1, 1, 1])}, "numbers from -1 to 1"),
        ({"domain": torch.zeros(6)}, r"domain must have one integer per row, got torch.float32 of shape \(6,\)"),
        ({"domain": torch.zeros(6, 1, dtype=torch.long)}, r"got torch.int64 of shape \(6, 1\)"),
    ],
)
def test_errors_are_one_line_as_the_estimators_have_them(given, said):
    with pytest.raises(InputError, match=said) as caught:
        loss(**given)
    assert "\n" not in str(caught.value)


def test_a_domain_may_be_absent_from_a_batch():
    absent = loss(domain=torch.tensor([1, 1, 1, 2, 2, 2]))
    torch.testing.assert_close(absent.isfinite(), torch.tensor(True))
    assert bool(loss(domain=torch.tensor([0, 0, 0, 2, 2, 2]), eta=torch.ones(3)).isfinite())
