"""Pages and figures of studies: the answer first, short, at most three panels, no file large; people's words stay."""

import random
from dataclasses import replace

import pytest

from rpo_lab import cmnist, nico, quality_weights, table1
from rpo_lab.runner.figures import MOST_PANELS, View, panels_of
from rpo_lab.runner.page import BEST, marks, put, put_study, short_table
from rpo_lab.runner.results import make_results
from rpo_lab.runner.selection import get_rule
from rpo_lab.runner.store import Measured, Record
from rpo_lab.runner.study import Row

MOST_BYTES = 150_000
VIEWS = {
    view.name: view
    for view in (
        table1.view(table1.table1(seeds=2)),
        *cmnist.cmnist(seeds=2, digits="sklearn"),
        *cmnist.cmnist(seeds=2, settings="all", methods="main", digits="sklearn"),
        *cmnist.ablation(seeds=2, digits="sklearn"),
        cmnist.severity(seeds=2, digits="sklearn"),
        *nico.heads(nico.stand_in(), "paper", 2),
        nico.through(nico.stand_in(), "quick", 2),
        *(view for kind in quality_weights.KINDS for view in quality_weights.quality_weights(seeds=2, kinds=kind)),
    )
}


def drawn_by_lot(view, rule="formula"):
    """Results of a view whose figures are drawn by lot, errors over three decades."""
    rng = random.Random(0)
    records = {}
    for run in view.study.runs():
        chance = {"accuracy": rng.random(), "auc": rng.random(), "mse": 10 ** rng.uniform(-1, 2)}
        tests = dict.fromkeys(("test", "home"), chance)
        measured = Measured(validation_risk=[rng.random()], validation_irm=[rng.random()], test=tests)
        records[run.digest] = Record(run=run, status="done", measured=measured, seconds=0, versions={"rpo": "9"})
    return make_results(view.study, records, get_rule(rule), title=view.title, printed=view.printed)


def texts_of(figure):
    return " ".join(text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text")))


@pytest.mark.parametrize("name", VIEWS)
def test_figures_have_three_panels_at_most_and_nothing_but_data(name):
    view = VIEWS[name]
    results = drawn_by_lot(view)
    figure = view.figure(results)
    assert 1 <= len(figure.axes) <= MOST_PANELS
    assert figure.get_size_inches()[0] == 8
    figure.draw_without_rendering()
    assert min(axis.get_position().width for axis in figure.axes) > 0.6 / len(figure.axes)
    said = texts_of(figure)
    for words in ("Adam", "seeds", "float", "selection"):
        assert words not in said
    wide = [axis for axis in figure.axes if axis.get_xscale() == "log"]
    errors = any(setting.metric == "mse" for setting in view.study.settings)
    assert len(wide) == (len(figure.axes) if errors else 0)


@pytest.mark.parametrize("name", ["cmnist-literal", "severity", "quality-weights-before"])
def test_figures_are_small_files_and_always_the_same_bytes(name, tmp_path):
    view = VIEWS[name]
    results = drawn_by_lot(view)
    first, second = (view.draw(results, tmp_path / place) for place in ("a", "b"))
    assert [path.suffix for path in first] == [".png", ".svg"]
    assert all(path.stat().st_size <= MOST_BYTES for path in first)
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert first[0].read_bytes().startswith(b"\x89PNG")
    assert first[1].read_text().startswith("<?xml")


def test_panels_are_as_the_settings_say_or_one_a_metric():
    names = {name: list(panels_of(drawn_by_lot(VIEWS[name]))) for name in ("table1", "cmnist", "cmnist-main")}
    assert names["table1"] == ["Cigar", "Wage"]
    assert names["cmnist"] == ["Setting 1 (Bad Domain)", "Setting 7 (Bad Group)", "Setting 13 (Mixup)"]
    assert names["cmnist-main"] == ["accuracy", "AUC"]


def test_a_page_has_the_best_few_of_many_methods_and_says_so():
    view = VIEWS["cmnist"]
    results = drawn_by_lot(view)
    text = short_table(results)
    assert "AUC" not in text
    for label in ("RPO-Pen", "RPO, penalties permuted"):
        assert f"| {label} |" in text
    others = [row.label for row in view.study.rows if row.section == cmnist.COMPARISON]
    shown = [label for label in others if f"| {label} |" in text]
    assert len(shown) == BEST
    assert f"{len(others) - BEST} methods that are not among the best" in text
    sums = {
        label: sum(
            sorted(-results.cell(other, s.label).mean for other in others).index(-results.cell(label, s.label).mean)
            for s in view.study.settings
            if s.metric == "accuracy"
        )
        for label in others
    }
    assert max(sums[label] for label in shown) <= min(sums[label] for label in others if label not in shown)


@pytest.mark.parametrize("name", ["table1", "cmnist", "cmnist-main", "quality-weights-plain"])
def test_a_section_is_short_and_everything_is_beside_it(name, tmp_path):
    view = VIEWS[name]
    results = [drawn_by_lot(view, rule) for rule in ("formula", "validation")]
    page = tmp_path / "docs" / "page.md"
    put_study(page, view, results, "rpo bench some", tmp_path / "figures" / f"{name}.svg")
    text = page.read_text()
    assert len(text.split()) < 1500
    assert text.index("- ") < text.index("|") < text.index("<details") < text.index("Adam")
    for words in ("made by `rpo bench some`", f"(../figures/{name}.svg)", f"](tables/{name}.html)"):
        assert words in text
    assert "grid:" not in text
    whole = (page.parent / "tables" / f"{name}.html").read_text()
    assert all(row.label.replace("'", "&#x27;") in whole for row in view.study.rows)
    assert "<dt>grid</dt>" in whole
    lines = (page.parent / "tables" / f"{name}.csv").read_text().splitlines()
    cells = [line for line in lines if not line.startswith("#")][1:]
    assert len(cells) == 2 * len(view.study.rows) * len(view.study.settings)


@pytest.mark.parametrize("methods", ["main", "all"])
def test_a_page_of_several_studies_has_means_of_a_few_rows(methods, tmp_path):
    page = tmp_path / "page.md"
    for view in quality_weights.quality_weights(seeds=2, kinds="plain,clean", methods=methods):
        put_study(page, view, [drawn_by_lot(view)], "rpo bench some", tmp_path / "some.svg")
    text = page.read_text()
    assert len(text.split()) < 900  # every comparison lost, and named
    assert "| Cigar 10 % |" in text
    assert "±" not in text
    assert text.count("means over seeds 0, 1.") == 2
    heads = [line for line in text.splitlines() if line.startswith("| | RPO-weights |")]
    known = " weights by the true noise |" if methods == "all" else ""
    assert heads == [
        f"| | RPO-weights | weights uniform | weights permuted |{known} IRM + lip |",
        "| | RPO-weights | weights uniform | weights permuted | IRM + lip |",  # clean rows have no noise to know
    ]


def test_the_page_keeps_what_people_wrote(small, tmp_path):
    study = replace(small.study(seeds=2), rows=(*small.study().rows[1:], Row("ERM", "erm-l2", ranked=False)))
    view = View("small", study, "Small", lambda results: ["It is so."])
    page, figure = tmp_path / "docs" / "small.md", tmp_path / "figures" / "small.svg"
    page.parent.mkdir()
    begin, end = marks("small")
    page.write_text(f"# Mine\n\n{begin}\nold figures\n{end}\n\nMy discussion.\n")
    put_study(page, view, [drawn_by_lot(view)], "rpo bench small", figure)
    text = page.read_text()
    assert text.startswith("# Mine\n")
    assert text.endswith("\n\nMy discussion.\n")
    assert "old figures" not in text
    for words in ("made by `rpo bench small`", "(../figures/small.svg)", "It is so."):
        assert words in text
    put_study(page, view, [drawn_by_lot(view)], "rpo bench small", figure)
    assert page.read_text() == text
    put(page, "large", "Another study.")
    assert page.read_text().endswith("<!-- large: begin -->\nAnother study.\n<!-- large: end -->\n")
    assert page.read_text().startswith(text.rstrip())
