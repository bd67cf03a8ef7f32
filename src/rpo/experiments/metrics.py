"""What is measured of a trained model."""

from collections.abc import Mapping

import torch
from torch import Tensor

from rpo.engine import Data
from rpo.experiments.problems import Problem
from rpo.experiments.records import DIGITS, Measured
from rpo.functional.domains import domain_mean
from rpo.functional.lipirm import dummy_gradient
from rpo.functional.losses import sample_loss

# Whether a larger value of a metric is better.
LARGER_IS_BETTER = {"mse": False, "accuracy": True}


def measure(problem: Problem, validation: Tensor, tests: Mapping[str, Tensor]) -> Measured:
    """Validation risks and IRM penalties by training domain, test metrics by test domain, from outputs `(n, c)`."""
    data = problem.validation
    loss = sample_loss(validation, data.y, data.task)
    risk = domain_mean(loss, data.domain, data.weight, problem.train.n_domains)
    slope = dummy_gradient(validation, data.y, data.domain, data.weight, problem.train.n_domains, data.task)
    return Measured(
        validation_risk=risk.tolist(),
        validation_irm=slope.square().tolist(),
        test={name: metrics(output, problem.tests[name]) for name, output in tests.items()},
    )


def metrics(output: Tensor, data: Data) -> dict[str, float]:
    """Mean squared error, or accuracy.

    >>> from rpo.engine import make_data
    >>> data = make_data(torch.zeros(2, 1), torch.tensor([0.0, 1.0]), torch.tensor([0, 0]), task="regression")
    >>> metrics(torch.tensor([[1.0], [3.0]]), data)
    {'mse': 2.5}
    """
    if data.task == "regression":
        return {"mse": float((output[:, 0] - data.y).square().mean())}
    guess = (output[:, 0] > 0) if data.task == "binary" else output.argmax(1)
    return {"accuracy": float((guess == data.y).double().mean())}


def risk_of_domain(output: Tensor, data: Data, domain: int) -> float | None:
    """The mean loss over the rows of one domain; None if it is not a number."""
    loss = sample_loss(output, data.y, data.task)[data.domain == domain].mean()
    return float(f"{float(loss):.{DIGITS}g}") if bool(torch.isfinite(loss)) else None
