"""Estimators that judge their data first, and choose remedies by held-out domains. No torch."""

from rpo._models.model_files import load
from rpo._models.quality_estimators import QualityClassifier, QualityRegressor

__all__ = ["QualityClassifier", "QualityRegressor", "load"]
