"""Three tables judged once, for the tests of their pages."""

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
def hostile():
    """Classes; every name is an attack."""
    rng = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame({"x": rng.normal(size=n), SHELL: rng.normal(size=n)})
    frame["<img src=x onerror=alert(2)>"] = np.array([SCRIPT, SHELL, "'\"><svg onload=alert(3)>"])[np.arange(n) % 3]
    frame["</style></script>"] = np.array([SCRIPT, "b"])[rng.integers(0, 2, n)]
    frame[SCRIPT] = np.where(frame["x"] > 0, "</td><script>alert(4)</script>", "{{ 77 * 77 }}")
    return rpo.quality(frame, target=SCRIPT, domain="<img src=x onerror=alert(2)>", strata=["</style></script>"])


@pytest.fixture(scope="session", params=["radon", "uneven", "hostile"])
def found(request):
    """Each of the three in turn."""
    return request.getfixturevalue(request.param)
