import numpy as np
import pytest
from scipy import stats

from rpo.exceptions import InputError
from rpo_lab.cmnist import CURVES, RPO, USUAL, severity
from rpo_lab.data.colored import colored_mnist, random_setting
from rpo_lab.runner.figures import half_width
from rpo_lab.runner.results import Cell, make_results
from rpo_lab.runner.selection import get_rule
from rpo_lab.runner.store import Measured, Record


def test_a_larger_share_adds_cells_and_drops_none():
    before = frozenset()
    for share in CURVES[0].values:
        cells = random_setting(share, seed=3).cells
        assert len(cells) == round(30 * share)
        assert before <= cells
        before = cells
    assert random_setting(0.3, seed=0).cells != random_setting(0.3, seed=1).cells
    data = colored_mnist(bad_share=0.3, digits="sklearn", seed=2)
    assert data.setting.cells == random_setting(0.3, 2).cells
    assert set(zip(data.domain[data.flipped], data.digit[data.flipped], strict=True)) <= data.setting.cells
    with pytest.raises(InputError, match="bad_share"):
        colored_mnist(bad_share=2, digits="sklearn")


def test_curves_meet_in_the_usual_corruption():
    study = severity(digits="sklearn").study
    specs = {}
    for setting in study.settings:
        specs.setdefault(str(sorted(setting.data.options.items())), []).append(setting.label)
    shared = [labels for labels in specs.values() if len(labels) > 1]
    assert shared == [[curve.label(USUAL[curve.option]) for curve in CURVES]]
    assert [(c.values[0], c.values[-1]) for c in CURVES] == [(0, 0.5), (0, 0.45), (0.1, 1)]


def test_half_width_is_students():
    values = np.array([0.1, 0.4, 0.45, 0.7])
    low, high = stats.t.interval(0.95, 3, values.mean(), values.std(ddof=1) / 2)
    assert half_width(Cell(dict(enumerate(values)))) == pytest.approx((high - low) / 2)
    assert np.isnan(half_width(Cell({0: 1.0})))


def test_words_and_figure(tmp_path):
    shown = severity(digits="sklearn")
    study = shown.study
    records = {}
    for row, setting in study.cells():
        for seed in study.seeds:
            for run in study.candidates(row, setting, seed):
                share = run.data.options["bad_share"]
                accuracy = 0.6 - share * (0.2 if row.label == RPO else 0.8) + 0.001 * (1 + 2 * seed)
                test = {"test": {"accuracy": accuracy, "auc": accuracy}}
                measured = Measured(validation_risk=[1.0], validation_irm=[1.0], test=test)
                records[run.digest] = Record(run=run, status="done", measured=measured, seconds=0, versions={})
    table = make_results(study, records, get_rule("irm"), title=shown.title)
    words = shown.words(table)
    assert "Share of bad cells, 0 to 0.5: ERM + l2 0.602 to 0.202" in words[0]
    assert "RPO 0.602 to 0.502" in words[0]
    assert "RPO compared with IRM + lip at 12 points: better with p < 0.05 at 11" in words[3]
    assert "worse at 0." in words[3]
    figure = shown.figure(table)
    assert [len(axis.lines) for axis in figure.axes] == [len(study.rows)] * 3
    paths = shown.draw(table, tmp_path)
    assert [path.name for path in paths] == ["severity.png", "severity.svg"]
    first = paths[1].read_bytes()
    shown.draw(table, tmp_path)
    assert paths[1].read_bytes() == first
