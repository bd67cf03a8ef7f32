"""Closed forms against autograd and PyTorch's own losses."""

import pytest
import torch
from torch.nn import functional as F

from rpo.exceptions import InputError
from rpo.functional.losses import check_task, probability, sample_dummy_gradient, sample_loss, squared_residual

TASKS = ["regression", "binary", "multiclass"]


def example(task, n=40, classes=4):
    g = torch.Generator().manual_seed(3)
    output = 3 * torch.randn(n, classes if task == "multiclass" else 1, dtype=torch.float64, generator=g)
    if task == "regression":
        y = torch.randn(n, dtype=torch.float64, generator=g)
    else:
        y = torch.randint(0, classes if task == "multiclass" else 2, (n,), generator=g)
        y = y if task == "multiclass" else y.double()
    return output, y


@pytest.mark.parametrize("task", TASKS)
def test_dummy_gradient_is_the_derivative_at_w_one(task):
    output, y = example(task)
    for i in range(len(output)):
        w = torch.ones((), dtype=torch.float64, requires_grad=True)
        (slope,) = torch.autograd.grad(sample_loss(w * output[i : i + 1], y[i : i + 1], task).sum(), w)
        assert abs(slope - sample_dummy_gradient(output, y, task)[i]) < 1e-10


@pytest.mark.parametrize("task", TASKS)
def test_about_a_centre_it_is_the_derivative_of_the_stretch(task):
    output, y = example(task)
    centre = torch.linspace(-1, 2, output.shape[1], dtype=torch.float64)
    got = sample_dummy_gradient(output, y, task, centre)
    for i in range(len(output)):
        w = torch.ones((), dtype=torch.float64, requires_grad=True)
        stretched = centre + w * (output[i : i + 1] - centre)
        (slope,) = torch.autograd.grad(sample_loss(stretched, y[i : i + 1], task).sum(), w)
        assert abs(slope - got[i]) < 1e-10


def test_losses_are_those_of_pytorch():
    output, y = example("multiclass")
    torch.testing.assert_close(sample_loss(output, y, "multiclass"), F.cross_entropy(output, y, reduction="none"))
    output, y = example("binary")
    by_hand = -(y * torch.log(output[:, 0].sigmoid()) + (1 - y) * torch.log((-output[:, 0]).sigmoid()))
    torch.testing.assert_close(sample_loss(output, y, "binary"), by_hand)


def test_two_classes_have_the_same_residual_either_way():
    output, y = example("binary")
    as_two = torch.cat([torch.zeros_like(output), output], 1)
    one, two = squared_residual(output, y, "binary"), squared_residual(as_two, y.long(), "multiclass")
    torch.testing.assert_close(one, two)
    torch.testing.assert_close(one, (y - output[:, 0].sigmoid()) ** 2)


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_probabilities_sum_to_one_even_for_huge_logits(task):
    output, _ = example(task)
    p = probability(1e4 * output, task)
    assert torch.isfinite(p).all()
    torch.testing.assert_close(p.sum(1), torch.ones(len(p), dtype=p.dtype))


def test_unknown_task_names_the_known_ones():
    with pytest.raises(InputError, match="must be one of regression, binary, multiclass"):
        check_task("ranking")
