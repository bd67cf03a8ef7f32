"""The mathematics of the paper as pure functions: losses, gradients, statistics, penalties."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rpo.functional.domains import domain_mean, domain_sum, mean_over_domains, sum_over_ranks
    from rpo.functional.lipirm import dummy_gradient, lipirm_loss, lipirm_terms, squared_dummy_gradient
    from rpo.functional.losses import probability, sample_dummy_gradient, sample_loss, squared_residual
    from rpo.functional.penalties import Penalties, optimal_lambda, optimal_penalties
    from rpo.functional.slope import Sloped, output_and_slope
    from rpo.functional.statistics import borrow, cell_weight, r_hat, shrink, sigma

__all__ = [
    "Penalties",
    "Sloped",
    "borrow",
    "cell_weight",
    "domain_mean",
    "domain_sum",
    "dummy_gradient",
    "lipirm_loss",
    "lipirm_terms",
    "mean_over_domains",
    "optimal_lambda",
    "optimal_penalties",
    "output_and_slope",
    "probability",
    "r_hat",
    "sample_dummy_gradient",
    "sample_loss",
    "shrink",
    "sigma",
    "squared_dummy_gradient",
    "squared_residual",
    "sum_over_ranks",
]

_HOMES = {
    "Penalties": "penalties",
    "Sloped": "slope",
    "borrow": "statistics",
    "cell_weight": "statistics",
    "domain_mean": "domains",
    "domain_sum": "domains",
    "dummy_gradient": "lipirm",
    "lipirm_loss": "lipirm",
    "lipirm_terms": "lipirm",
    "mean_over_domains": "domains",
    "optimal_lambda": "penalties",
    "optimal_penalties": "penalties",
    "output_and_slope": "slope",
    "probability": "losses",
    "r_hat": "statistics",
    "sample_dummy_gradient": "losses",
    "sample_loss": "losses",
    "shrink": "statistics",
    "sigma": "statistics",
    "squared_dummy_gradient": "lipirm",
    "squared_residual": "losses",
    "sum_over_ranks": "domains",
}


def __getattr__(name: str) -> Any:
    """Import on first use: half of this needs no torch."""
    if name in _HOMES:
        return getattr(import_module(f"rpo.functional.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'rpo.functional' has no attribute {name!r}")
