"""Statistics for judging quality: scale, heterogeneity, novelty, conformal quantiles, significance. No torch."""
