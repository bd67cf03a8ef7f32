"""Runs that no engine trains: learners of other libraries, which one module does for all runs of the same data.

Their methods are named `family:learner`; a family's module is imported when one is asked for. It has `work`, and
`versions`, of what its results depend on besides this package.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from rpo.studies.records import Measured
from rpo.studies.specification import Run

FAMILIES = {"real": "rpo.paper.real.learners"}

# What was measured, or why nothing was, and CPU seconds.
Outcome = tuple[Measured | str, float]
Work = Callable[[Sequence[Run]], list[Outcome]]


def is_outside(method: str) -> bool:
    """Whether a run of that method is done by another library.

    >>> is_outside("real:ridge"), is_outside("erm-l2")
    (True, False)
    """
    return method.partition(":")[0] in FAMILIES


def work_of(method: str) -> Work:
    """What does runs of that method, all of one data set and seed; it raises only what is no run's fault."""
    found: Work = _family(method).work
    return found


def versions_of(method: str) -> dict[str, str]:
    """What its results depend on besides this package."""
    found: dict[str, str] = _family(method).versions()
    return found


def _family(method: str) -> Any:
    return import_module(FAMILIES[method.partition(":")[0]])
