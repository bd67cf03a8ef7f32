"""The studies of Colored-MNIST: who is in them, under which protocol, and what is said of the figures."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from scipy import stats

from rpo._stats.significance import holm
from rpo.engine import Config, mlp, train
from rpo.exceptions import InputError
from rpo.functional.penalties import optimal_lambda
from rpo.methods import get_method, methods
from rpo_lab.cmnist import (
    COMPARISON,
    CURVES,
    FAIR,
    LITERAL,
    PERMUTED,
    PRINTED,
    RPO,
    SAME_FORM,
    SETTINGS,
    SPLIT,
    USUAL,
    ablation,
    cmnist,
    comparison,
    data_of,
    fair,
    literal,
    numbers_of,
    severity,
)
from rpo_lab.data.colored import colored_mnist, random_setting
from rpo_lab.runner.figures import half_width
from rpo_lab.runner.problems import load
from rpo_lab.runner.render import header, to_csv, to_html, to_markdown
from rpo_lab.runner.results import Cell, make_results
from rpo_lab.runner.selection import get_rule
from rpo_lab.runner.specification import DataSpec, Run, Training, complete
from rpo_lab.runner.stacks import run_stack
from rpo_lab.runner.store import Measured, Record


def test_every_classification_method_is_there_with_a_grid_of_one_size():
    ours = {row.method for row in (*fair(), *literal())}
    assert {row.method for row in comparison()} | ours >= {m.name for m in methods("binary")} - {"irm-lip-cv"}
    assert len(comparison()) == 30  # the paper's twenty, and ten since
    assert {len(row.grid) for row in (*comparison(), *fair())} == {len(comparison()[0].grid)}
    assert {len(row.grid) for row in literal()} == {1}


def test_the_default_comes_first_and_every_run_can_be_made():
    for view in cmnist("paper", digits="sklearn"):
        for run in view.study.runs():
            assert complete(run).digest == run.digest
    for row in comparison():
        plain = complete(Run(data=DataSpec(name="colored"), method=row.method, options=dict(row.options)))
        first = complete(plain.model_copy(update={"numbers": dict(row.grid[0])}))
        changed = {name for name in plain.numbers if plain.numbers[name] != first.numbers[name]}
        assert changed <= {"lam"}, row.label  # by formula, where there is one
        assert len({str(complete(plain.model_copy(update={"numbers": dict(g)})).numbers) for g in row.grid}) == len(
            row.grid
        )


def test_the_two_protocols():
    tuned, untuned = cmnist(digits="sklearn")
    rows = {view.name: {row.label: row for row in view.study.rows} for view in (tuned, untuned)}
    assert rows["cmnist"][RPO].options == FAIR
    assert rows["cmnist-literal"][RPO].options == LITERAL
    assert LITERAL["reduction"] == "sum"
    assert LITERAL["scheme"] == "paper"
    assert rows["cmnist-literal"][SAME_FORM].options["reduction"] == "sum"
    assert all(len(row.grid) == 1 for row in untuned.study.rows)
    assert untuned.rule == "formula"
    # The untuned runs of the comparison methods are among the tuned ones: nothing is trained twice.
    known = {run.digest for run in tuned.study.runs()}
    others = replace(untuned.study, rows=tuple(row for row in untuned.study.rows if row.section == COMPARISON))
    assert {run.digest for run in others.runs()} <= known


def test_uniform_penalties_are_irm_lip_but_for_the_centre():
    """Why the tuned protocol has no row of uniform penalties.

    The calibrated dummy scales logits about the log odds of classes that are nearly even here.
    """
    base = {
        "data": DataSpec(name="colored", options={"setting": 1, "digits": "sklearn"}),
        "training": Training(hidden=(8,), steps=8, batch_size=16),
    }
    uniform = complete(Run(method="rpo-uniform", numbers={"strength": 50.0}, options=dict(FAIR), **base))
    numbers = {"eta": 50.0, "lam": "formula"}
    irm = complete(Run(method="irm-lip", numbers=numbers, options={"irm_estimator": "split"}, **base))
    (a,), (b,) = run_stack([uniform]), run_stack([irm])
    assert a.measured.validation_risk == pytest.approx(b.measured.validation_risk, rel=2e-3)
    assert a.measured.test["test"] == pytest.approx(b.measured.test["test"], rel=1e-2)
    (exact,) = run_stack([uniform.model_copy(update={"options": {**uniform.options, "centre": "zero"}})])
    assert exact.measured == b.measured


def test_what_the_centre_changes():
    """The difference in logits that docs/algorithm.md and docs/results/cmnist.md have."""
    data = load(DataSpec(name="colored", options={"setting": 1, "digits": "sklearn"}), seed=0).train
    data = data.to(torch.device("cpu"), torch.float64)

    def logits(method, values):
        numbers, options = get_method(method).fill(values)
        network = partial(mlp, data.row_shape[0], 1, (16,))
        config = Config(steps=60, batch_size=16, dtype=torch.float64, progress=False)
        trained = train(method, network, data, seeds=[0], numbers=numbers, options=options, config=config)
        return trained.output(data.x)[0]

    irm = logits("irm-lip", {**SPLIT, "eta": 100.0, "lam": optimal_lambda(data.size(1)[0].numpy())})
    gap = {
        centre: float((logits("rpo-uniform", {**FAIR, "strength": 100.0, "centre": centre}) - irm).abs().max())
        for centre in (None, "zero")
    }
    assert gap[None] == pytest.approx(0.044, abs=0.005)
    assert gap["zero"] < 1e-9


@pytest.mark.parametrize("words", ["1,15", "one", "", "1;2"])
def test_settings_that_are_not_there(words):
    with pytest.raises(InputError, match="setting"):
        numbers_of(words)


def test_settings_by_words():
    assert numbers_of("13, 1,1") == (13, 1)
    assert numbers_of("all") == SETTINGS
    with pytest.raises(InputError, match="methods must .* got 'few'"):
        cmnist(methods="few")


def hand_made(view, means, noise=None):
    """A table whose cells have the given means, 0.5 for the others, and noise of a row's own over its seeds."""
    study = view.study
    records = {}
    for row, setting in study.cells():
        for seed in study.seeds:
            for run in study.candidates(row, setting, seed):
                own = (noise or {}).get(row.label)
                value = means.get(row.label, 0.5) + (own[seed] if own else 0.001 if seed else -0.001)
                test = {"test": {"accuracy": value, "auc": value}}
                measured = Measured(validation_risk=[0.6] * 3, validation_irm=[0.1] * 3, test=test)
                records[run.digest] = Record(run=run, status="done", measured=measured, seconds=0, versions={})
    return make_results(study, records, get_rule(view.rule or "irm"), title=view.title, printed=view.printed)


def test_words_either_way():
    tuned, untuned = cmnist(settings="1", digits="sklearn")
    words = "\n".join(tuned.words(hand_made(tuned, {RPO: 0.7, "MTL": 0.6})))
    assert "RPO has test accuracy 0.700, above the best comparison method, MTL (0.600)" in words
    assert "better than 30 of 30" in words
    assert "It is better than IRM + lip or its own penalties permuted on Setting 1 (Bad Domain), AUC" in words
    words = "\n".join(untuned.words(hand_made(untuned, {RPO: 0.3, PERMUTED: 0.4})))
    assert "not above the best comparison method" in words
    assert "better than 0 of 30" in words
    assert "no evidence that the placement of the penalties helps" in words


def test_many_settings_go_down_the_page():
    tuned, _ = cmnist(settings="all", methods="main", digits="sklearn")
    table = hand_made(tuned, {RPO: 0.7, "ERM + l2": 0.1})
    assert table.tall
    assert header(table) == [row.label for row in tuned.study.rows]
    # Six settings, accuracy and AUC; on a page of its own once more, the risk at home.
    for form, times in ((to_markdown, 1), (to_html, 2)):
        text = form(table)
        assert text.count("Bad Domain") == 12 * times
        assert "0.700" in text
    assert "Setting 14 (Mixup), AUC" in to_csv(table)
    line, said = tuned.words(table)
    assert "RPO has the best mean in 28 of 28 columns" in line
    assert "than ERM + l2 28 and 0" in line
    assert "of 56 comparisons, RPO differs with p < 0.05 in 56 by Welch's test (better in 56, worse in 0); " in said
    assert said.endswith("It is better than IRM + lip or its own penalties permuted on 28 of 28 columns.")
    _, said = tuned.words(hand_made(tuned, {RPO: 0.3, PERMUTED: 0.1}))
    assert "in 56 by Welch's test (better in 28, worse in 28); " in said


def test_differences_from_controls_are_also_corrected_for_their_number():
    tuned, _ = cmnist(settings="1", digits="sklearn", seeds=5)
    noise = [0.0, 0.02, -0.02, 0.01, -0.01]
    table = hand_made(tuned, {RPO: 0.5, PERMUTED: 0.522}, {PERMUTED: noise, "IRM + lip": noise[::-1]})
    p = [
        table.cell(label, s.label).comparison.p_paired
        for label in ("IRM + lip", PERMUTED)
        for s in table.study.settings
    ]
    assert sum(value < 0.05 for value in p) == 2
    assert sum(value < 0.05 for value in holm(p)) == 0
    said = next(line for line in tuned.words(table) if line.startswith("Controls"))
    assert "; 2 by the paired test: RPO, penalties permuted on Setting 1 (Bad Domain), accuracy (0.522 " in said
    assert "After Holm's correction, 0 by the paired test." in said


def test_ablation_beside_the_papers_figures():
    tuned, untuned = ablation(digits="sklearn")
    assert {row for column in PRINTED.values() for row in column} == {row.label for row in tuned.study.rows}
    words = tuned.words(hand_made(tuned, {"RPO-Pen": 0.6, "RPO-Lip": 0.4, RPO: 0.65}))
    assert "RPO-Pen 0.600, RPO-Lip 0.400: the half that the paper finds better is better here." in words[0]
    assert "RPO, 0.650, is above 2 of the two, with p < 0.05 above 2" in words[0]
    assert "better is not better here." in words[2]
    assert "0.398 ± 0.01" in to_markdown(hand_made(untuned, {}))


def test_data_sets_have_a_name_and_a_size():
    assert list(data_of([13])) == ["Setting 13 (Mixup)"]
    spec = data_of([13], "sklearn")["Setting 13 (Mixup)"]
    assert spec.options == {"setting": 13, "digits": "sklearn"}


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


def test_words_and_figure_of_growing_corruption(tmp_path):
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
