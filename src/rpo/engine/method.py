"""Methods: their definition and their registry.

A method is a pure function `(net, params, state, batch, hp)` that returns the named terms of its loss. Everything else
is declared beside that function: its tasks, its hyper-parameters with the ranges to search, and, if needed, what it
prepares before training, further networks, or its own random numbers.
"""

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from rpo.exceptions import InputError
from rpo.functional.losses import Task

if TYPE_CHECKING:
    from rpo.engine.data import Batch
    from rpo.engine.nets import Net, Params
    from rpo.engine.training import Preparation

State = dict[str, Tensor]
Terms = dict[str, Tensor]

REGRESSION: tuple[Task, ...] = ("regression",)
CLASSIFICATION: tuple[Task, ...] = ("binary", "multiclass")
BOTH: tuple[Task, ...] = REGRESSION + CLASSIFICATION


@dataclass(frozen=True)
class Hyper:
    """A hyper-parameter: its default, the range in which a search draws it, and its description."""

    default: float | None
    low: float
    high: float
    log: bool = False
    values: tuple[float, ...] = ()
    words: str = ""

    def draw(self, generator: np.random.Generator) -> float:
        """Draw a value from the range.

        >>> 0.1 <= log_uniform(1.0, 0.1, 10.0).draw(np.random.default_rng(0)) <= 10
        True
        """
        if self.values:
            return float(generator.choice(self.values))
        if self.log:
            return float(np.exp(generator.uniform(np.log(self.low), np.log(self.high))))
        return float(generator.uniform(self.low, self.high))

    def __str__(self) -> str:
        if self.values:
            return "{" + ", ".join(f"{v:g}" for v in self.values) + "}"
        return f"{'log-uniform' if self.log else 'uniform'} {self.low:.3g} to {self.high:.3g}"


def log_uniform(default: float | None, low: float, high: float, words: str = "") -> Hyper:
    """Return a hyper-parameter searched log-uniformly between `low` and `high`.

        10^U(log₁₀ low, log₁₀ high)

    >>> print(log_uniform(1.0, 0.1, 10.0))
    log-uniform 0.1 to 10
    """
    return Hyper(default, low, high, log=True, words=words)


def uniform(default: float, low: float, high: float, words: str = "") -> Hyper:
    """Return a hyper-parameter searched uniformly between `low` and `high`.

    >>> uniform(0.5, 0, 1).default
    0.5
    """
    return Hyper(default, low, high, words=words)


def one_of(default: float, *values: float, words: str = "") -> Hyper:
    """Return a hyper-parameter searched among some values, each as likely.

    >>> print(one_of(1, 1, 2, 4))
    {1, 2, 4}
    """
    return Hyper(default, min(values), max(values), values=values, words=words)


# Hyper-parameter of every method.
LEARNING_RATE = log_uniform(1e-2, 10**-4.5, 10**-1.5, "Learning rate of Adam.")


class Choice(tuple[Any, ...]):
    """The values of an option, the default first, and its description; a single value means that any is allowed.

    >>> choice = Choice("mean", "sum", words="How a loss of rows is put together.")
    >>> choice[0], len(choice), choice.words
    ('mean', 2, 'How a loss of rows is put together.')
    """

    words: str

    def __new__(cls, *values: Any, words: str) -> "Choice":
        """Create the tuple of values, with its description."""
        choice = super().__new__(cls, values)
        choice.words = words
        return choice

    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments that recreate it when unpickled."""
        return tuple(self), {"words": self.words}


class Values:
    """Hyper-parameters by attribute: tensors for numbers, plain values for options."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __getattr__(self, name: str) -> Any:
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(f"no hyper-parameter {name!r}") from None


class Gradient(NamedTuple):
    """The result of a method that makes its own update: gradients by parameter, the loss's terms, the new state.

    `moves` marks by parameter which coordinates are updated in this step (empty: all); the others keep their values and
    moments, so that neither momentum nor decay changes them.
    """

    by_parameter: dict[str, Tensor]
    terms: Terms
    state: State
    moves: dict[str, Tensor]


Objective = Callable[["Net", "Params", State, "Batch", Values], Any]


@dataclass(frozen=True)
class Method:
    """A method with everything the engine and the user need to know about it.

    `prepare(run)` returns the initial state; `first_stage(run)` what a two-stage method needs before there are strata
    (including `residual`, the squared residuals), independent of the numbers and options named in `later`;
    `parts(net, n_domains, n_classes, options)` further modules; `draw(generator, rows, n_domains, numbers)` the random
    numbers of one step; `predict(net, params, state, x)` the output if it is not the network's. With `own_gradient` the
    objective returns a `Gradient`, not terms. Hyper-parameters named `beta1` and `beta2` are Adam's. `version` is
    raised whenever the same hyper-parameters no longer give the same model, so that stored results of an earlier
    version are not reused. `schemes` holds the defaults for values of the option `scheme` that differ from the usual
    ones. `source` is a hash of the code of a method from outside this library, empty for ours; results are stored with
    it, so that changed code is another run. `at_once` means that the method uses all rows together, before training or
    in prediction, so that they must be in memory; `per_row` that its loss differentiates each row by itself, so that
    the network must not mix rows; `second_order` that its loss contains derivatives.
    """

    name: str
    objective: Objective
    tasks: tuple[Task, ...]
    summary: str
    formula: str
    cite: str
    space: Mapping[str, Hyper]
    reference: str = ""
    options: Mapping[str, Choice] = field(default_factory=dict)
    prepare: "Callable[[Preparation], State] | None" = None
    first_stage: "Callable[[Preparation], State] | None" = None
    later: tuple[str, ...] = ()
    parts: "Callable[..., Mapping[str, nn.Module]] | None" = None
    draw: "Callable[[np.random.Generator, int, int, Mapping[str, float]], dict[str, NDArray[Any]]] | None" = None
    predict: "Callable[[Net, Params, State, Tensor], Tensor] | None" = None
    own_gradient: bool = False
    version: int = 1
    schemes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    source: str = ""
    at_once: bool = False
    per_row: bool = False
    second_order: bool = False

    def check_task(self, task: Task) -> None:
        """Raise an error if the method lacks a task, naming the methods that support it."""
        if task not in self.tasks:
            able = ", ".join(sorted(other.name for other in methods(task)))
            raise InputError(f"{self.name!r} does not support {task}; methods that do: {able}")

    def fill(self, values: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, Any]]:
        """Complete the given values by defaults; return the numbers and the options.

        None leaves a number to the method (NaN in the engine).
        """
        known = [*self.space, *self.options]
        for name in values:
            if name not in known:
                raise InputError(f"method {self.name!r} has no hyper-parameter {name!r}; it has {', '.join(known)}")
        for name, allowed in self.options.items():
            if name in values and len(allowed) > 1 and values[name] not in allowed:
                names = ", ".join(map(str, allowed))
                raise InputError(f"{name} of method {self.name!r} must be one of {names}, got {values[name]!r}")
        values = {**self.schemes.get(values.get("scheme", ""), {}), **values}
        numbers = {name: _number(name, values.get(name, hyper.default)) for name, hyper in self.space.items()}
        return numbers, {name: values.get(name, allowed[0]) for name, allowed in self.options.items()}


def _number(name: str, value: Any) -> float:
    if value is None:
        return float("nan")
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InputError(f"hyper-parameter {name!r} must be a number, got {value!r}")
    if not np.isfinite(value) or value < 0:
        raise InputError(f"hyper-parameter {name!r} must be finite and non-negative, got {value!r}")
    return float(value)


REGISTRY: dict[str, Method] = {}
REMOVED: dict[str, str] = {}  # by name of a removed method: the version, and what to use instead
OURS = __name__.partition(".")[0]
UNSEEN = "unseen"  # instead of the hash, if the code cannot be read


def method(
    name: str,
    *,
    tasks: tuple[Task, ...],
    space: Mapping[str, Hyper],
    cite: str,
    reference: str = "",
    options: Mapping[str, Choice] | None = None,
    summary: str | None = None,
    **hooks: Any,
) -> Callable[[Objective], Objective]:
    """Register a function as a method, for estimators, sweeps, studies and the command line.

    A name registered by another module raises an error; the same module may redefine it, as in a notebook.

    Parameters
    ----------
    name : str
        The name of the method.
    tasks : tuple
        `BOTH`, `REGRESSION` or `CLASSIFICATION` of `rpo.methods`.
    space : dict of Hyper
        Its hyper-parameters, each with a default, a range and a description (`log_uniform`, `uniform`).
    cite, reference : str
        A short citation, and the full one.
    options : dict of Choice, optional
        Options other than numbers.
    summary : str, optional
        A one-line description; by default the first line of its module.
    **hooks
        Further fields of `rpo.engine.method.Method`, such as `prepare`, `first_stage`, `draw` and `version`.

    Returns
    -------
    decorator
        It returns the function unchanged.

    Examples
    --------
    >>> import numpy as np, rpo
    >>> from rpo.methods import BOTH, REGISTRY, log_uniform, method
    >>> from rpo.methods.terms import mean_over_present, risks
    >>> @method("worst", tasks=BOTH, space={"beta": log_uniform(1.0, 0.1, 10.0, "Weight of the worst.")}, cite="you")
    ... def worst(net, params, state, batch, hp):
    ...     value = risks(net(params, batch.x), batch, hp.task)
    ...     return {"risk": mean_over_present(value, batch), "worst": hp.beta * value.max()}
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = rpo.DomainRegressor("worst", steps=5).fit(X, X[:, 0], domains=np.arange(60) % 3)
    >>> model.predict(X).shape
    (60,)
    >>> _ = REGISTRY.pop("worst")
    """

    def register(objective: Objective) -> Objective:
        module = sys.modules[objective.__module__]
        namesake = REGISTRY.get(name)
        if namesake is not None and namesake.objective.__module__ != objective.__module__:
            raise InputError(
                f"a method {name!r} is already registered (in {namesake.objective.__module__}): use another name"
            )
        REGISTRY[name] = Method(
            name=name,
            objective=objective,
            tasks=tasks,
            summary=summary or _find_summary(name, module),
            formula=_first_line(objective.__doc__),
            cite=cite,
            reference=reference,
            space={**space, "lr": LEARNING_RATE},
            options=options or {},
            source="" if is_ours(objective) else hash_source(objective, *hooks.values()),
            **hooks,
        )
        return objective

    return register


def _find_summary(name: str, module: ModuleType) -> str:
    """Return the default summary of a method: the first line of its module, unless that is a notebook."""
    line = "" if module.__name__ == "__main__" else _first_line(module.__doc__)
    return line or f"{name}: a method of your own."


def is_ours(objective: Objective) -> bool:
    """Return whether a method belongs to this library."""
    return objective.__module__.partition(".")[0] == OURS


def hash_source(*parts: Any) -> str:
    """Hash the source code of a method to 16 hex digits: its module's, or in a notebook that of its functions."""
    functions = [part for part in parts if inspect.isfunction(part)]
    home = sys.modules.get(functions[0].__module__)
    try:
        whole = home is not None and home.__name__ != "__main__"
        text = inspect.getsource(home) if home and whole else "".join(map(inspect.getsource, functions))
    except (OSError, TypeError):  # typed at a prompt, so that there is no source
        return UNSEEN
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _first_line(text: str | None) -> str:
    return (text or "").strip().split("\n")[0]


def get_method(name: str) -> Method:
    """Return the method with this name; an unknown name raises an error that lists all methods.

    Parameters
    ----------
    name : str
        The name, as listed by `rpo methods`.

    Returns
    -------
    Method
        The method.

    Examples
    --------
    >>> from rpo.methods import get_method
    >>> get_method("irm-lip").tasks
    ('regression', 'binary', 'multiclass')
    """
    broken = _fill_registry()
    try:
        return REGISTRY[name]
    except KeyError:
        if name in REMOVED:
            raise InputError(f"method {name!r} was removed in {REMOVED[name]}") from None
        why = "".join(f"; plugin {plugin!r} could not be loaded ({error})" for plugin, error in broken.items())
        known = ", ".join(sorted(REGISTRY))
        own = "or import your own first (--plugin)"
        raise InputError(f"unknown method {name!r}: use one of {known}, {own}{why}") from None


def methods(task: Task | None = None) -> Iterable[Method]:
    """Return all registered methods, or those that support a task.

    Parameters
    ----------
    task : "regression", "binary" or "multiclass", optional
        The task.

    Returns
    -------
    iterable of Method
        The methods, by name.

    Examples
    --------
    >>> from rpo.methods import methods
    >>> "rpo" in [m.name for m in methods("regression")]
    True
    """
    _fill_registry()
    return [m for m in REGISTRY.values() if task is None or task in m.tasks]


def _fill_registry() -> Mapping[str, str]:
    """Load the methods of installed packages, ours among them; return those that could not be loaded, and why."""
    from rpo.engine.plugins import load_installed

    return load_installed()
