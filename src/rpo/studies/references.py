"""Predictors that are not trained: what a method must beat to have learned anything."""

from collections.abc import Callable

from torch import Tensor

from rpo.engine import Data
from rpo.functional.domains import domain_mean, mean_over_domains

Predictor = Callable[[Data], Callable[[Tensor], Tensor]]


def mean(train: Data) -> Callable[[Tensor], Tensor]:
    r"""f(x) = mean_e mean_{i ∈ e} y_i: the best constant for domains that count alike.

    >>> import torch
    >>> from rpo.engine import make_data
    >>> data = make_data(torch.zeros(3, 1), torch.tensor([1.0, 3.0, 6.0]), torch.tensor([0, 0, 1]), task="regression")
    >>> mean(data)(torch.zeros(2, 1))
    tensor([[4.],
            [4.]])
    """
    by_domain = domain_mean(train.y, train.domain, train.weight, train.n_domains)
    value = mean_over_domains(by_domain, train.size(1)[0])
    return lambda x: value.expand(len(x), 1)


REFERENCES: dict[str, Predictor] = {"mean": mean}
