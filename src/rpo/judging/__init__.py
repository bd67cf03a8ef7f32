"""The quality of data, judged by residuals of any learner: noise, shift, suspicious features, weights. No torch."""

from rpo.judging.quality import Quality, quality

__all__ = ["Quality", "quality"]
