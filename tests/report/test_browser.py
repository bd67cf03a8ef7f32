"""The page in a real browser: no error, sorts, prints, fits a phone, light and dark."""

import base64
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

import rpo
from rpo._report import write_report

webdriver = pytest.importorskip("selenium.webdriver")
BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (BROWSER and DRIVER), reason="no chromium with its driver on this machine")

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run")
QUIET = ("--disable-background-networking", "--disable-component-update", "--disable-sync")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, *QUIET, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.set_capability("timeouts", {"script": 120_000})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def opened(browser, found, tmp_path):
    """The page of one table, open at 1280 by 800."""
    write_report(found, tmp_path / "page.html", title="t.csv")
    screen(browser, 1280)
    browser.get((tmp_path / "page.html").as_uri())
    return browser


def screen(browser, width, scheme="light", media=""):
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})


def column(browser, table, place):
    script = (
        "return [...document.querySelectorAll(arguments[0] + ' tbody tr')]"
        ".map((row) => row.cells[arguments[1]].dataset.sort)"
    )
    return browser.execute_script(script, table, place)


def test_opens_without_an_error_or_a_request_and_shows_names_as_text(opened, found):
    assert opened.get_log("browser") == []
    assert opened.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert found.table.target in opened.find_element("tag name", "header").text
    assert found.domains["domain"][0] in opened.find_element("id", "domains").text
    assert opened.title == "Data quality: t.csv"


def test_sorts_up_and_down_by_click_and_by_key(opened, found):
    heading = opened.find_elements("css selector", "#domains thead button")[6]
    assert heading.text in ("noise", "wrong labels")
    heading.click()
    known = [float(value) for value in column(opened, "#domains", 6) if value]
    assert known == sorted(known)
    assert len(known) == found.domains["noise"].notna().sum()
    assert all(value == "" for value in column(opened, "#domains", 6)[len(known) :])
    heading.send_keys("\ue007")  # Enter
    assert [float(value) for value in column(opened, "#domains", 6) if value] == sorted(known, reverse=True)
    assert opened.execute_script("return arguments[0].closest('th').ariaSort", heading) == "descending"
    name = opened.find_elements("css selector", "#domains thead button")[0]
    name.click()
    script = (
        "const names = [...document.querySelectorAll('#domains tbody th')].map((cell) => cell.textContent);"
        "return [names, [...names].sort((a, b) => a.localeCompare(b))]"
    )
    shown, in_order = opened.execute_script(script)
    assert shown == in_order
    assert sorted(shown) == sorted(found.domains["domain"])


def shown(browser, section):
    script = "return [...document.querySelectorAll(arguments[0] + ' tbody tr')].filter((row) => !row.hidden).length"
    return browser.execute_script(script, section)


def test_long_tables_are_folded_and_searched(opened, found):
    every = len(found.domains)
    if every <= 20:
        assert not opened.find_elements("css selector", "#domains .tools")
        return
    tools = opened.find_element("css selector", "#domains .tools")
    assert tools.find_element("tag name", "output").text == f"20 of {every} shown"
    assert shown(opened, "#domains") == 20
    tools.find_element("tag name", "button").click()
    assert shown(opened, "#domains") == every
    name = found.domains["domain"][0]
    tools.find_element("tag name", "input").send_keys(name.lower())
    assert shown(opened, "#domains") == found.domains["domain"].str.contains(name, regex=False).sum()
    assert opened.find_element("css selector", "#domains tbody tr:not([hidden]) th").text == name


def test_folds_open(opened):
    fold = opened.find_element("css selector", "#paper details")
    assert not fold.find_element("tag name", "table").is_displayed()
    fold.find_element("tag name", "summary").click()
    assert fold.find_element("tag name", "table").is_displayed()


def test_everything_can_be_reached_by_tab(opened):
    script = (
        "const all = [...document.querySelectorAll('a, button, summary, input, .wide')];"
        "return [all.length, all.filter((e) => e.tabIndex >= 0).length]"
    )
    every, reached = opened.execute_script(script)
    assert every == reached > 20


def test_fits_a_phone(opened):
    screen(opened, 375)
    assert opened.execute_script("return document.documentElement.scrollWidth") <= 375
    assert opened.execute_script("return parseFloat(getComputedStyle(document.body).fontSize)") >= 14


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_can_be_read(opened, scheme):
    screen(opened, 1280, scheme)
    script = "const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]"
    ink, paper = (luminance(colour) for colour in opened.execute_script(script))
    assert (paper > 0.8) if scheme == "light" else (paper < 0.05)
    assert (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05) > 7  # the contrast that WCAG asks of its best grade


def luminance(colour):
    channels = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """The source of axe-core, from npm."""
    if shutil.which("npm") is None:
        pytest.skip("no npm on this machine")
    folder = tmp_path_factory.mktemp("axe")
    words = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), "axe-core@4"]
    if subprocess.run(words, capture_output=True, timeout=120, check=False).returncode:
        pytest.skip("axe-core cannot be installed")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(opened, axe, scheme):
    screen(opened, 1280, scheme)
    opened.execute_script("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    opened.execute_script(axe)
    script = (
        "const done = arguments[arguments.length - 1];"
        "axe.run().then((found) => done(found.violations.map((v) => [v.impact, v.id, v.nodes[0].html.slice(0, 200)])))"
    )
    found = opened.execute_async_script(script)
    assert [fault for fault in found if fault[0] in ("serious", "critical")] == []


@pytest.fixture(scope="module")
def new_clinic(tmp_path_factory):
    """The page of a fitted model, and the check of a new table, in one file."""
    rng = np.random.default_rng(0)
    site = np.repeat(list("abcdefghijkl"), 15)
    frame = pd.DataFrame({"age": rng.normal(50, 9, 180), "dose": rng.normal(3, 1, 180), "site": site})
    target = frame["age"] / 10 + rng.normal(size=180)
    model = rpo.QualityRegressor("linear", grouping="none", verbose=False).fit(frame, target, domains="site")
    check = rpo.check(model, frame.head(30).assign(dose=30.0), target=target.head(30), domain="site")
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_report(model.quality_, path, title="new.csv", model=model, check=check)
    return path


@pytest.mark.parametrize(("width", "media"), [(1280, ""), (375, ""), (720, "print")])
def test_the_page_of_a_fit_and_a_check_fits(browser, new_clinic, width, media):
    screen(browser, width, media=media)
    browser.get(new_clinic.as_uri())
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= (860 if media else width)
    assert "achieved" in browser.find_element("id", "fitted").text
    assert "outside" in browser.find_element("id", "check").text


def test_prints_whole(opened, found):
    pdf = base64.b64decode(opened.print_page())
    assert pdf.startswith(b"%PDF")
    assert pdf.count(b"/Type /Page\n") >= (3 if len(found.domains) > 50 else 1)
    screen(opened, 720, media="print")
    cut = (
        "return [...document.querySelectorAll('.wide')]"
        ".filter((e) => e.checkVisibility() && (getComputedStyle(e).overflowY !== 'visible'"
        " || e.clientHeight < e.firstElementChild.clientHeight))"
        ".length"
    )
    assert opened.execute_script(cut) == 0
    assert opened.execute_script("return document.documentElement.scrollWidth") <= 860  # a browser shrinks a little
    assert not opened.find_element("tag name", "nav").is_displayed()
    # No table is wider than the paper, and where columns were left out for it, a sentence says so.
    over = (
        "return [...document.querySelectorAll('.wide > table')].filter((e) => e.checkVisibility()"
        " && e.getBoundingClientRect().right > 860).map((e) => e.caption.textContent)"
    )
    assert opened.execute_script(over) == []
    left_out = "return [...document.querySelectorAll('#rows thead th')].some((e) => !e.checkVisibility())"
    assert bool(opened.find_elements("css selector", "#rows .onpaper")) == opened.execute_script(left_out)
    # A button in a heading would leave the heading empty on every page but the first.
    heading = "return getComputedStyle(document.querySelector('thead button')).display"
    assert opened.execute_script(heading) == "contents"
