"""Learners by name: a line, anchor regression, boosted trees, RPO's network, or any method of the registry."""

from typing import Any

from rpo.exceptions import InputError
from rpo.judging.learners import AnchorLine, Line, boosted, logistic

NAMED = ("auto", "linear", "trees", "network")


def named(name: str, *, classes: bool, seed: int = 0) -> Any:
    """A scikit-learn estimator; only networks need torch.

    >>> type(named("linear", classes=False)).__name__
    'Line'
    """
    if name == "linear":
        return logistic() if classes else Line()
    if name == "anchor" and not classes:  # in closed form; its network is `DomainRegressor("anchor")`
        return AnchorLine()
    if name == "trees":  # as scikit-learn sets them
        return boosted(classes=classes, max_iter=100, max_leaf_nodes=31, seed=seed)
    from rpo import estimators
    from rpo.methods import methods

    kind = "Classifier" if classes else "Regressor"
    if name in ("network", "rpo"):
        return getattr(estimators, f"RPO{kind}")(random_state=seed)
    names = [method.name for method in methods()]
    if name not in names:
        known = ", ".join((*NAMED, *names))
        raise InputError(f"estimator {name!r} is unknown: use one of {known}, or any scikit-learn estimator")
    return getattr(estimators, f"Domain{kind}")(name, random_state=seed)
