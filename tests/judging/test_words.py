"""The first findings: at most five, what is wrong before what is merely different, with the place of the evidence."""

import numpy as np
import pandas as pd
import pytest

import rpo


def table(rows=100, sites="ABCDEF", seed=0):
    rng = np.random.default_rng(seed)
    n = rows * len(sites)
    frame = pd.DataFrame({"site": np.repeat(list(sites), rows), "age": rng.normal(50, 10, n).round()})
    frame["pressure"] = rng.normal(120, 15, n).round()
    return frame, rng


def judged(frame, expected, **given):
    return rpo.quality(frame, target="y", domain="site", predictions=expected, grouping="none", **given)


def test_what_cannot_be_true_comes_before_noise_and_noise_before_gaps_and_levels():
    frame, rng = table()
    expected = frame["age"] / 10
    site = frame["site"]
    frame["y"] = expected + rng.normal(size=600) * np.where(site == "D", 3.0, 1.0) + 2.0 * (site == "E")
    frame.loc[site == "B", "pressure"] = 0.0
    frame["rare"] = np.where(rng.random(600) < 0.97, np.nan, 1.0 + rng.random(600))
    found = judged(frame, expected)
    assert [place for place, _ in found.findings] == ["columns", "domains", "columns", "domains"]
    said = found.summary
    assert said[0] == "Site B records pressure = 0 in all of its 100 rows; the other sites never do."
    assert said[1].startswith("In site D, y is ")
    assert said[2].startswith("rare is missing in ")
    assert said[3].startswith("Site E differs in level, not in noise: y is ")
    assert found.summary == tuple(words for _, words in found.findings)


def test_there_are_never_more_than_five():
    frame, rng = table()
    expected = frame["age"] / 10
    frame["y"] = expected + rng.normal(size=600) * np.where(frame["site"] == "D", 3.0, 1.0)
    for j, site in enumerate("ABCEFABC"):
        frame[f"x{j}"] = np.where(frame["site"] == site, 0.0, rng.normal(10, 1, 600))
    said = judged(frame, expected).findings
    assert len(said) == 5
    assert sum(place == "columns" for place, _ in said) == 4  # what else there is to say is not left out
    assert said[-1][1].startswith("In site D, y is ")


@pytest.mark.parametrize("shift, way", [(5.0, "higher"), (-5.0, "lower")])
def test_levels_say_which_way(shift, way):
    frame, rng = table(seed=1)
    expected = frame["age"] / 10
    frame["y"] = expected + rng.normal(size=600) + shift * (frame["site"] == "C")
    first, second = judged(frame, expected).summary
    assert first == "Nothing wrong was found in the 600 rows of 6 sites."
    assert second == f"Site C differs in level, not in noise: y is {second.split()[10]} {way} than the columns predict."
