"""A prepared training, to run with any values and seeds: for one model or a sweep."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from torch import nn

from rpo._networks.fetched import Inputs
from rpo.engine import Config, Data, Monitor, Snapshot, Trained, train
from rpo.engine.method import State
from rpo.exceptions import InputError
from rpo.methods import Method


@dataclass(frozen=True)
class Ready:
    """A training, checked and prepared."""

    method: Method
    build: Callable[[], nn.Module]
    data: Data
    config: Config
    numbers: dict[str, float]
    options: dict[str, Any]
    first: State | None
    """Result of the first stage, if one was trained to search for strata."""

    def train(
        self,
        seeds: Sequence[int],
        numbers: Mapping[str, float | Sequence[float]],
        options: Mapping[str, Any],
        first: State | None = None,
    ) -> Trained:
        """Train one model per seed, in one stack."""
        return train(
            self.method,
            self.build,
            self.data,
            seeds=seeds,
            numbers=numbers,
            options=options,
            config=self.config,
            first=first,
        )


def split_validation(validation: Any) -> tuple[Inputs, Any, Any]:
    """Return X, y and domains of validation rows; domains are None if not given."""
    if not isinstance(validation, tuple | list) or len(validation) not in (2, 3):
        raise InputError("validation must be a tuple (X, y) or (X, y, domains)")
    X, y, *rest = validation
    return X, y, rest[0] if rest else None


def evaluations(snapshot: Snapshot, monitor: Monitor | None, scale: float) -> pd.DataFrame:
    """Return the risk of the first model on each validation domain, one row per evaluation, in units of the target."""
    assert monitor is not None
    if not snapshot.watch:  # fewer steps than between two evaluations
        return pd.DataFrame(columns=["step", *monitor.names])
    risk = scale**2 * snapshot.watch["risk"][0].cpu().double().numpy()
    table = pd.DataFrame(risk, columns=list(monitor.names))
    table.insert(0, "step", snapshot.watch["at"][0].long().cpu().numpy())
    return table
