"""Quality and its controls on small tables, and the detection of what was planted."""

import numpy as np
import pytest

from rpo._models import QualityRegressor
from rpo._quality import judge
from rpo_lab.real.folds import make_fold
from rpo_lab.real.learners import installed, measured
from rpo_lab.real.quality import DETECT, OFF, detected, quality_outcomes, refitted, true_weight, unlikely

LINEAR = ("quality-linear", "quality-linear-permuted", "quality-linear-uniform", "quality-linear-true")


def test_where_nothing_is_planted_the_controls_are_the_model_itself(small):
    fold = make_fold("exam", "as-they-are", 0, 1_000, 0)
    found = quality_outcomes(LINEAR[:3], fold, 0)
    test = [found[name][0].test for name in LINEAR[:3]]
    assert test[0]["judgement"] == {"unevenness": 0.0, "weighted": 0.0, "dropped": 0.0}
    assert test[0]["test"] == test[1]["test"] == test[2]["test"]


@pytest.mark.parametrize("setting", ["as-they-are", "domains-30"])
def test_the_stack_alone_is_the_same_whether_it_is_fitted_again_or_not(small, setting):
    fold = make_fold("exam", setting, 0, 1_000, 0)
    found = quality_outcomes(["quality-auto", OFF], fold, 0)
    alone = QualityRegressor(weights="off", screen="off", verbose=False).fit_prepared(fold.train)
    said = alone.predict(fold.held.frame[list(alone.feature_names_in_)])
    assert found[OFF][0].test == measured(fold, said).test
    assert (found["quality-auto"][0].test["test"] == found[OFF][0].test["test"]) == (setting == "as-they-are")


def test_noisy_domains_are_found_and_weights_beat_their_controls(small):
    errors = dict.fromkeys(LINEAR, 0.0)
    for seed in range(5):
        fold = make_fold("exam", "domains-30", 0, 1_000, seed)
        found = quality_outcomes([*LINEAR, DETECT], fold, seed)
        judged, seen = found["quality-linear"][0].test["judgement"], found[DETECT][0].test
        assert judged["weighted"] == 1.0
        assert 0.1 < judged["unevenness"] < 0.9
        assert seen["domains"]["rpo"] == 1.0
        assert seen["rows"]["rpo"] > 0.7
        assert ("cleanlab" in seen["rows"]) == installed("cleanlab")
        errors = {name: errors[name] + found[name][0].test["test"]["mse"] for name in LINEAR}
    assert errors["quality-linear"] < 0.8 * errors["quality-linear-uniform"]
    assert errors["quality-linear-uniform"] < 0.8 * errors["quality-linear-permuted"]
    assert errors["quality-linear-true"] < 0.8 * errors["quality-linear-uniform"]


def test_the_judgement_of_one_model_serves_another(small):
    fold = make_fold("exam", "domains-30", 0, 1_000, 0)
    alone = QualityRegressor("trees", verbose=False).fit_with_controls(fold.train)
    first = QualityRegressor("linear", verbose=False).fit_with_controls(fold.train)
    known = QualityRegressor("trees", verbose=False).fit_with_controls(fold.train, known=first["quality"].quality_)
    new = fold.held.frame[list(alone["quality"].feature_names_in_)]
    for name in ("quality", "permuted", "uniform"):
        assert np.array_equal(alone[name].predict(new), known[name].predict(new))
    assert np.array_equal(alone["quality"].weight_, known["quality"].weight_)


def test_detection_does_not_hang_on_the_order_of_rows_that_a_model_judges_in(small):
    fold = make_fold("exam", "domains-30", 0, 1_000, 0)
    model = QualityRegressor("linear", verbose=False).fit_prepared(fold.train)
    plain = judge(fold.train, random_state=0, progress=False)
    assert np.array_equal(plain.table.row, fold.train.row)  # as given
    assert detected(fold, plain, 0).test["rows"]["rpo"] == pytest.approx(
        detected(fold, model.quality_, 0).test["rows"]["rpo"], abs=0.02
    )


def test_rows_of_classes_by_the_probability_of_other_labels(small):
    fold = make_fold("contraception", "domains-30", 0, 1_000, 0)
    label = (fold.train.y == "below").astype(int)
    sure = np.eye(2)[label]
    assert not unlikely(fold, sure).any()
    assert (unlikely(fold, 1 - sure) == 1).all()
    assert set(np.unique(true_weight(fold)).round(6)) == {0.04, 1.0}


def test_refitted_with_uniform_weights_is_the_uniform_control(small):
    fold = make_fold("exam", "domains-30", 0, 1_000, 0)
    made = QualityRegressor("linear", verbose=False).fit_with_controls(fold.train)
    said = refitted(made["quality"], fold, np.ones(len(fold.train.y)), 0)
    new = fold.held.frame[list(made["uniform"].feature_names_in_)]
    assert said == pytest.approx(made["uniform"].predict(new), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("table", ["exam", "contraception"])
def test_every_row_of_quality_is_there(small, table):
    fold = make_fold(table, "cells-30", 0, 1_000, 0)
    names = [f"quality-{e}{c}" for e in ("linear", "trees", "auto") for c in ("", "-permuted", "-uniform", "-true")]
    found = quality_outcomes([*names, OFF, DETECT], fold, 0)
    assert list(found) == [*names, OFF, DETECT]
    assert all(not isinstance(outcome, str) for outcome, _ in found.values())


def test_predictions_that_are_not_finite_are_refused(small):
    fold = make_fold("exam", "as-they-are", 0, 1_000, 0)
    with pytest.raises(ValueError, match="not finite"):
        measured(fold, np.full(len(fold.held.y), np.nan))
