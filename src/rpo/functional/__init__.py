"""The mathematics of the paper as pure functions: losses, gradients, statistics, penalties."""

from rpo.functional.domains import domain_mean, domain_sum, mean_over_domains
from rpo.functional.lipirm import dummy_gradient, lipirm_loss, lipirm_terms, squared_dummy_gradient
from rpo.functional.losses import probability, sample_dummy_gradient, sample_loss, squared_residual
from rpo.functional.penalties import Penalties, optimal_lambda, optimal_penalties
from rpo.functional.ranks import sum_over_ranks
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
