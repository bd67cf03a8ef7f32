"""scikit-learn estimators for any method but RPO: `DomainRegressor` and `DomainClassifier`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self

from sklearn.base import ClassifierMixin, RegressorMixin
from torch import nn

from rpo._io import Grouping
from rpo._networks.base import DomainEstimator
from rpo._networks.targets import ClassifierTarget, RegressorTarget
from rpo._public import public
from rpo.engine.config import HIDDEN, STEPS
from rpo.methods import Method, get_method

NESTED = "hyperparameters__"


class _Domain(DomainEstimator):
    """Constructor shared by both estimators."""

    def __init__(
        self,
        method: str = "erm-l2",
        *,
        hyperparameters: Mapping[str, Any] | None = None,
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
        self.method = method
        self.hyperparameters = hyperparameters
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
        return get_method(self.method), dict(self.hyperparameters or {})

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with `deep` also each hyper-parameter given, as `hyperparameters__name`."""
        params: dict[str, Any] = super().get_params(deep=False)
        if deep and isinstance(self.hyperparameters, Mapping):
            params |= {f"{NESTED}{name}": value for name, value in self.hyperparameters.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; `hyperparameters__gamma=1` sets one hyper-parameter and keeps the others."""
        inner = {name.removeprefix(NESTED): value for name, value in params.items() if name.startswith(NESTED)}
        super().set_params(**{name: value for name, value in params.items() if not name.startswith(NESTED)})
        if inner:
            self.hyperparameters = {**(self.hyperparameters or {}), **inner}  # `fit` refuses unknown names
        return self


@public
class DomainRegressor(RegressorTarget, RegressorMixin, _Domain):  # type: ignore[misc]
    """Regression by any registered method (`rpo methods` lists them with their hyper-parameters).

    Parameters
    ----------
    method : str
        The name of the method.
    hyperparameters : mapping or None
        Hyper-parameters and options of the method; the others keep their defaults. In a search (`GridSearchCV`),
        use names such as `hyperparameters__gamma`.
    grouping, n_strata, hidden, module, steps, batch_size, learning_rate, schedule, accumulate, standardize, \
random_state, dtype, device, compile, verbose
        As in `RPORegressor`.

    Examples
    --------
    >>> import numpy as np, rpo
    >>> X = np.random.default_rng(0).normal(size=(90, 2))
    >>> model = rpo.DomainRegressor("erm-lip", hyperparameters={"lam": 0.01})
    >>> model.fit(X, X[:, 0], domains=np.arange(90) % 3).score(X, X[:, 0]) > 0.9
    True
    """


@public
class DomainClassifier(ClassifierTarget, ClassifierMixin, _Domain):  # type: ignore[misc]
    """Classification by any registered method; parameters as in `DomainRegressor`.

    Examples
    --------
    >>> import numpy as np, rpo
    >>> X = np.random.default_rng(0).normal(size=(90, 2))
    >>> model = rpo.DomainClassifier("irm-lip", hyperparameters={"eta": 1.0})
    >>> model.fit(X, X[:, 0] > 0, domains=np.arange(90) % 3).predict([[2.0, 0.0]])
    array([ True])
    """
