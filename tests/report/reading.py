"""Numbers as a page shows them, held against those that a command prints as JSON."""

import html
import re

import numpy as np

# Of the page's own words: rows count from 1, 95 % intervals, Proposition 1, p < 0.0001.
OWN = (1, 2, 5, 20, 95, 0.0001)


def values(found):
    """All numbers of what JSON holds, those inside its texts too."""
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

    walk(found)
    return np.unique(numbers)


def tokens(text):
    """Each number in a text, half a step of its last digit, and whether it is a percentage."""
    for sign, digits, exponent, share in re.findall(r"([−-]?)(\d[\d,]*(?:\.\d+)?)(e[+-]?\d+)?(\s?%)?", text):
        plain = digits.replace(",", "")
        size = float(plain + exponent)
        step = 10.0 ** -len(plain.partition(".")[2]) * float("1" + exponent)
        yield (-size if sign else size), step / 2, bool(share)


def near(known, number, step):
    """Whether a number is among those known, to half a step."""
    place = np.searchsorted(known, number)
    return any(abs(known[i] - number) <= step * 1.0001 for i in (place - 1, place) if 0 <= i < len(known))


def section_of(page, name):
    """The words of one section, without its drawings."""
    text = page.split(f'<section id="{name}"')[1].split("</section>")[0].partition(">")[2]
    return html.unescape(re.sub(r"<svg.*?</svg>|<a [^>]*>|<[^>]*>", " ", text, flags=re.S))


def strange(text, known, besides=()):
    """Numbers of a text that are neither known, nor a hundredth of a percentage, nor of the page's own words."""
    known = np.concatenate([known, OWN, besides])
    known = np.unique(np.concatenate([known, -known]))  # a range may read as a minus sign
    hundredths = np.unique(100 * known)
    text = re.sub(r"[\d,]+ more [\w ]+ are not shown|Show all [\d,]+", "", text)  # what is on the page
    # Sizes are compared to the digit shown; names are cut where they are long, so a number at a cut may be cut too.
    return [
        (number, share)
        for number, step, share in tokens(re.sub(r"\S*…", "", text))
        if not (near(known, number, step) or (share and near(hundredths, number, step)))
    ]
