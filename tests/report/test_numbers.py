"""Every number of the page is in `rpo quality --json`; those of the other commands' pages are in theirs (tests/cli)."""

import json
import re

import pytest

from rpo._report import render
from rpo._report.page import SECTIONS
from rpo.cli.quality import quality_json
from tests.report.reading import near, section_of, strange, values


def known_of(found):
    return values(json.loads(json.dumps(quality_json(found))))


def test_what_is_sorted_by_is_in_the_json(found):
    known = known_of(found)
    page = render(found, title="t.csv")
    cells = re.findall(r'<t[hd](?: class="([^"]*)")?[^>]*? data-sort="([^"]+)"', page)
    sorts = [float(value) for kind, value in cells if kind != "marks"]
    assert len(sorts) > 60
    assert [value for value in sorts if not near(known, value, max(1e-5 * abs(value), 1e-9))] == []


@pytest.mark.parametrize("part", SECTIONS)
def test_what_is_shown_is_in_the_json(found, part):
    sizes = (len(found.domains), len(found.features), len(found.rows))
    assert strange(section_of(render(found, title="t.csv"), part), known_of(found), sizes) == []


def test_a_number_that_is_not_in_the_json_is_found():
    assert strange("noise 1.23, 45 % of 678 rows", values({"noise": 1.234, "rows": [678]})) == [(45.0, True)]
