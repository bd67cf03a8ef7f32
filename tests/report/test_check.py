"""The page of a check: names are text, and what is long is cut."""

import numpy as np
import pandas as pd

import rpo
from rpo._report import render

BAD = "<script>alert(1)</script>"


def _checked(columns, domains=1, rows=12):
    rng = np.random.default_rng(0)
    site = np.repeat(np.arange(5), rows)
    table = pd.DataFrame(rng.normal(size=(len(site), len(columns))), columns=columns).assign(
        site=site.astype(str) + BAD
    )
    model = rpo.QualityRegressor("linear", weights="off", screen="off", verbose=False)
    model.fit(table, rng.normal(size=len(site)), domains="site")
    new = pd.DataFrame(rng.normal(5, 1, size=(domains * 3, len(columns))), columns=columns)
    return rpo.check(
        model, new, target=rng.normal(size=len(new)), domain=np.repeat(np.arange(domains), 3).astype(str) + BAD
    )


def test_names_are_text_wherever_they_stand():
    page = render(None, title=BAD, check=_checked([BAD, "b"]), about={"file": BAD})
    assert page.count("<script>") == 1  # the page's own
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert page.count('<section id="') == 1


def test_many_domains_and_columns_stay_a_small_page():
    page = render(None, check=_checked([f"column {k}" for k in range(60)], domains=300))
    assert len(page.encode()) < 1_500_000
    assert "100 more domains are not shown" in page
