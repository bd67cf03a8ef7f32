"""The study of readings: every combination once, comparisons by hand, and what is said of them."""

import csv
import io
from collections import Counter
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from rpo._stats.significance import holm, paired
from rpo.exceptions import InputError
from rpo_lab import readings as module
from rpo_lab.readings import (
    FORM,
    IRM,
    PERMUTED,
    RPO,
    STEPS,
    Compared,
    answer,
    best_readings,
    figure_of,
    leading_readings,
    of,
    readings,
    section,
    table_by_level,
    to_csv,
)
from rpo_lab.runner.problems import load
from rpo_lab.runner.specification import DataSpec
from rpo_lab.runner.store import Measured, Record


def hand_made(study, accuracy):
    """Records whose accuracy in the test domain is `accuracy(run)`; half of it where labels are not turned."""
    found = {}
    for run in study.runs():
        value = accuracy(run)
        tests = {name: {"accuracy": share * value, "auc": value} for name, share in (("test", 1), ("clean", 0.5))}
        measured = Measured(validation_risk=[1.0], validation_irm=[1.0], test=tests)
        found[run.digest] = Record(run=run, status="done", measured=measured, seconds=0, versions={})
    return found


def test_the_paper_profile_is_a_half_in_which_all_pairs_of_choices_occur_equally_often():
    study = readings("paper", seeds=2)
    assert len(study.every) == len(set(study.every)) == 2 * 2 * 2 * 3 * 2 * 3 / 2
    for one, other in combinations(study.factors, 2):
        pairs = Counter((dict(reading)[one.name], dict(reading)[other.name]) for reading in study.every)
        assert set(pairs) == set(product(one.levels, other.levels))
        assert len(set(pairs.values())) == 1
    # Trained once for both kinds of test labels, and for both ways to choose: 5 rows of two values, 6 of one.
    assert len(study.runs()) == 2 * 2 * 3 * 2 * (5 * 2 + 6) * 2 / 2
    assert {run.training.steps for run in study.runs()} == {200, 500}
    assert len({run.data.model_dump_json() for run in study.runs()}) == 12


def test_every_combination_is_a_reading_unless_halved():
    study = replace(readings("paper", seeds=2), half=False)
    assert len(study.every) == len(set(study.every)) == 2 * 2 * 2 * 3 * 2 * 3
    assert len(study.runs()) == 2 * 2 * 3 * 2 * (5 * 2 + 6) * 2


def test_what_is_trained_on_does_not_depend_on_test_labels():
    options = {"setting": 1, "digits": "sklearn"}
    twice, once = (load(DataSpec(name=name, options=options), 3) for name in ("colored-twice", "colored"))
    clean = load(DataSpec(name="colored", options={**options, "test_label_noise": 0.0}), 3)
    for part in ("train", "validation"):
        for other in (once, clean):
            assert (getattr(twice, part).tensor == getattr(other, part).tensor).all()
            assert (getattr(twice, part).y == getattr(other, part).y).all()
    assert (twice.tests["test"].y == once.tests["test"].y).all()
    assert (twice.tests["clean"].y == clean.tests["test"].y).all()
    assert (twice.tests["clean"].tensor == clean.tests["test"].tensor).all()


def test_comparisons_are_paired_over_seeds_and_corrected_for_all_of_a_metric():
    study = readings(seeds=4)
    rng = np.random.default_rng(0)
    noise = {run.digest: 0.01 * rng.normal() for run in study.runs()}
    records = hand_made(study, lambda run: 0.5 + 0.4 * (run.method == "rpo") + noise[run.digest])
    found = study.compared(records)
    some = of(found, "accuracy")
    assert len(some) == 4 * (4 + 4 + 6)
    assert [one.p for one in some] == holm([one.p_paired for one in some])
    one = next(one for one in some if one.rival == PERMUTED and "to the letter" in dict(one.reading)[FORM.name])
    made = study.studies[dict(one.reading)[STEPS.name], dict(one.reading)[FORM.name]]
    setting = next(s for s in made.settings if s.label == module.label_of(one.reading, "accuracy"))
    values = {}
    for row in made.rows:
        runs = [made.candidates(row, setting, seed)[0] for seed in study.seeds]
        values[row.label] = np.array([records[r.digest].measured.test[setting.test]["accuracy"] for r in runs])
    assert one.own == pytest.approx(values[RPO].mean())
    assert one.p_paired == pytest.approx(paired(values[PERMUTED], values[RPO]))
    assert "RPO is significantly better than **IRM + lip** in 12 of 12 readings by accuracy (100%)" in answer(found)[0]
    page = section(study, found, "rpo bench readings", "readings.svg", "tables/readings.csv")
    assert "| after colouring |" in page
    assert "rpo bench readings`" in page
    assert len(page.split()) < 900
    lines = list(csv.DictReader(io.StringIO(to_csv(study, found))))
    assert len(lines) == len(found)


def reading(level):
    return (("a factor", level), (STEPS.name, "200"), (FORM.name, next(iter(FORM.levels))))


def test_better_than_all_asks_for_every_rival():
    def one(level, rival, difference, p):
        return Compared(reading(level), rival, "accuracy", 0.5 + difference, 0.5, p, p)

    found = [
        one("x", IRM, 0.1, 0.01),
        one("x", PERMUTED, 0.1, 0.2),
        one("y", IRM, 0.1, 0.01),
        one("y", PERMUTED, 0.1, 0.01),
        one("z", IRM, -0.1, 0.01),
        one("z", PERMUTED, 0.1, None),
    ]
    assert best_readings(found, "accuracy", IRM) == [reading("x"), reading("y")]
    assert best_readings(found, "accuracy") == [reading("y")]
    assert leading_readings(found, "accuracy") == [reading("x"), reading("y")]
    assert list(module.tally(of(found, "accuracy", IRM)).values()) == [2, 2, 1, 2, 1, 3]
    assert len(figure_of(found).axes) == 1
    study = module.Readings((module.Factor("a factor", {"x": 0, "y": 0, "z": 0}),), (0, 1))
    assert "| z | 0.400 | 0.500 | 0 | 1 |" in table_by_level(study, found)


def test_bad_words_are_one_line():
    with pytest.raises(InputError, match="got 'huge'"):
        readings("huge")
    with pytest.raises(InputError, match="seeds must be at least 2"):
        readings(seeds=1)
