"""What `fit` trains, before it is said with which values and seeds: for one model, or for a sweep."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from rpo.engine import Config, Data, Trained, train
from rpo.engine.method import State
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
    """What a first stage gave that was trained for the search of strata."""

    def train(
        self,
        seeds: Sequence[int],
        numbers: Mapping[str, float | Sequence[float]],
        options: Mapping[str, Any],
        first: State | None = None,
    ) -> Trained:
        """One model a seed, in one stack."""
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
