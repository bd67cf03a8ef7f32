"""A study: rows (methods with their grids) by settings (data sets) by seeds; and how large one is."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import TypeVar

from pydantic import JsonValue

from rpo.exceptions import InputError
from rpo_lab.runner.specification import DataSpec, Judged, Number, Run, Training, complete


@dataclass(frozen=True)
class Row:
    """One line of the results: a method, its options, and the hyper-parameters to choose from.

    The first entry of the grid is the one fixed by formula or default, which needs no choice.
    """

    label: str
    method: str
    grid: tuple[Mapping[str, Number], ...] = ({},)
    options: Mapping[str, JsonValue] = field(default_factory=dict)
    data: Mapping[str, JsonValue] = field(default_factory=dict)
    """Options of the data set that only this row changes."""
    judged: Judged | None = None
    """What this row's training rows count by the judgement of `rpo.quality`."""
    section: str = "Methods"
    ranked: bool = True
    """Whether it competes for the best value; controls and references do not."""


@dataclass(frozen=True)
class Setting:
    """One column of the results: a data set, and the test domain whose metric is shown."""

    label: str
    data: DataSpec
    test: str = "test"
    metric: str = "mse"
    panel: str = ""
    """The panel of the figure that it is drawn in, if not one of its own."""
    mark: str = ""
    """What tells it from the others of its panel."""


@dataclass(frozen=True)
class Study:
    """All of it; `reference` is the label of the row that the others are compared with."""

    name: str
    rows: tuple[Row, ...]
    settings: tuple[Setting, ...]
    seeds: tuple[int, ...]
    reference: str
    training: Training = field(default_factory=Training)
    leave_one_out: bool = False

    def candidates(self, row: Row, setting: Setting, seed: int) -> list[Run]:
        """Return the runs of one cell and seed, in the order of the grid."""
        return self._candidates[row.label, setting.label, seed]

    def cells(self) -> Iterator[tuple[Row, Setting]]:
        """Return every row in every setting."""
        return ((row, setting) for setting in self.settings for row in self.rows)

    def runs(self) -> list[Run]:
        """Return every run once, whatever the number of cells that use it."""
        return list(self._runs.values())

    @cached_property
    def _candidates(self) -> dict[tuple[str, str, int], list[Run]]:
        return {
            (row.label, setting.label, seed): self._complete(row, setting, seed)
            for row, setting in self.cells()
            for seed in self.seeds
        }

    @cached_property
    def _runs(self) -> dict[str, Run]:
        return {run.digest: run for candidates in self._candidates.values() for run in candidates}

    def _complete(self, row: Row, setting: Setting, seed: int) -> list[Run]:
        options = {**setting.data.options, **row.data}
        data = DataSpec(name=setting.data.name, options=options, judged=row.judged or setting.data.judged)
        return [
            complete(
                Run(
                    data=data,
                    method=row.method,
                    numbers=dict(numbers),
                    options=dict(row.options),
                    seed=seed,
                    training=self.training,
                    # With nothing to choose from, no score is needed.
                    leave_one_out=self.leave_one_out and len(row.grid) > 1,
                )
            )
            for numbers in row.grid
        ]


@dataclass(frozen=True)
class Profile:
    """How large a study is. The code is the same for all."""

    seeds: int
    steps: int
    grid: int | None = None
    """How many entries of each grid are tried; None for all."""

    def cut(self, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        """Return the rows with as many entries of each grid as the profile has."""
        return tuple(replace(row, grid=row.grid[: self.grid]) for row in rows)


AnyProfile = TypeVar("AnyProfile")  # a dataclass that has `seeds`


def get_profile(profiles: Mapping[str, AnyProfile], name: str, seeds: int | None = None) -> AnyProfile:
    """Return the profile of that name, with another number of seeds if asked.

    >>> get_profile({"quick": Profile(seeds=3, steps=10)}, "quick", seeds=5).seeds
    5
    """
    if name not in profiles:
        raise InputError(f"profile must be one of {', '.join(profiles)}, got {name!r}")
    if seeds is not None and seeds < 2:
        raise InputError(f"seeds must be at least 2 (a standard deviation needs two values), got {seeds}")
    return profiles[name] if seeds is None else replace(profiles[name], seeds=seeds)  # type: ignore[type-var]


def grid(fixed: Mapping[str, Number] | None = None, **tried: tuple[float, ...]) -> tuple[dict[str, Number], ...]:
    """Return every combination of the values tried, each with the fixed ones; the first is the default.

    >>> grid({"lam": "formula"}, eta=(100.0, 1.0))
    ({'lam': 'formula', 'eta': 100.0}, {'lam': 'formula', 'eta': 1.0})
    """
    return tuple({**(fixed or {}), **dict(zip(tried, values, strict=True))} for values in product(*tried.values()))
