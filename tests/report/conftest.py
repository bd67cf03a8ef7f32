"""Tables judged once, for the tests of their pages."""

import numpy as np
import pandas as pd
import pytest

import rpo

SCRIPT, SHELL = "<script>alert(1)</script>", '"; rm -rf'


@pytest.fixture(scope="session")
def schools():
    """160 domains, some of them too small to judge; two are noisy. Predictions are given, so nothing is trained."""
    rng = np.random.default_rng(1)
    school = np.repeat(np.arange(160), rng.integers(4, 40, 160))
    n = len(school)
    frame = pd.DataFrame({"school": [f"school {i:03d}" for i in school], "intake": rng.normal(size=n).round(3)})
    frame["sex"] = np.array(["girl", "boy"])[rng.integers(0, 2, n)]
    expected = 0.6 * frame["intake"] + 0.2 * (frame["sex"] == "girl")
    frame["exam"] = expected + rng.normal(size=n) * np.where(np.isin(school, [77, 142]), 2.0, 0.5)
    return rpo.quality(frame, target="exam", domain="school", predictions=expected)


@pytest.fixture(scope="session")
def genes():
    """120 columns, one of them a row's number, another missing on some plates."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 118))
    frame = pd.DataFrame(X, columns=[f"gene {i}" for i in range(118)]).assign(plate=np.repeat(list("ABCDEFGH"), 50))
    frame["sample id"], frame["batch"] = np.arange(1, 401), np.where(frame["plate"] < "C", np.nan, X[:, 5])
    frame["y"] = X[:, 0] + 0.4 * rng.normal(size=400)
    return rpo.quality(frame, target="y", domain="plate", predictions=X[:, 0], grouping="none")


@pytest.fixture(scope="session")
def calm():
    """Nothing is wrong."""
    rng = np.random.default_rng(7)
    n = 300
    frame = pd.DataFrame({"clinic": np.repeat(list("ABC"), 100), "age": rng.normal(50, 10, n).round()})
    frame["response"] = (0.05 * frame["age"] + rng.normal(size=n)).round(2)
    return rpo.quality(frame, target="response", domain="clinic")


@pytest.fixture(scope="session")
def uneven():
    """Bad strata and a bad domain that are known."""
    data = rpo.datasets.make_uneven(seed=1)
    frame = pd.DataFrame(data.X, columns=["age", *(f"x{i}" for i in range(1, data.X.shape[1]))])
    frame = frame.assign(y=data.y, site=np.array(list("abcd"))[data.domains])
    return rpo.quality(frame, target="y", domain="site")


@pytest.fixture(scope="session")
def clinics():
    """Classes; one site has a column of zeros, two lack another, labels of the last are often wrong."""
    rng = np.random.default_rng(3)
    n, site = 320, np.repeat(list("ABCD"), 80)
    frame = pd.DataFrame({"site": site, "age": rng.normal(54, 9, n).round(), "peak": rng.exponential(1, n).round(1)})
    frame["chol"] = np.where(site == "B", 0.0, rng.normal(245, 50, n).round())
    frame["vessels"] = np.where(np.isin(site, ["B", "D"]), np.nan, rng.integers(0, 4, n))
    frame["sex"] = np.array(["f", "m"])[rng.integers(0, 2, n)]
    ill = (frame["age"] - 54) / 9 + frame["peak"] + (frame["sex"] == "m") > 1.5
    turned = (site == "D") & (rng.random(n) < 0.3)
    frame["disease"] = np.where(ill ^ turned, "yes", "no")
    return rpo.quality(frame, target="disease", domain="site")


@pytest.fixture(scope="session")
def hostile():
    """Classes; every name is an attack."""
    rng = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame({"x": rng.normal(size=n), SHELL: rng.normal(size=n)})
    frame["<img src=x onerror=alert(2)>"] = np.array([SCRIPT, SHELL, "'\"><svg onload=alert(3)>"])[np.arange(n) % 3]
    frame["</style></script>"] = np.array([SCRIPT, "b"])[rng.integers(0, 2, n)]
    frame[SCRIPT] = np.where(frame["x"] > 0, "</td><script>alert(4)</script>", "{{ 77 * 77 }}")
    return rpo.quality(frame, target=SCRIPT, domain="<img src=x onerror=alert(2)>", strata=["</style></script>"])


@pytest.fixture(scope="session", params=["schools", "genes", "calm", "uneven", "clinics", "hostile"])
def found(request):
    """Each of them in turn."""
    return request.getfixturevalue(request.param)
