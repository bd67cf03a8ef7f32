"""Four tables judged once, for the tests of their pages."""

import numpy as np
import pandas as pd
import pytest

import rpo

SCRIPT, SHELL = "<script>alert(1)</script>", '"; rm -rf'


@pytest.fixture(scope="session")
def radon():
    """85 counties, some with one home."""
    table = rpo.datasets.load_radon()
    return rpo.quality(table.frame[[*table.features, table.target, table.domain]], target=table.target,
                       domain=table.domain)  # fmt: skip


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


@pytest.fixture(scope="session", params=["radon", "uneven", "clinics", "hostile"])
def found(request):
    """Each of the four in turn."""
    return request.getfixturevalue(request.param)
