"""Monitoring while models train: validation domains, early stopping, callbacks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from rpo._public import public
from rpo.engine.callbacks import Callback
from rpo.engine.data import Data
from rpo.engine.method import Method, State
from rpo.engine.nets import Net
from rpo.engine.trained import Snapshot, predict
from rpo.exceptions import InputError
from rpo.functional.domains import domain_mean
from rpo.functional.losses import sample_loss

if TYPE_CHECKING:
    from rpo.engine.trained import Trained

RULES = ("mean", "worst")


@public
@dataclass(frozen=True)
class Monitor:
    """Monitor a training: evaluate on validation domains, stop early, and run callbacks.

    Parameters
    ----------
    validation : tuple (X, y, domains) or None
        Rows that are not trained on, from the training domains or others; for `rpo.engine`, a `Data`.
    every : int
        Number of steps between evaluations.
    early_stopping : {"mean", "worst"} or None
        Keep the model with the smallest mean risk over validation domains, or the smallest risk in the worst one, and
        stop after `patience` evaluations without improvement. None trains to the end.
    patience : int
        Number of evaluations to wait for an improvement.
    callbacks : sequence of Callback
        Called after every step, after every evaluation and at the end.
    names : tuple of str
        Names of the validation domains; set by the estimator.

    Examples
    --------
    >>> import numpy as np, rpo
    >>> X, domain = np.random.default_rng(0).normal(size=(80, 2)), np.arange(80) % 4
    >>> known = domain < 3
    >>> monitor = rpo.Monitor(validation=(X[~known], X[~known, 0], domain[~known]), every=5, early_stopping="mean")
    >>> model = rpo.DomainRegressor("erm-l2", steps=20)
    >>> model = model.fit(X[known], X[known, 0], domains=domain[known], monitor=monitor)
    >>> len(model.validation_) > 0
    True
    """

    validation: Any = None
    every: int = 50
    early_stopping: Literal["mean", "worst"] | None = None
    patience: int = 5
    callbacks: Sequence[Callback] = ()
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("every", "patience"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"{name} must be a positive integer, got {value!r}")
        if self.early_stopping not in (None, *RULES):
            raise InputError(f"early_stopping must be 'mean', 'worst' or None, got {self.early_stopping!r}")
        if self.early_stopping is not None and self.validation is None:
            raise InputError("early_stopping needs validation data: pass validation=(X, y, domains)")
        for callback in self.callbacks:
            if not isinstance(callback, Callback):
                raise InputError(f"callbacks must be instances of rpo.engine.Callback, got a {type(callback).__name__}")


class Watch:
    """A monitor at work on one stack. Its memory is in the snapshot, and so in checkpoints.

    `risk` `(K, T, V)` and `at` `(K, T)` are the evaluations so far; with early stopping `best` is the best score,
    `since` the number of evaluations since then, and `flat` and `state/…` the model with that score.
    """

    def __init__(self, monitor: Monitor, method: Method, net: Net) -> None:
        self.monitor, self.method, self.net = monitor, method, net
        data = monitor.validation
        self.names = monitor.names or tuple(map(str, range(data.n_domains if data is not None else 0)))

    def step(
        self, now: Snapshot, terms: dict[str, Tensor], steps: int, settle: Callable[[Tensor, State], State]
    ) -> tuple[dict[str, Tensor], bool]:
        """Evaluate and run callbacks after a step; return the new memory, and whether all models have stopped.

        `settle` turns parameters and state into a state to predict with.
        """
        for callback in self.monitor.callbacks:
            callback.on_step(now.step, {**terms, "loss": torch.stack(list(terms.values())).sum(0)})
        if self.monitor.validation is None or (now.step % self.monitor.every and now.step != steps):
            return now.watch, False
        now = replace(now, state=settle(now.flat, now.state))
        risk = self._risks(now, self.monitor.validation)
        for callback in self.monitor.callbacks:
            callback.on_evaluate(now.step, dict(zip(self.names, risk.T, strict=True)))
        at = risk.new_full((len(risk), 1), float(now.step))
        watch = {
            **now.watch,
            "risk": torch.cat([now.watch["risk"], risk[:, None]], 1) if now.watch else risk[:, None],
            "at": torch.cat([now.watch["at"], at], 1) if now.watch else at,
        }
        if self.monitor.early_stopping is None:
            return watch, False
        watch |= self._best(now, risk.mean(1) if self.monitor.early_stopping == "mean" else risk.amax(1))
        return watch, bool((watch["since"] >= self.monitor.patience).all())

    def _risks(self, now: Snapshot, data: Data) -> Tensor:
        """Compute the risk of each model on each validation domain, `(K, V)`."""
        output = self._outputs(now, data)
        risks = [
            domain_mean(sample_loss(own, data.y, data.task), data.domain, data.weight, data.n_domains) for own in output
        ]
        return torch.stack(risks)

    def _outputs(self, now: Snapshot, data: Data) -> Tensor:
        if not self.method.at_once:
            return predict(self.method, self.net, now.flat, now.state, data.x)
        # A method that predicts from all rows together gets one domain at a time.
        output = now.flat.new_zeros(len(now.flat), data.n_rows, data.n_outputs)
        for e in range(data.n_domains):
            rows = data.domain == e
            output[:, rows] = predict(self.method, self.net, now.flat, now.state, data.tensor[rows])
        return output

    def _best(self, now: Snapshot, score: Tensor) -> dict[str, Tensor]:
        """Update each model's best evaluation; models out of patience are left alone."""
        score = torch.where(score.isfinite(), score, torch.inf)
        if "best" not in now.watch:
            state = {f"state/{name}": value for name, value in now.state.items()}
            return {"best": score, "since": torch.zeros_like(score), "flat": now.flat, **state}
        before = now.watch
        waiting = before["since"] < self.monitor.patience
        better = waiting & (score < before["best"])

        def newer(new: Tensor, old: Tensor) -> Tensor:
            return torch.where(better.reshape(-1, *[1] * (new.dim() - 1)), new, old)

        return {
            "best": newer(score, before["best"]),
            "since": torch.where(better, 0, before["since"] + waiting.to(score)),
            "flat": newer(now.flat, before["flat"]),
            **{f"state/{name}": newer(value, before[f"state/{name}"]) for name, value in now.state.items()},
        }

    def select_models(self, now: Snapshot) -> tuple[Tensor, State]:
        """Return the models of the best evaluation, or the current ones without early stopping."""
        if "best" not in now.watch:
            return now.flat, now.state
        state = {name.removeprefix("state/"): v for name, v in now.watch.items() if name.startswith("state/")}
        return now.watch["flat"], state

    def end(self, trained: "Trained") -> None:
        """Run the callbacks' `on_end`."""
        for callback in self.monitor.callbacks:
            callback.on_end(trained)
