"""README and the documentation: what they name exists, what they print runs, no page is long, no link is dead."""

import html
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rpo.cli import main

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="the documentation is not part of this copy")

PAGES = sorted(DOCS.rglob("*.md")) + [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")]
MOST_WORDS, RESULTS_WORDS = 2500, 2000
MOST_BYTES = 150_000  # of a figure
# Minutes or hours as printed; their options are taken, and nothing is trained.
SHORTER = {"compare": ["--seeds", "2", "--steps", "5", "--jobs", "1"], "bench": ["--dry-run"]}


def without_code(text):
    """A page without its blocks of code and its comments."""
    return re.sub(r"```.*?```|<!--.*?-->|`[^`\n]*`", "", text, flags=re.S)


def anchors(page):
    """What headings of a page are linked by."""
    found = re.findall(
        r"^#{1,6} (.*)$", re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S), flags=re.M
    )
    words = (re.sub(r"[^\w\s-]", "", title.replace("`", "")).strip().lower() for title in found)
    return {re.sub(r"[\s]+", "-", title) for title in words}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_link_is_dead(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text(encoding="utf-8"))):
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        assert place.exists(), target
        if anchor and place.suffix == ".md":
            assert anchor in anchors(place), target


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.relative_to(DOCS).as_posix())
def test_no_page_is_long(page):
    """Tables and code counted, as `wc -w` does; the reference grows when the site is built."""
    most = RESULTS_WORDS if page.parent.name == "results" else MOST_WORDS
    assert len(page.read_text(encoding="utf-8").split()) < most


def test_every_figure_is_shown_and_small_and_nothing_but_a_figure():
    """Of a figure in two forms one is shown."""
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    figures = [path for kind in ("png", "svg", "jpg") for path in (DOCS / "figures").rglob(f"*.{kind}")]
    assert len(figures) > 30
    for path in figures:
        assert any(f"{path.stem}.{kind})" in text for kind in ("png", "svg", "jpg")), path
        assert path.stat().st_size <= MOST_BYTES, path
        assert b"<metadata" not in path.read_bytes(), path


def test_every_page_is_in_the_navigation():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    named = re.findall(r": (\S+\.md)$", text, flags=re.M)
    assert sorted(named) == sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))
    assert len(named) == len(set(named))


@pytest.mark.parametrize(
    ("question", "page", "says"),
    [
        ("Is my data good?", "quality.md", "rpo.quality("),
        ("What do I get in a new hospital?", "new-domains.md", "predict_interval"),
        ("How do I add my loss?", "your-method.md", "@method("),
    ],
)
def test_three_questions_are_a_click_from_home(question, page, says):
    (line,) = [line for line in (DOCS / "index.md").read_text(encoding="utf-8").splitlines() if question in line]
    assert f"]({page})" in line
    assert says in (DOCS / page).read_text(encoding="utf-8")


def test_home_has_one_picture_and_one_snippet():
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    assert (text.count("!["), text.count("```python")) == (1, 1)
    assert len(text.split("\n\n")[1].splitlines()) <= 5


# The sections of a page that one command makes, by the word that their names begin with; the page; the records.
MADE = [
    ("table1", "table1", "table1"),
    ("readings", "readings", "readings"),
    ("quality-weights", "quality-weights", "quality-weights"),
    ("quality-weights", "quality-weights-kinds", "quality-weights-kinds"),
    ("cmnist", "cmnist", "cmnist"),
    ("ablation", "cmnist-more", "cmnist"),
    ("severity", "cmnist-more", "severity"),
    ("penalties", "cmnist-more", "penalties"),
    ("cmnist-main", "cmnist-settings", "cmnist-main"),
    ("penalties", "cmnist-settings", "penalties"),
    ("photos", "photos", "photos"),
    ("real", "real", "real"),
]
QUICK = ("table1", "readings", "quality-weights")


@pytest.mark.parametrize(
    ("name", "page", "records"),
    [made if made[1] in QUICK else pytest.param(*made, marks=pytest.mark.slow) for made in MADE],
)
def test_a_page_is_what_its_records_say(name, page, records, tmp_path, monkeypatch):
    """The command printed on the page, from the records beside it, gives the page and the tables beside it again."""
    results = DOCS / "results"
    page, records = results / f"{page}.md", results / "records" / f"{records}.jsonl.gz"
    text = page.read_text(encoding="utf-8")
    made = rf"(<!-- ({name}[\w-]*): begin -->)((?:(?!: end -->).)*?[mM]ade by `(rpo bench .*?)`.*?)(<!-- \2: end -->)"
    sections = re.findall(made, text, flags=re.S)
    (words,) = {section[3] for section in sections}
    copy = tmp_path / "docs" / "results" / page.name
    copy.parent.mkdir(parents=True)
    copy.write_text(re.sub(made, r"\1\n\5", text, flags=re.S), encoding="utf-8")
    assert copy.read_text(encoding="utf-8") != text
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [*shlex.split(words), "--records", str(records), "--out", "out"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    assert copy.read_text(encoding="utf-8") == text
    tables = list((copy.parent / "tables").glob("*.csv"))
    assert {table.name for table in tables} == set(re.findall(r"tables/([\w-]+\.csv)", str(sections)))
    for table in tables:
        assert table.read_text(encoding="utf-8") == (page.parent / "tables" / table.name).read_text(encoding="utf-8")


def commands(text):
    """The lines of a page that the shell would take."""
    lines = re.findall(r"^    ((?:rpo|make) .*?)(?:\s+#.*)?$", text, flags=re.M)
    return [part.strip() for line in lines for part in line.split("&&")]


def test_readme_is_short_and_its_targets_are_there():
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 120
    made = {line.split()[1] for line in commands(text) if line.startswith("make ")} | set(
        re.findall(r"`make ([\w-]+)`", text)
    )
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M))
    assert made
    assert made <= known


@pytest.mark.slow
def test_every_command_and_snippet_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    county = np.repeat([f"county {i:02d}" for i in range(12)], 25)
    homes = pd.DataFrame({"county": county, "floor": rng.integers(0, 3, 300), "uranium": rng.normal(size=300)})
    homes["radon"] = homes["floor"] + rng.normal(size=300)
    homes.to_csv("homes.csv", index=False)
    homes.head(40).drop(columns="radon").to_csv("new-homes.csv", index=False)
    text = README.read_text(encoding="utf-8")
    lines = [shlex.split(line) for line in commands(text) if line.startswith("rpo ")]
    assert len(lines) >= 11
    for words in lines:
        if words[1:3] == ["data", "get"]:  # downloads; tests/cli/test_data.py has it
            continue
        # These need data that were fetched: their options are taken, and no more.
        rest = ["--help"] if words[1:3] in (["bench", "nico"], ["bench", "real"]) else SHORTER.get(words[1], [])
        monkeypatch.setattr(sys, "argv", [*words, *rest])
        with pytest.raises(SystemExit) as stop:
            main()
        assert not stop.value.code, words
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.S):
        exec(compile(block, str(README), "exec"), {"__name__": "__main__"})
    assert {"homes.html", "homes-model", "predicted.csv", "cigar-model", "theory"} <= {
        path.name for path in tmp_path.iterdir()
    }


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site."""
    pytest.importorskip("mkdocs")
    place = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(place)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return place


@pytest.mark.slow
def test_the_site_asks_nobody_for_anything(site):
    """No script, style, font or picture from elsewhere; links that a reader may click are no requests."""
    for page in site.rglob("*.html"):
        text = html.unescape(page.read_text(encoding="utf-8"))
        assert re.findall(r"<(?:script|img|iframe)[^>]*\ssrc=[\"']?(?:https?:)?//", text) == [], page
        assert (
            re.findall(r"<link[^>]*rel=[\"']?(?:stylesheet|preconnect|icon)[^>]*href=[\"']?(?:https?:)?//", text) == []
        ), page
    for style in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(?:https?:)?//|@import", style.read_text(encoding="utf-8")), style


@pytest.mark.slow
def test_the_reference_has_every_method_with_its_hyperparameters(site):
    from rpo.methods import methods

    text = html.unescape((site / "reference.html").read_text(encoding="utf-8"))
    for method in methods():
        assert method.name in text
        for hyper in method.space.values():
            assert hyper.words in text, (method.name, hyper.words)


@pytest.mark.slow
def test_search_works_from_a_folder(site, tmp_path):
    webdriver = pytest.importorskip("selenium.webdriver")
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (browser and driver):
        pytest.skip("no chromium with its driver on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    quiet = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run")
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", *quiet, f"--user-data-dir={tmp_path}"):
        options.add_argument(flag)
    window = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        window.get((site / "index.html").as_uri())
        window.implicitly_wait(20)
        window.set_window_size(400, 800)
        window.find_element("css selector", "label.md-header__button[for=__search]").click()
        window.find_element("css selector", "input.md-search__input").send_keys("conformal")
        assert window.find_element("css selector", ".md-search-result__link").get_attribute("href").startswith("file:")
        asked = window.execute_script("return performance.getEntriesByType('resource').map((e) => e.name)")
        assert [name for name in asked if name.startswith("http")] == []
    finally:
        window.quit()
