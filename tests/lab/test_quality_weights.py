"""The study of quality weights: who is in it, on what data, and what is said of the figures."""

from collections import OrderedDict

import numpy as np
import pytest

from rpo.exceptions import InputError
from rpo_lab.quality_weights import (
    IRM,
    KINDS,
    KNOWN,
    PERMUTED,
    SAME,
    UNIFORM,
    WEIGHTS,
    quality_weights,
    rows,
    settings,
    summary,
)
from rpo_lab.runner import judged, problems
from rpo_lab.runner.problems import load
from rpo_lab.runner.results import make_results
from rpo_lab.runner.selection import get_rule
from rpo_lab.runner.specification import DataSpec, complete
from rpo_lab.runner.store import Measured, Record


def test_every_run_can_be_made_and_no_seed_was_looked_at():
    looked, quoted = (
        {seed for view in quality_weights(profile) for seed in view.study.seeds} for profile in ("quick", "paper")
    )
    assert max(looked) < min(quoted)
    assert len(quoted) == 30
    assert min(quoted) == 500  # 300–339 were looked at before
    for view in quality_weights():
        for run in view.study.runs():
            assert complete(run).digest == run.digest


@pytest.mark.parametrize("kind", KINDS)
def test_settings_of_a_kind_load_and_differ(kind):
    columns = settings(kind)
    assert len({setting.label for setting in columns}) == len(columns)
    drawn = [load(setting.data, seed=0) for setting in columns]
    assert len({(float((p.train.x.sum(1) * p.train.y).sum()), float(p.train.x[:, -9:].sum())) for p in drawn}) == len(
        columns
    )


def test_known_noise_weighs_the_rows_of_bad_digits_less():
    plain = load(DataSpec(name="digits", options={"bad_share": 0.3, "flip": 0.25}), seed=0).train
    known = load(DataSpec(name="digits", options={"bad_share": 0.3, "flip": 0.25, "known_noise": True}), seed=0).train
    assert plain.weight.unique().tolist() == [1.0]
    assert known.weight.unique().tolist() == [0.25, 1.0]
    cells = {(int(e), int(k)) for e, k in zip(known.domain, known.stratum, strict=True)}
    light = {(int(e), int(k)) for e, k, w in zip(known.domain, known.stratum, known.weight, strict=True) if w < 1}
    assert len(light) == round(0.3 * 30)
    assert light < cells


def test_colours_by_chance_say_nothing():
    data = load(DataSpec(name="digits", options={"colours": "chance"}), seed=0).train
    red = data.x[:, 64:].sum(1) > 0
    assert abs(np.corrcoef(red.numpy(), data.y.numpy())[0, 1]) < 0.1
    with pytest.raises(InputError, match="colours must .* got 'grey'"):
        load(DataSpec(name="digits", options={"colours": "grey"}), seed=0)


def records(view, means):
    """Made-up records: a mean by row, and the same noise by seed for all."""
    made = {}
    for row, setting in view.study.cells():
        for seed in view.study.seeds:
            (run,) = view.study.candidates(row, setting, seed)
            mse = means.get(row.label, 1.0) + 0.1 * np.sin(seed) + 0.01 * np.sin(7 * seed + len(row.label))
            measured = Measured(validation_risk=[1.0], validation_irm=[1.0], test={"test": {"mse": mse}})
            made[run.digest] = Record(run=run, status="done", seconds=1.0, versions={}, measured=measured)
    return made


def test_words_say_where_the_weights_win_and_where_not():
    (view,) = quality_weights("paper", kinds="plain", noisy="30,50", methods="main")
    means = {WEIGHTS: 1.0, IRM: 2.0, PERMUTED: 0.5, UNIFORM: 1.5}
    table = make_results(view.study, records(view, means), get_rule("formula"), title="t", correction="holm")
    said = summary(table)
    each = f"than {IRM} in 4 of 4, than {PERMUTED} in 0 of 4, than {UNIFORM} in 4 of 4"
    assert said[0].startswith(f"{WEIGHTS}: better with p < 0.01 in 8 of 12 comparisons ({each}), worse in 4 (paired")
    assert view.answers == 1  # a page has the answer alone
    assert f"{WEIGHTS} compared with {IRM}: better on Cigar 30 % (" in said[1]
    assert f"{WEIGHTS} compared with {PERMUTED}: better on none of the sets; worse on Cigar 30 %" in said[2]
    assert f"{WEIGHTS} compared with {UNIFORM}: better on Cigar 30 % (" in said[3]
    assert f"Cigar 30 %: the MSE of {WEIGHTS} is -3" in said[4]
    assert f"{PERMUTED} -50." in said[-1]


def test_the_same_figures_are_no_win():
    (view,) = quality_weights("paper", kinds="plain", noisy="30", methods="main")
    for digest, record in (made := records(view, {})).items():
        made[digest] = record.model_copy(
            update={"measured": record.measured.model_copy(update={"test": {"test": {"mse": 1.0}}})}
        )
    said = summary(make_results(view.study, made, get_rule("formula"), title="t", correction="holm"))
    assert "in 0 of 6 comparisons" in said[0]
    assert "worse in 0 (paired" in said[0]


def test_the_weights_and_their_controls_differ_in_what_rows_count_alone():
    asked = {row.label: (row.judged, dict(row.data)) for row in rows("main")}
    main = {WEIGHTS: ("weights", {}), PERMUTED: ("permuted", {}), UNIFORM: ("uniform", {}), IRM: (None, {})}
    assert asked == main
    by_label = {row.label: row for row in rows() if row.label in (*main, KNOWN)}
    assert by_label[KNOWN].judged == "uniform"
    assert by_label[KNOWN].data == {"known_noise": True}
    ours = [row for row in by_label.values() if row.judged]
    assert {(row.method, str(row.grid), str(row.options)) for row in ours} == {("irm-lip-cv", "({'eta': 0.1},)", "{}")}
    (same,) = (row for row in rows() if row.label == SAME)
    assert (same.method, same.grid, same.judged) == (ours[0].method, ours[0].grid, None)


def test_the_row_of_the_weights_trains_on_judged_rows(monkeypatch):
    """Of what each row trains on, with a judgement made up: cell (0, 0) is noisy and the first feature is flagged."""

    def judgement(data):
        stays = np.arange(data.row_shape[0]) > 0
        return judged.Judgement(np.where((data.domain == 0) & (data.stratum == 0), 0.1, 1.0), stays)

    monkeypatch.setattr(judged, "judgement", judgement)
    monkeypatch.setattr(problems, "_kept", OrderedDict())  # what is made up stays here
    (view,) = quality_weights(kinds="before", noisy="50", seeds=2)
    setting = view.study.settings[0]
    asked = {
        row.label: view.study.candidates(row, setting, 0)[0].data
        for row in view.study.rows
        if row.method == "irm-lip-cv"
    }
    data = {label: load(spec, seed=0).train for label, spec in asked.items()}
    plain = data[SAME]
    noisy = (plain.domain == 0) & (plain.stratum == 0)
    assert (plain.weight == 1).all()
    assert plain.x[:, 0].any()
    for label in (WEIGHTS, PERMUTED, UNIFORM, KNOWN):
        assert not data[label].x[:, 0].any()
        assert bool((data[label].x[:, 1:] == plain.x[:, 1:]).all())
    weight = data[WEIGHTS].weight
    assert weight[noisy].unique() == pytest.approx(weight[(plain.domain == 0) & ~noisy].unique() / judged.RATIO)
    assert (data[UNIFORM].weight == 1).all()
    assert len(data[PERMUTED].weight.unique()) > 1
    known = load(asked[KNOWN].model_copy(update={"judged": None}), seed=0).train
    assert len(known.weight.unique()) > 1
    assert bool((data[KNOWN].weight == known.weight).all())  # the true noise, and nothing besides


def test_seeds_and_shares_of_noisy_cells_can_be_chosen():
    (view,) = quality_weights(kinds="plain", noisy="50", seeds=3, first_seed=7)
    assert view.study.seeds == (7, 8, 9)
    assert [setting.label for setting in view.study.settings] == ["Cigar 50 %", "Wage 50 %"]


BAD = [
    {"kinds": "mud"},
    {"methods": "some"},
    {"profile": "huge"},
    {"kinds": "plain", "noisy": "40"},
    {"kinds": "clean", "noisy": "30"},
    {"first_seed": -1},
]


@pytest.mark.parametrize("words", BAD)
def test_bad_words(words):
    with pytest.raises(InputError):
        quality_weights(**words)
