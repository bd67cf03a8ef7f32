"""Estimators that judge their data first, and decide by held-out domains what to do about it. No torch."""

from rpo.models.quality import QualityClassifier, QualityRegressor
from rpo.models.saving import load

__all__ = ["QualityClassifier", "QualityRegressor", "load"]
