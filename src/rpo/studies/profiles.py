"""How large a study is, and the grids it tries."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product

from rpo.exceptions import InputError
from rpo.studies.specification import Number
from rpo.studies.study import Row


@dataclass(frozen=True)
class Profile:
    """How large a study is. The code is the same for all."""

    seeds: int
    steps: int
    leave_one_out: bool = False
    grid: int | None = None
    """How many entries of each grid are tried; None for all."""

    def cut(self, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        """The rows with as many entries of each grid as the profile has."""
        return tuple(replace(row, grid=row.grid[: self.grid]) for row in rows)


def get_profile(profiles: Mapping[str, Profile], name: str, seeds: int | None = None) -> Profile:
    """The profile of that name, with another number of seeds if asked.

    >>> get_profile({"quick": Profile(seeds=3, steps=10)}, "quick", seeds=5).seeds
    5
    """
    if name not in profiles:
        raise InputError(f"unknown profile {name!r}: use one of {', '.join(profiles)}")
    if seeds is not None and seeds < 2:
        raise InputError(f"seeds is {seeds}: give at least two, for a deviation needs two")
    return profiles[name] if seeds is None else replace(profiles[name], seeds=seeds)


def grid(fixed: Mapping[str, Number] | None = None, **tried: tuple[float, ...]) -> tuple[dict[str, Number], ...]:
    """Every combination of the values tried, each with the fixed ones; the first is the default.

    >>> grid({"lam": "formula"}, eta=(100.0, 1.0))
    ({'lam': 'formula', 'eta': 100.0}, {'lam': 'formula', 'eta': 1.0})
    """
    return tuple({**(fixed or {}), **dict(zip(tried, values, strict=True))} for values in product(*tried.values()))
