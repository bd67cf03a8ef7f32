"""One way to hold rows out, one way to fit: what models see, in which order, and with which weights."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rpo._learners.crossfit import cross_fit, cross_predict
from rpo._learners.learners import boosted
from rpo._learners.stacking import fit_learner, lightgbm, linear, outputs
from rpo._quality import quality

FOLD = np.array([2, 0, 2, 1, 0])


def test_every_row_is_held_out_once_and_never_seen_by_its_model():
    held = [rows for rows, seen in cross_fit(lambda seen, f: seen, FOLD)]
    assert sorted(np.concatenate(held).tolist()) == [0, 1, 2, 3, 4]
    for rows, seen in cross_fit(lambda seen, f: seen, FOLD):
        assert sorted([*rows, *seen]) == [0, 1, 2, 3, 4]


def test_models_see_the_rows_of_a_sample_in_its_order():
    parts = {f: seen for _, (f, seen) in cross_fit(lambda seen, f: (f, seen.tolist()), FOLD, np.array([4, 3, 0]))}
    assert parts == {0: [3, 0], 1: [4, 0], 2: [4, 3]}


def test_predictions_stand_where_their_rows_stand():
    said = cross_predict(
        lambda seen, f: f, lambda f, held: np.column_stack([held, np.full(len(held), f)]).astype(float), FOLD
    )
    assert said.tolist() == [[0, 2], [1, 0], [2, 2], [3, 1], [4, 0]]


@pytest.mark.parametrize("kind", [KNeighborsRegressor, lambda: make_pipeline(StandardScaler(), KNeighborsRegressor())])
def test_a_learner_without_weights_sees_rows_drawn_by_them_or_all_alike(kind):
    x, domain = np.arange(40.0)[:, None], np.zeros(40, np.intp)
    weight = np.where(np.arange(40) < 20, 1.0, 0.0)
    drawn = fit_learner(kind(), x, x[:, 0], weight, domain, seed=0)
    alike = fit_learner(kind(), x, x[:, 0], weight, domain)
    assert drawn.predict([[39.0]]) < 20
    assert alike.predict([[39.0]]) > 35


def test_a_learner_with_weights_heeds_them_whatever_it_is_wrapped_in():
    x, domain = np.arange(10.0)[:, None], np.zeros(10, np.intp)
    y, weight = np.where(np.arange(10) < 5, 0.0, 100.0), np.where(np.arange(10) < 5, 1.0, 1e-9)
    for learner in (Ridge(), make_pipeline(StandardScaler(), Ridge()), boosted()):
        assert abs(float(fit_learner(learner, x, y, weight, domain).predict([[0.0]])[0])) < 1


def test_a_class_alone_is_certain_and_no_rows_are_no_predictions():
    model = fit_learner(KNeighborsClassifier(), np.zeros((9, 1)), np.full(9, 1), None, np.zeros(9, np.intp))
    assert outputs(model, np.zeros((2, 1)), 3).tolist() == [[0, 1, 0], [0, 1, 0]]
    assert outputs(model, np.zeros((0, 1)), 3).shape == (0, 3)
    assert outputs(Ridge(), np.zeros((0, 1)), 0).shape == (0,)


def test_a_pipeline_that_takes_no_weights_can_judge_rows_that_have_some():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 2))
    learner = make_pipeline(StandardScaler(), KNeighborsRegressor())
    judged = quality(
        x,
        x[:, 0],
        domains=np.arange(120) % 3,
        sample_weight=rng.integers(1, 3, 120),
        estimator=learner,
        grouping="none",
        verbose=False,
    )
    assert len(judged.domains) == 3


@pytest.mark.parametrize("learner", [linear(False), lightgbm(False, 0)])
def test_of_one_row_its_target_is_all_there_is_to_know(learner):
    model = fit_learner(learner, np.ones((1, 2)), np.array([3.0]), None, np.zeros(1, np.intp))
    assert outputs(model, np.zeros((2, 2)), 0).tolist() == [3.0, 3.0]
