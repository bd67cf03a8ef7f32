"""Statistics that only the judge uses: scale, heterogeneity, novelty, conformal quantiles, significance. No torch."""
