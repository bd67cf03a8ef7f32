"""RPO as scikit-learn estimators: `RPORegressor` and `RPOClassifier`."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

from sklearn.base import ClassifierMixin, RegressorMixin
from torch import nn

from rpo._io import Grouping
from rpo._networks.base import DomainEstimator
from rpo._networks.targets import ClassifierTarget, RegressorTarget
from rpo._public import public
from rpo.engine.config import HIDDEN, STEPS
from rpo.exceptions import InputError
from rpo.methods import Method, get_method

SCHEMES = ("calibrated", "paper")


class _RPO(DomainEstimator):
    """Constructor shared by both estimators."""

    # The calibrated η for `strength` one.
    _unit: ClassVar[float] = 1.0

    def __init__(
        self,
        *,
        scheme: Literal["calibrated", "paper"] = "calibrated",
        strength: float = 1.0,
        lam: float | None = None,
        density_exponent: float | None = None,
        reduction: Literal["mean", "sum"] | None = None,
        irm_estimator: Literal["square", "split"] = "square",
        anneal: float | None = None,
        rescale: Literal["divide", "reset", "none"] | None = None,
        folds: int | None = None,
        grouping: Grouping = "auto",
        n_strata: int | None = None,
        hidden: Sequence[int] = HIDDEN,
        module: nn.Module | Callable[..., nn.Module] | None = None,
        steps: int = STEPS,
        batch_size: int | Literal["auto"] | None = "auto",
        learning_rate: float | None = None,
        schedule: Literal["cosine", "constant"] = "cosine",
        accumulate: int = 1,
        standardize: bool = True,
        random_state: int | None = 0,
        dtype: Literal["auto", "float32", "float64", "bfloat16"] = "auto",
        device: str = "auto",
        compile: bool = False,
        verbose: bool | Literal["auto"] = "auto",
    ) -> None:
        self.scheme = scheme
        self.strength = strength
        self.lam = lam
        self.density_exponent = density_exponent
        self.reduction = reduction
        self.irm_estimator = irm_estimator
        self.anneal = anneal
        self.rescale = rescale
        self.folds = folds
        self.grouping = grouping
        self.n_strata = n_strata
        self.hidden = hidden
        self.module = module
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.accumulate = accumulate
        self.standardize = standardize
        self.random_state = random_state
        self.dtype = dtype
        self.device = device
        self.compile = compile
        self.verbose = verbose

    def _method(self) -> tuple[Method, dict[str, Any]]:
        if self.scheme not in SCHEMES:
            raise InputError(f"scheme must be one of {', '.join(SCHEMES)}, got {self.scheme!r}")
        values = {
            "scheme": self.scheme,
            "strength": self.strength * (self._unit if self.scheme == "calibrated" else 1.0),
            "lam": self.lam,
            "density_exponent": self.density_exponent,
            "reduction": self.reduction,
            "irm_estimator": self.irm_estimator,
            "anneal": self.anneal,
            "rescale": self.rescale,
            "folds": self.folds,
        }
        return get_method("rpo"), {name: value for name, value in values.items() if value is not None}


@public
class RPORegressor(RegressorTarget, RegressorMixin, _RPO):  # type: ignore[misc]
    r"""Regression by RPO: Σ_e R_e + Σ_e η_e G_e² + λ Σ_e mean_i ρ_i ‖∇f(x_i)‖², η_e and ρ_i by the data's quality.

    A first training estimates the noise of each cell (a stratum within a domain). In a second training, domains of poor
    quality get a small η_e, and rows of noisy or scarce cells a large ρ_i (Algorithm 1 of the paper).

    Parameters
    ----------
    scheme : {"calibrated", "paper"}
        Algorithm 1 with calibrated penalties, or to the letter. The scheme sets every parameter below that is None:
        "calibrated" uses means, cross-fits the noise in four folds, shrinks it, and scales η and ρ to mean one;
        "paper" uses sums, the residuals of the training rows, and Proposition 1 as printed.
    strength : float
        A factor for all η_e.
    lam : float or None
        λ. None means (Σ_e 1/N_e)^(2/5) or, with folds and unless the scheme is "paper", the best of that, a tenth and
        a hundredth of it.
    density_exponent : float or None
        The exponent of the density in ρ: −0.4 ("calibrated") or −0.8 ("paper").
    reduction : {"mean", "sum"} or None
        Means (Eq. 1, "calibrated") or sums over rows (Eq. 4, "paper").
    irm_estimator : {"square", "split"}
        The square of the dummy gradient, or the unbiased product of two halves of the batch.
    anneal : float or None
        The share of the training steps with η ≤ 1: a quarter ("calibrated") or none ("paper").
    rescale : {"divide", "reset", "none"} or None
        Then divide the loss by the mean of η ("calibrated"), reset Adam's moments, or do nothing ("paper").
    folds : int or None
        Folds for cross-fitting the noise: four ("calibrated"), or 0 for the residuals of the training rows ("paper").
    grouping : {"auto", "search", "class", "none"}
        How strata are found if none are passed to `fit`: a search among the features, the classes, or a single stratum.
        "auto" is "search" for regression and "none" for classification.
    n_strata : int or None
        Number of strata to search for; None chooses between 8 and 12.
    hidden : sequence of int
        Widths of the hidden layers of the ReLU network.
    module : nn.Module, callable or None
        Your own network: a template (copied and re-initialised), or a function `(row_shape, n_outputs) -> nn.Module`.
    steps, batch_size, learning_rate, schedule
        Training with Adam. `batch_size` is per domain; None uses all rows, "auto" all rows up to 4096.
    accumulate : int
        Number of batches whose gradients are averaged in each step.
    standardize : bool
        Scale features, and the target of a regression, to mean 0 and standard deviation 1.
    random_state : int or None
        The random seed; the same seed gives the same model.
    dtype, device, compile, verbose
        Precision ("auto": double up to 1,000 rows; "bfloat16": layers in bfloat16, the rest in float32), device
        ("auto", "cpu", "cuda", "mps"), `torch.compile`, progress bar.

    Attributes
    ----------
    quality_ : DataFrame
        One row per domain and stratum, worst first: n, density, noise, rho, and whether it could be judged.
    penalties_ : FittedPenalties
        `eta` for each domain, `rho` for each domain and stratum, and `lam`.

    Examples
    --------
    >>> import numpy as np, rpo
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> domains = np.repeat(["a", "b", "c"], 100)
    >>> y = X[:, 0] + rng.normal(size=300) * np.where(domains == "c", 2.0, 0.1)
    >>> model = rpo.RPORegressor(steps=200).fit(X, y, domains=domains)
    >>> model.penalties_.eta.idxmin()  # the poorest domain
    'c'
    """


@public
class RPOClassifier(ClassifierTarget, ClassifierMixin, _RPO):  # type: ignore[misc]
    """Classification by RPO; parameters and attributes as in `RPORegressor`. By default all rows are one stratum.

    With "calibrated" the dummy classifier of the IRM penalty scales the logits about the log odds of the class
    frequencies (about zero in the paper, which distorts the frequency of rare classes), and η is twice that of a
    regression, because the logistic loss has less curvature than the squared loss.

    Examples
    --------
    >>> import numpy as np, rpo
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.where(X[:, 0] > 0, "yes", "no")
    >>> model = rpo.RPOClassifier(steps=200).fit(X, y, domains=np.repeat([1, 2, 3], 100))
    >>> model.predict([[3.0, 0, 0], [-3.0, 0, 0]]).tolist()
    ['yes', 'no']
    """

    # The logistic loss has a second derivative of at most 1/4, the squared loss of 2: the same η has less effect.
    _unit = 2.0
