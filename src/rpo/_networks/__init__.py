"""scikit-learn estimators over the engine."""

from rpo._networks.domain_estimators import DomainClassifier, DomainRegressor
from rpo._networks.rpo_estimators import RPOClassifier, RPORegressor

__all__ = ["DomainClassifier", "DomainRegressor", "RPOClassifier", "RPORegressor"]
