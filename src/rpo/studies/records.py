"""What is kept of one run: its specification, what was measured or why it failed, the time, the versions."""

import math
import platform
from functools import cache
from importlib.metadata import version
from typing import Any, Literal

from pydantic import Field, model_validator

from rpo.studies.specification import Frozen, Run

DIGITS = 6  # significant digits kept: fewer than the eight or nine that do not depend on the stack


class Measured(Frozen):
    """Risks by domain: never averaged here, so that any rule can be applied later."""

    validation_risk: list[float]
    validation_irm: list[float]
    """(d/dw R_e(w f))² of each training domain, on its validation rows."""
    left_out_risk: list[float | None] | None = None
    """Risk on each training domain of the model trained without it; None where that training failed."""
    test: dict[str, dict[str, float]]
    """Metrics of each test domain."""

    @model_validator(mode="before")
    @classmethod
    def _round(cls, given: dict[str, Any]) -> dict[str, Any]:
        rounded: dict[str, Any] = rounded_values(given)
        return rounded

    @property
    def finite(self) -> bool:
        """Whether every number of the whole model is one."""
        numbers = [*self.validation_risk, *self.validation_irm]
        numbers += [value for metrics in self.test.values() for value in metrics.values()]
        return all(map(math.isfinite, numbers))


class Record(Frozen):
    """One run, done or failed."""

    run: Run
    status: Literal["done", "failed"]
    reason: str | None = None
    measured: Measured | None = None
    seconds: float = Field(ge=0)
    """CPU seconds of the stack, shared equally by its runs."""
    versions: dict[str, str]


def rounded_values(value: Any) -> Any:
    """Every float in a nest of lists and dictionaries, to six significant digits.

    >>> rounded_values({"a": [1.23456789, None, 2]})
    {'a': [1.23457, None, 2]}
    """
    if isinstance(value, dict):
        return {key: rounded_values(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded_values(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


@cache
def versions() -> dict[str, str]:
    """What a result may depend on besides its specification.

    >>> sorted(versions())
    ['numpy', 'python', 'rpo', 'torch']
    """
    return {name: version(name) for name in ("rpo", "torch", "numpy")} | {"python": platform.python_version()}
