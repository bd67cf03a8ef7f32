"""Runs without the engine: the mean, and learners of other libraries, computed together for all runs of the same data.

Their methods are named `family:learner`; the module of a family is imported when used. It has `work`, and `versions` of
the packages that its results depend on besides this one.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from torch import Tensor

from rpo.engine import Data
from rpo.functional.domains import domain_mean, mean_over_domains
from rpo_lab.runner.store import Measured

FAMILIES = {"real": "rpo_lab.real.learners"}

# What was measured, or why nothing was, and CPU seconds.
Outcome = tuple[Measured | str, float]
Predictor = Callable[[Data], Callable[[Tensor], Tensor]]


def is_outside(method: str) -> bool:
    """Return whether a run of that method is done by another library.

    >>> is_outside("real:ridge"), is_outside("erm-l2")
    (True, False)
    """
    return method.partition(":")[0] in FAMILIES


def family_of(method: str) -> Any:
    """Import the module that does runs of that method.

    Its `work` takes runs of one data set and seed, and raises only what is no run's fault; its `versions` are what
    results depend on besides this package.
    """
    return import_module(FAMILIES[method.partition(":")[0]])


def mean(train: Data) -> Callable[[Tensor], Tensor]:
    r"""Return f(x) = mean_e mean_{i ∈ e} y_i, the best constant for domains of equal weight.

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
