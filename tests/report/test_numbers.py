"""Every number of the page is in `rpo quality --json`."""

import html
import json
import re

import numpy as np
import pytest

from rpo.cli.quality import quality_json
from rpo.report import render

OWN = {1, 2, 5, 20, 95, 0.0001}  # of the page's own words: rows count from 1, 95 % intervals, Proposition 1, p < 0.0001


def values(found):
    """All numbers of the JSON, those inside its texts too."""
    numbers: list[float] = []

    def walk(value):
        if isinstance(value, dict):
            for name, part in value.items():
                walk(name)
                walk(part)
        elif isinstance(value, list):
            for part in value:
                walk(part)
        elif isinstance(value, str):
            numbers.extend(number for number, _, _ in tokens(value))
        elif value is not None:
            numbers.append(float(value))

    walk(json.loads(json.dumps(quality_json(found))))
    return np.unique(numbers)


def tokens(text):
    """Each number in a text, half a step of its last digit, and whether it is a percentage."""
    for sign, digits, exponent, share in re.findall(r"([−-]?)(\d[\d,]*(?:\.\d+)?)(e[+-]?\d+)?(\s?%)?", text):
        plain = digits.replace(",", "")
        size = float(plain + exponent)
        step = 10.0 ** -len(plain.partition(".")[2]) * float("1" + exponent)
        yield (-size if sign else size), step / 2, bool(share)


def near(known, number, step):
    place = np.searchsorted(known, number)
    return any(abs(known[i] - number) <= step * 1.0001 for i in (place - 1, place) if 0 <= i < len(known))


def test_what_is_sorted_by_is_in_the_json(found):
    known = values(found)
    page = render(found, title="t.csv")
    cells = re.findall(r'<t[hd](?: class="([^"]*)")?[^>]*? data-sort="([^"]+)"', page)
    sorts = [float(value) for kind, value in cells if kind != "marks"]
    assert len(sorts) > 60
    strange = [value for value in sorts if not near(known, value, max(1e-5 * abs(value), 1e-9))]
    assert strange == []


@pytest.mark.parametrize("part", ["summary", "domains", "columns", "strata", "heat", "rows", "paper"])
def test_what_is_shown_is_in_the_json(found, part):
    known = np.concatenate([values(found), sorted(OWN)])
    known = np.unique(np.concatenate([known, -known]))  # a range may read as a minus sign
    text = render(found, title="t.csv").split(f'<section id="{part}"')[1].split("</section>")[0]
    text = html.unescape(re.sub(r"<svg.*?</svg>|<a [^>]*>|<[^>]*>", " ", text, flags=re.S))
    hundredths = np.unique(100 * known)
    text = re.sub(r"[\d,]+ more [\w ]+ are not shown|Show all [\d,]+", "", text)  # what is on the page
    # Sizes are compared to the digit shown; names are cut where they are long, so a number at a cut may be cut too.
    strange = [
        (number, share)
        for number, step, share in tokens(re.sub(r"\S*…", "", text))
        if not (near(known, number, step) or (share and near(hundredths, number, step)))
        and number not in (len(found.domains), len(found.features), len(found.rows))
    ]
    assert strange == []
