"""The page as text: whole, escaped, small, and with the worst first."""

import base64
import io
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import rpo
from rpo._judging.columns import Finding
from rpo._models.intervals import coverage
from rpo._report import render, write_report
from rpo._report.page import SECTIONS
from rpo.exceptions import InputError


def test_every_section_is_there_and_nothing_comes_from_elsewhere(found):
    page = render(found, title="t.csv")
    ids = re.findall(r'<section id="(\w+)"', page)
    assert ids == list(SECTIONS)
    assert len(page.encode()) < 1_500_000
    assert not re.search(r"https?://|@import|url\(", page)
    assert re.findall(r"<[^>]*\ssrc=", page) == []


def test_names_are_text_wherever_they_stand(hostile):
    page = render(hostile, title="<script>alert(5)</script>")
    assert page.count("<script>") == 1  # the page's own
    assert "<img" not in page
    assert "<svg onload" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "&#34;; rm -rf" in page
    assert "{{ 77 * 77 }}" in page
    assert ">5929<" not in page


def test_names_are_text_in_findings_slopes_maps_footer_and_model(hostile):
    bad = "<script>alert(6)</script>"
    finding = Finding("filled", bad, bad, f"Site {bad} records it.", {}, 0.9)
    gaps = pd.DataFrame({bad: [0.5, 0.0]}, index=[bad, "b"])
    row = {"feature": bad, "domain": bad, "slope": 1.0, "error": 0.1, "low": 0.8, "high": 1.2}
    first = hostile.features.iloc[[0]].assign(feature=bad, suspicious=True, lowest_domain=hostile.domains["domain"][0])
    first["highest_domain"] = first["lowest_domain"]
    found = replace(
        hostile,
        columns=replace(hostile.columns, findings=[finding], missing=gaps, shift=gaps),
        features=first,
        slopes=pd.DataFrame([row]),
    )
    errors = pd.DataFrame({"error": 1.0, "spread": 0.1, "worst": 2.0, "worst_domain": bad}, index=[bad, "linear"])
    rng = np.random.default_rng(0)
    model = rpo.QualityRegressor("linear", verbose=False)
    model.fit(rng.normal(size=(60, 1)), rng.normal(size=60), domains=np.repeat(list("abc"), 20))
    model.expected_error_, model.shares_, model.domains_ = errors, {bad: 1.0}, np.array([bad] * 3)
    page = render(found, title=bad, model=model, about=dict.fromkeys(("file", "command", "date", "seed"), bad))
    assert page.count("<script>") == 1  # the page's own
    parts = ("summary", "missing", "shift", "features", "fitted", "intervals")
    for part in (*(f'id="{name}"' for name in parts), "<footer"):
        assert "&lt;script&gt;alert(6)&lt;/script&gt;" in page.split(part)[1].split("</section>")[0], part


def test_downloads_hold_the_rows_and_the_weights(uneven):
    page = render(uneven)
    files = dict(re.findall(r'<a download="([^"]*)" href="data:text/csv;charset=utf-8;base64,([^"]*)"', page))
    rows, weights = (pd.read_csv(io.BytesIO(base64.b64decode(files[name]))) for name in sorted(files))
    assert rows["row"].tolist() == uneven.rows[uneven.rows["times"] >= 3]["row"].tolist()
    assert weights["weight"].tolist() == pytest.approx(uneven.weight.tolist())


def test_the_worst_come_first(uneven):
    page = render(uneven)
    for section, name in (("domains", "b"), ("strata", uneven.strata["stratum"][0])):
        part = page.split(f'<section id="{section}">')[1]
        assert re.findall(r'<th scope="row"[^>]*>([^<]*)</th>', part)[0] == name
    assert uneven.strata["noisy"][0]
    assert page.index("In site b, y is") < page.index('<section id="domains">')


def test_domains_too_small_are_marked(schools):
    small = int((schools.domains["n"] < 5).sum())
    assert small
    part = render(schools).split('<section id="domains">')[1].split("</section>")[0]
    assert part.count('<span class="mark quiet">cannot tell</span>') == small
    assert part.count("too few rows") == small


def test_two_thousand_domains_of_long_names_stay_below_the_limit(uneven):
    number = 2000
    many = pd.concat([uneven.domains.iloc[[0]]] * number, ignore_index=True)
    many["domain"] = [f"{'long name ' * 20}{i}" for i in range(number)]
    page = render(replace(uneven, domains=many))
    assert len(page.encode()) < 1_500_000
    assert "more domains are not shown" in page


def test_a_page_that_cannot_be_written_is_one_line(uneven, tmp_path):
    with pytest.raises(InputError, match="cannot write"):
        write_report(uneven, "/proc/page.html")
    write_report(uneven, tmp_path / "deep" / "page.html")
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["page.html"]


def test_where_nothing_is_wrong_one_sentence_says_so_and_nothing_is_red(calm):
    page = render(calm)
    head = page.split('<section id="summary"')[1].split("</ol>")[0]
    assert re.findall(r"<li>(.*?) <a", head) == ["Nothing wrong was found in the 300 rows of 3 clinics."]
    body = page.split("</style>")[1]
    assert "mark bad" not in body
    assert "dot bad" not in body
    assert 'class="hot"' not in body
    assert "They do not differ significantly" in body


def test_one_domain_and_one_stratum_still_make_a_page():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=30)})
    frame["y"] = frame["x"] + rng.normal(size=30)
    page = render(rpo.quality(frame, target="y", grouping="none"))
    assert "There is only one domain" in page
    assert "Cannot tell whether noise differs" in page


def test_what_is_wrong_with_columns_is_said_and_mapped(clinics):
    page = render(clinics)
    part = page.split('<section id="columns">')[1].split("</section>")[0]
    said = "Site B records chol = 0 in all of its 80 rows; the other sites never do."
    assert page.index(said) < page.index('<section id="domains">')
    assert said in part
    gaps, shift = part.split('<h3 id="missing">')[1].split('<h3 id="shift">')
    assert re.findall(r'<button type="button">([^<]*)</button>', gaps) == ["domain", "vessels"]
    assert re.findall(r"<td[^>]*>(\d+)\xa0%</td>", gaps) == ["100", "100", "0", "0"]
    # There are more columns than domains: columns go down, those that differ most first.
    assert re.findall(r'<th scope="row">([^<]*)</th>', shift)[0] == "chol"
    assert 'class="d4"' in shift


def test_columns_without_a_fault_are_one_sentence_each(uneven):
    part = render(uneven).split('<section id="columns">')[1].split("</section>")[0]
    assert "No problem was found in the values of any column." in part
    assert "No value is missing." in part


def test_two_hundred_domains_and_a_hundred_columns_stay_below_the_limit(uneven):
    rng = np.random.default_rng(0)
    domains, columns = [f"county number {i}" for i in range(200)], [f"a column of number {i}" for i in range(100)]
    gaps = pd.DataFrame(rng.random((200, 100)), index=domains, columns=columns)
    shift = pd.DataFrame(rng.normal(size=(200, 100)), index=domains, columns=columns)
    many = pd.concat([uneven.domains.iloc[[0]]] * 200, ignore_index=True).assign(domain=domains)
    page = render(replace(uneven, domains=many, columns=replace(uneven.columns, missing=gaps, shift=shift)))
    assert len(page.encode()) < 1_500_000
    maps = page.split('<h3 id="missing">')[1].split('<h3 id="features">')[0]
    assert maps.count('<th scope="row">') == 2 * 200
    assert maps.count("<td") == 2 * 200 * 100
    assert "are not shown" not in maps


def test_the_expected_error_of_a_model_is_shown():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(160, 2))
    site = np.repeat(list("abcd"), 40)
    y = x[:, 0] + 0.5 * rng.normal(size=160)
    for learner, target in ((rpo.QualityRegressor("linear"), y), (rpo.QualityClassifier("linear"), y > 0)):
        model = learner.fit(x, target, domains=site)
        page = render(model.quality_, model=model)
        part = page.split('<section id="fitted">')[1].split("</section>")[0]
        own = model.expected_error_.iloc[0]
        shown = [float(value) for value in re.findall(r'<td class="drawn" data-sort="([^"]*)"', part)]
        assert shown == pytest.approx(model.expected_error_["error"].tolist(), rel=1e-4)
        assert f"in {own['worst_domain']}" in part
        assert page.index('id="rows"') < page.index('id="fitted"') < page.index('id="doubts"')
        assert ("wrong classes" in part) == (target is not y)
        held = coverage(model).set_index("level")["covered"]
        assert re.findall(r">(\d+)\xa0%</th>", part) == [f"{100 * level:.0f}" for level in held.index] == ["50"]


def test_where_the_columns_predict_nothing_the_page_says_cannot_tell():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200), "site": np.repeat(["a", "b"], 100)})
    frame["y"] = np.array(["no", "yes"])[rng.integers(0, 2, 200)]
    page = render(rpo.quality(frame, target="y", domain="site"))
    assert "Cannot tell which labels are wrong: the columns hardly predict y." in page
    assert "cannot tell, because the columns hardly predict y." in page
    assert "(–)" not in page
    assert "They do not differ" not in page


def test_rows_that_are_repeated_have_their_place_on_the_page(tmp_path):
    """A sentence about rows links to them, as one about domains does."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60), "d": list("abc" * 20)})
    frame["y"] = frame["x"] + 0.3 * rng.normal(size=60)
    found = rpo.quality(pd.concat([frame] * 3), target="y", domain="d")
    assert "rows" in {place for place, _ in found.findings}
    found.report(tmp_path / "page.html")
    assert 'href="#rows"' in (tmp_path / "page.html").read_text()


def test_cells_that_cannot_be_judged_are_a_sentence(clinics, genes):
    """Labels take twenty rows of a group in a domain; where there is one group, there is nothing to compare."""
    part = render(clinics).split('<section id="heat">')[1].split("</section>")[0]
    assert "no group has 20 rows in a single domain" in part
    assert "<table" not in part
    page = render(genes)
    for name in ("strata", "heat"):
        part = page.split(f'<section id="{name}">')[1].split("</section>")[0]
        assert "All rows are one group" in part
        assert "<table" not in part


def test_what_paper_is_too_narrow_for_is_said(genes, calm):
    """The style hides these columns in print, and shows the sentence there only."""
    said = '<p class="note onpaper">'
    assert said in render(genes).split('<section id="rows">')[1]
    assert said not in render(calm)


def test_where_the_columns_explain_less_than_the_mean_the_tile_says_none():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.normal(size=60), "site": np.repeat(["a", "b"], 30), "y": rng.normal(size=60)})
    found = rpo.quality(frame, target="y", domain="site")
    assert found.overview["variance explained"] < 0
    assert "<dt>variance explained</dt><dd>none</dd>" in render(found)
