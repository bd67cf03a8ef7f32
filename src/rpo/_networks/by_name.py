"""Network estimators by the name of their method."""

from typing import Any

from rpo._learners import NAMED
from rpo._networks.domain_estimators import DomainClassifier, DomainRegressor
from rpo._networks.rpo_estimators import RPOClassifier, RPORegressor
from rpo.exceptions import InputError
from rpo.methods import REMOVED, get_method, methods


def network_named(name: str, *, classes: bool, seed: int = 0) -> Any:
    """Return the network estimator for "network", "rpo" or the name of a method.

    >>> network_named("coral", classes=False)
    DomainRegressor(method='coral')
    """
    if name in ("network", "rpo"):
        return RPOClassifier(random_state=seed) if classes else RPORegressor(random_state=seed)
    if name in REMOVED:
        get_method(name)  # raises, and says what to use instead
    names = [method.name for method in methods()]
    if name not in names:
        known = ", ".join((*NAMED, *names))
        raise InputError(f"unknown estimator {name!r}: use one of {known}, or any scikit-learn estimator")
    return DomainClassifier(name, random_state=seed) if classes else DomainRegressor(name, random_state=seed)
