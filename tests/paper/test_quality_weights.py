"""The study of quality weights: who is in it, on what data, and what is said of the figures."""

import numpy as np
import pytest

from rpo.exceptions import InputError
from rpo.methods import get_method
from rpo.paper.quality_weights import (
    IRM,
    KINDS,
    KNOWN,
    PERMUTED,
    SAME,
    STEPS,
    UNIFORM,
    WEIGHTS,
    quality_weights,
    rows,
    settings,
    summary,
)
from rpo.studies.problems import load
from rpo.studies.records import Measured, Record
from rpo.studies.results import make_results
from rpo.studies.selection import get_rule
from rpo.studies.specification import DataSpec, complete


def test_every_step_has_a_row_that_differs_from_the_scheme_by_that_step_alone():
    _, usual = get_method("rpo-weights").fill({})
    for row in rows():
        if row.section == STEPS:
            changed = [*row.grid[0], *(name for name, value in row.options.items() if value != usual[name])]
            assert len(changed) == 1, row.label


def test_every_run_can_be_made_and_no_seed_was_looked_at():
    looked, quoted = (
        {seed for view in quality_weights(profile) for seed in view.study.seeds} for profile in ("quick", "paper")
    )
    assert max(looked) < min(quoted)
    assert len(quoted) == 40
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
    (view,) = quality_weights("paper", kinds="plain", methods="main")
    means = {WEIGHTS: 1.0, IRM: 2.0, SAME: 1.0, PERMUTED: 0.5, UNIFORM: 1.5, KNOWN: 0.9}
    table = make_results(view.study, records(view, means), get_rule("formula"), title="t", correction="holm")
    said = summary(table)
    assert f"Against {IRM}" in said[0]
    assert "better on Cigar 10 % (0.997 against 2.00" in said[0]
    assert f"Against {PERMUTED}" in said[2]
    assert "better on none of the sets; worse on Cigar 10 %" in said[2]
    assert "neither on Cigar 10 %" in said[1]
    assert f"Cigar 30 %: the MSE of {WEIGHTS} is -50." in " ".join(said)


@pytest.mark.parametrize("words", [{"kinds": "mud"}, {"methods": "some"}, {"profile": "huge"}])
def test_bad_words(words):
    with pytest.raises(InputError):
        quality_weights(**words)
