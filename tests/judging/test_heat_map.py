"""The heat map as a figure."""

import numpy as np
import pandas as pd
import pytest

import rpo


@pytest.mark.parametrize("classes", [False, True])
def test_the_figure_has_a_cell_for_each_domain_and_stratum(classes):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200), "half": ["one", "two"] * 100, "site": np.arange(200) // 50})
    frame["y"] = frame["x"] + 0.2 * rng.normal(size=200)
    if classes:
        frame["y"] = np.where(frame["y"] > 0, "yes", "no")
    found = rpo.quality(frame, target="y", domain="site", strata=["half"], verbose=False)
    figure = found.figure()
    assert figure.axes[0].images[0].get_array().shape == (4, 2)
    assert len(figure.axes[0].texts) == 8
    assert ("wrong labels" in figure.axes[0].get_title(loc="left")) == classes
