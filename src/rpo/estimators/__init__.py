"""scikit-learn estimators over the engine."""

from rpo.estimators.domain import DomainClassifier, DomainRegressor
from rpo.estimators.rpo import RPOClassifier, RPORegressor
from rpo.estimators.saving import load, save

__all__ = ["DomainClassifier", "DomainRegressor", "RPOClassifier", "RPORegressor", "load", "save"]
