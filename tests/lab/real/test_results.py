"""Ratios, wins, gains and words from records whose figures are known."""

import re

import numpy as np
import pandas as pd
import pytest

from rpo._stats.significance import paired
from rpo_lab.real.page import beside, failures, section
from rpo_lab.real.quality import NO_MODEL
from rpo_lab.real.results import bootstrap, geometric_mean, make_results, ratios_of, undone_of
from rpo_lab.real.study import ROWS, real_study
from rpo_lab.real.words import answer, direction
from rpo_lab.runner.store import Measured, Record

LOSS = {"ridge": 1.0, "hgb": 4.0, "forest": 2.25, "quality-auto": 0.81}


def records_of(study, loss, failed=(), rules=("f1",)):
    """Records as if runs had been done: the loss of a row by its name, a little more for every seed."""
    found = {}
    for key, run in study.runs.items():
        versions = {"rpo": "1", "rules": rules[key.seed % len(rules)]}
        if key.row in failed:
            found[run.digest] = Record(run=run, status="failed", reason="no luck", seconds=1, versions={})
            continue
        value = loss(key) * (1 + 0.01 * key.seed)
        test = {"test": {"mse": value} if key.table == "exam" else {"brier": value / 10, "accuracy": 0.5}}
        if key.row == "detect":
            test = {"rows": {"rpo": 0.9, "cleanlab": 0.8}, "domains": {"rpo": 0.7, "cleanlab": 0.8}}
        if key.row == "quality-auto":
            test["judgement"] = {"unevenness": 0.3 if key.setting == "domains-30" else 0.0, "weighted": 1.0}
        measured = Measured(validation_risk=[], validation_irm=[], test=test)
        found[run.digest] = Record(run=run, status="done", measured=measured, seconds=1, versions=versions)
    return found


@pytest.fixture
def study():
    return real_study("quick", ["exam", "contraception"])


def words_of(text):
    """Words and figures; not the bars of a table."""
    return sum(any(letter.isalnum() for letter in word) for word in text.split())


def plain(key):
    base = LOSS.get(key.row, 1.0)
    return base * 0.5 if key.setting == "domains-30" and key.row == "quality-auto" else base


def test_ratios_are_roots_of_squared_errors_and_briers_as_they_are(study):
    found = make_results(study, records_of(study, plain))
    table = found.ratios.set_index(["setting", "table", "row"])["ratio"]
    assert table["as-they-are", "exam", "quality-auto"] == pytest.approx(0.9)
    assert table["as-they-are", "contraception", "quality-auto"] == pytest.approx(0.81)
    assert table["as-they-are", "exam", "hgb"] == pytest.approx(2.0)
    assert table["as-they-are", "exam", "ridge"] == 1.0
    assert set(found.ratios["best"]) == {"ridge"}
    summary = found.summary.set_index(["setting", "row"]).loc["as-they-are"]
    assert summary.loc["quality-auto", "mean"] == pytest.approx(np.sqrt(0.9 * 0.81))
    assert summary.loc["hgb", "worst"] == pytest.approx(4.0)
    assert summary.loc["hgb", "worst table"] == "contraception"
    assert (summary.loc["quality-auto", "won"], summary.loc["quality-auto", "lost"]) == (2, 0)
    assert (summary.loc["hgb", "won"], summary.loc["hgb", "lost"]) == (0, 2)


def test_gains_are_over_uniform_weights_and_stand_by_unevenness(study):
    found = make_results(study, records_of(study, plain))
    gains = found.gains.set_index(["setting", "table"])
    assert gains.loc[("domains-30", "exam"), "quality"] == pytest.approx(np.sqrt(0.405))
    assert gains.loc[("domains-30", "exam"), "true"] == 1.0
    assert np.isnan(gains.loc[("as-they-are", "exam"), "true"])
    curve = found.curve.set_index("to")
    assert curve.loc[0.0, "cases"] == curve.loc[1.0, "cases"] == 2
    assert curve.loc[1.0, "ratio"] == pytest.approx(np.sqrt(np.sqrt(0.405) * 0.405))


def test_differences_that_change_sign_between_folds_are_not_sure():
    lines = [
        {
            "row": row,
            "table": "exam",
            "setting": "as-they-are",
            "seed": seed,
            "fold": 0,
            "loss": 1 + sign * (-1) ** seed,
        }
        for row, sign in (("ridge", 0.0), ("hgb", 0.05))
        for seed in range(6)
    ]
    found = ratios_of(pd.DataFrame(lines)).set_index("row")
    assert not found["won"].any()
    assert not found["lost"].any()
    assert found.loc["hgb", "ratio"] == pytest.approx(1.0)


def test_folds_that_share_rows_count_for_less():
    a, b = np.array([1.0, 1.2, 1.1, 1.3, 1.2]), np.ones(5)
    assert paired(a, b, overlap=0.25) > paired(a, b)
    d = a - b
    t = d.mean() / (d.std(ddof=1) * np.sqrt(1 / 5 + 0.25))
    from scipy.stats import t as student

    assert paired(a, b, overlap=0.25) == pytest.approx(2 * student.sf(t, 4))


def test_rows_on_fewer_folds_are_compared_on_these(study):
    records = records_of(study, plain)
    lost = [run.digest for key, run in study.runs.items() if key.row == "quality-auto" and key.seed > 0]
    for digest in lost:
        records[digest] = Record(run=records[digest].run, status="failed", reason="no luck", seconds=1, versions={})
    found = make_results(study, records)
    table = found.ratios.set_index(["setting", "table", "row"])
    assert table.loc[("as-they-are", "exam", "quality-auto"), "folds"] == 1
    assert table.loc[("as-they-are", "exam", "quality-auto"), "ratio"] == pytest.approx(0.9)
    assert not table.loc[("as-they-are", "exam", "quality-auto"), "won"]  # one fold is no proof
    assert len(found.failed) == len(lost)


def test_the_share_of_the_damage_that_weights_undo_is_of_sums_over_tables():
    def lines(table, setting, **loss):
        return [
            {"row": f"quality-trees{row}", "table": table, "setting": setting, "seed": seed, "fold": 0, "loss": value}
            for row, value in loss.items()
            for seed in range(2)
        ]

    def noisy(table, flat, judged, permuted, true):
        named = {"-uniform": flat, "": judged, "-permuted": permuted, "-true": true}
        return [
            *lines(table, "as-they-are", **{"-uniform": 1.0}),
            *lines(table, "domains-30", **{row: value**2 for row, value in named.items()}),
        ]

    # Damage of 1 and of .1: errors are roots of losses.
    errors = pd.DataFrame([*noisy("exam", 2.0, 1.2, 2.1, 1.1), *noisy("scots", 1.1, 1.1, 1.1, 1.05)])
    one = undone_of(errors).to_dict("records")
    assert [(row["estimator"], row["setting"], row["tables"]) for row in one] == [("trees", "domains-30", 2)]
    assert one[0]["judged"] == pytest.approx(0.8 / 1.1)
    assert one[0]["permuted"] == pytest.approx(-0.1 / 1.1)
    assert one[0]["true"] == pytest.approx(0.95 / 1.1)
    # Folds that were not run without noise say nothing.
    assert undone_of(errors[errors["setting"] != "as-they-are"]).empty
    half = errors[(errors["setting"] != "as-they-are") | (errors["seed"] == 0)]
    assert undone_of(half)["judged"].tolist() == pytest.approx([0.8 / 1.1])


def test_the_interval_draws_tables():
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(100):
        low, high = bootstrap(rng.normal(size=30))
        inside += low < 0 < high
    assert 85 <= inside <= 100
    assert all(np.isnan(bootstrap(np.ones(1))))
    assert geometric_mean(pd.Series([0.5, 2.0]))[0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    "factor, words", [(0.5, "lower the error"), (1.5, "raise the error"), (1.0, "no significant difference")]
)
def test_the_answer_says_which_way_it_falls(study, factor, words):
    found = make_results(study, records_of(study, lambda key: factor if key.row == "quality-auto" else 1.0))
    first = answer(found)[0]
    assert first.startswith("**Do weights from judged quality help")
    assert first.count(words) == 2


def test_an_interval_that_touches_one_is_no_direction():
    assert direction(0.9, 0.999) == direction(1.001, 1.2) == ""


def test_the_page_says_what_failed_and_what_is_not_installed(study, monkeypatch, tmp_path):
    found = make_results(study, records_of(study, plain, failed=("forest",)))
    study.__dict__["missing"] = {"gpboost": "gpboost"}
    figures = (tmp_path / "a.png", tmp_path / "b.png")
    text = section(found, "rpo bench real", figures, tmp_path / "page.md", "abc123, second freeze")
    assert "random forest failed in 12 folds of 2 tables (first: exam, no luck)" in text
    assert "| GPBoost | gpboost is not installed |" in text
    rules = (
        "All Quality models were fitted under one set of rules (fingerprint of the code that judges and decides: f1)"
    )
    assert f"{rules}; frozen: abc123" in text
    assert re.search(r"^\| 30 % bad domains \|.* 0\.90 \| 0\.80 \| 2 of 2 \|$", text, flags=re.M)
    assert words_of(text) < 2_000
    assert "nan" not in text
    changed = make_results(study, records_of(study, plain, rules=("f1", "f2")))
    text = section(changed, "rpo bench real", figures, tmp_path / "page.md", "")
    assert "The rules of the Quality models changed between runs (fingerprints f1, f2)" in text


def test_only_rows_that_are_judged_have_rules(study):
    records = records_of(study, plain)
    for key, run in study.runs.items():
        if key.row in ("ridge", "hgb"):
            other = {**records[run.digest].versions, "rules": "another"}
            records[run.digest] = records[run.digest].model_copy(update={"versions": other})
    assert make_results(study, records).rules == ("f1",)


def test_rows_that_fail_alike_are_one_line(study):
    records = records_of(study, plain)
    reasons = {"forest": "no luck", "quality-auto": "no luck", "quality-auto-uniform": NO_MODEL}
    for key, run in study.runs.items():
        if key.row in reasons and (key.table, key.setting, key.seed) == ("exam", "as-they-are", 0):
            records[run.digest] = Record(run=run, status="failed", reason=reasons[key.row], seconds=1, versions={})
    assert failures(make_results(study, records)) == [
        "random forest; Quality, auto failed in 1 fold of 1 table (first: exam, no luck)."
    ]


def test_a_page_of_every_row_is_below_two_thousand_words(tmp_path):
    study = real_study("paper", ["exam", "contraception", "rice"])
    found = make_results(study, {**records_of(study, lambda key: 1.0)})
    text = section(found, "rpo bench real", (tmp_path / "a.png",) * 2, tmp_path / "page.md", "")
    assert words_of(text) < 2_000
    for name, table in beside(found).items():
        assert f"(tables/{name}.csv)" in text
        shares = {f"{share} % bad {what}" for share in (10, 30, 50) for what in ("domains", "cells")}
        assert shares <= set(table.columns if "learner" in table else table["setting"])
    assert "| 30 % bad domains |" in text
    assert "| 50 % bad domains |" not in text
    apart = ("detect", "-true", "-permuted", "-uniform")  # columns of their own, or what these are relative to
    for name, row in ROWS.items():
        assert row.label in text or name.endswith(apart)
