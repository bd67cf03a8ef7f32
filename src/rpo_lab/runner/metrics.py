"""Metrics of a trained model."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from rpo.engine import Data
from rpo.functional.domains import domain_mean
from rpo.functional.lipirm import dummy_gradient
from rpo.functional.losses import probability, sample_loss
from rpo_lab.runner.problems import Problem
from rpo_lab.runner.store import DIGITS, Measured


@dataclass(frozen=True)
class Metric:
    """How a metric is read: its name in a sentence, whether larger is better, and the decimals worth showing."""

    words: str
    larger_is_better: bool
    digits: int

    def text(self, value: float) -> str:
        """Write the value as it is shown.

        >>> METRICS["auc"].text(2 / 3), METRICS["mse"].text(12.3456), METRICS["mse"].text(0.45678)
        ('0.667', '12.35', '0.457')
        """
        return f"{value:.{decimals(value, self.digits)}f}"


def decimals(value: float, digits: int) -> int:
    """Return how many decimals to show: the usual, and below one never fewer than three.

    >>> decimals(12.3456, 2), decimals(0.45678, 2)
    (2, 3)
    """
    return max(digits, 3) if abs(value) < 1 else digits


METRICS = {
    "mse": Metric("MSE", larger_is_better=False, digits=2),
    "accuracy": Metric("accuracy", larger_is_better=True, digits=3),
    "auc": Metric("AUC", larger_is_better=True, digits=3),
    "brier": Metric("Brier score", larger_is_better=False, digits=3),
}


def measure(problem: Problem, validation: Tensor, tests: Mapping[str, Tensor]) -> Measured:
    """Compute validation risks and IRM penalties by domain, and metrics by test domain, from outputs `(n, c)`."""
    data = problem.validation
    loss = sample_loss(validation, data.y, data.task)
    risk = domain_mean(loss, data.domain, data.weight, problem.train.n_domains)
    slope = dummy_gradient(validation, data.y, data.domain, data.weight, problem.train.n_domains, data.task)
    return Measured(
        validation_risk=risk.tolist(),
        validation_irm=slope.square().tolist(),
        test={name: _in_unit(metrics(output, problem.tests[name]), problem.unit) for name, output in tests.items()},
    )


def _in_unit(values: dict[str, float], unit: float) -> dict[str, float]:
    return {name: value * unit**2 if name == "mse" else value for name, value in values.items()}


def metrics(output: Tensor, data: Data) -> dict[str, float]:
    """Mean squared error; or accuracy, Brier's score and, for two classes that are both there, the area under the ROC
    curve.

    >>> from rpo.engine import make_data
    >>> data = make_data(torch.zeros(2, 1), torch.tensor([0.0, 1.0]), torch.tensor([0, 0]), task="regression")
    >>> metrics(torch.tensor([[1.0], [3.0]]), data)
    {'mse': 2.5}
    """
    if data.task == "regression":
        return {"mse": float((output[:, 0] - data.y).square().mean())}
    guess = (output[:, 0] > 0) if data.task == "binary" else output.argmax(1)
    chance = probability(output, data.task).double()
    wrong = chance - one_hot(data.y.long(), chance.shape[1])
    values = {
        "accuracy": float((guess == data.y).double().mean()),
        "brier": float(wrong.square().sum(1).mean()) / 2,
    }
    if data.task == "binary" and 0 < float(data.y.sum()) < len(data.y):
        values["auc"] = area_under_roc(output[:, 0], data.y)
    return values


def area_under_roc(score: Tensor, y: Tensor) -> float:
    r"""Compute the area under the ROC curve by ranks; `y` is 0 or 1.

    It is P(score of a positive > score of a negative) + ½ P(equal).

    >>> area_under_roc(torch.tensor([0.1, 0.4, 0.4, 0.8]), torch.tensor([0.0, 0.0, 1.0, 1.0]))
    0.875
    """
    _, place, count = torch.unique(score, return_inverse=True, return_counts=True)
    last = count.cumsum(0).double()
    rank = (last - (count - 1) / 2)[place]  # the mean rank of equal scores
    positive = y > 0.5
    n = int(positive.sum())
    return float((rank[positive].sum() - n * (n + 1) / 2) / (n * (len(y) - n)))


def risk_of_domain(output: Tensor, data: Data, domain: int) -> float | None:
    """Return the mean loss over the rows of one domain; None if it is not a number."""
    loss = sample_loss(output, data.y, data.task)[data.domain == domain].mean()
    return float(f"{float(loss):.{DIGITS}g}") if bool(torch.isfinite(loss)) else None
