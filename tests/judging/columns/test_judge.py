"""The columns of a table: ordinary ones are left alone, planted faults are named first, in plain words."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from rpo._judging.columns.judge import Columns, judge_columns
from rpo._table.columns import Column, LeftOut, learn


def judged(frame: pd.DataFrame, domain: Any, y: Any = None, task: Any = "regression", word: str = "site") -> Columns:
    learned = [learn(frame[name], name) for name in frame]
    names = sorted(set(domain))
    target = pd.Series(np.arange(len(frame)) % 7.0 if y is None else y)
    return judge_columns(
        frame,
        [column for column in learned if isinstance(column, Column)],
        pd.Index(names).get_indexer(domain),
        names,
        target=target,
        target_name="y",
        task=task,
        left_out=[column for column in learned if isinstance(column, LeftOut)],
        domain_name=word,
    )


def words(found: Columns) -> list[str]:
    return [finding.words for finding in found.findings]


def sites(*sizes: int) -> Any:
    return np.repeat([chr(ord("A") + k) for k in range(len(sizes))], sizes)


def ordinary(seed: int, most_domains: int, most_rows: int) -> tuple[pd.DataFrame, Any]:
    """Nothing wrong, much that is unusual: long tails, true zeros, rare labels, levels of domains, gaps at random."""
    rng = np.random.default_rng(seed)
    domains = int(np.exp(rng.uniform(np.log(4), np.log(most_domains))))
    domain = np.repeat(np.arange(domains), np.exp(rng.uniform(np.log(2), np.log(most_rows), domains)).astype(int))
    n = len(domain)

    def level() -> Any:  # none, small, or as large as the differences within a domain
        return (rng.normal(size=domains) * rng.choice([0.0, 0.3, 1.0]))[domain]

    def normal() -> Any:
        return rng.normal(size=n)

    one = (domain == rng.integers(domains)) * rng.choice([-1.0, 1.0])
    binary = rng.random(n) < 1 / (1 + np.exp(-rng.uniform(-4, 1) - level()))
    frame = pd.DataFrame(
        {
            "shifted": normal() + one,
            "rounded": np.round(40 + 12 * (normal() + level())),
            "lognormal": np.exp(rng.uniform(0.5, 2) * normal() + level()),
            "money": np.round(np.exp(8 + 1.5 * (normal() + one))),
            "counts": rng.poisson(np.exp(rng.uniform(-2, 1) + level() / 2)),
            "some zeros": np.where(rng.random(n) < rng.uniform(0.2, 0.8), 0, np.exp(normal() + one)),
            "heavy tails": rng.standard_t(2, n),
            "age": rng.integers(18, 91, n),
            "year": rng.integers(1990, 2020, n),
            "binary": binary.astype(int),
            "rating": np.clip(np.round(3 + normal() + level()), 1, 5),
            "level of domain": rng.normal(size=domains)[domain],
            "size of domain": np.round(np.exp(6 + rng.normal(size=domains)))[domain],
            "type": rng.choice(["public", "private"], domains)[domain],
            "rare": rng.choice(list("abcdefghijkl"), n, p=rng.dirichlet(np.full(12, 0.3))),
            "gaps": np.where(rng.random(n) < rng.uniform(0.02, 0.7), np.nan, normal()),
        }
    )
    return frame.loc[:, frame.nunique() > 1], np.array([f"{k:03d}" for k in domain])


def tables_with_something_wrong(seeds: range, most_domains: int, most_rows: int) -> list[tuple[int, str]]:
    made = [(seed, judged(*ordinary(seed, most_domains, most_rows))) for seed in seeds]
    return [(seed, found.words) for seed, one in made for found in one.findings if found.wrong]


def test_of_ordinary_tables_at_most_two_in_a_hundred_are_found_wrong() -> None:
    wrong = tables_with_something_wrong(range(100), 30, 100)
    assert len({seed for seed, _ in wrong}) <= 2, wrong


@pytest.mark.slow
def test_of_large_ordinary_tables_at_most_two_in_a_hundred_are_found_wrong() -> None:
    wrong = tables_with_something_wrong(range(1000, 1400), 160, 500)
    assert len({seed for seed, _ in wrong}) <= 8, wrong


def test_without_any_shift_nothing_at_all_is_said() -> None:
    said = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        domain = np.sort(rng.integers(0, 12, 600)).astype(str)
        frame = pd.DataFrame(
            {
                "a": rng.normal(size=600),
                "b": rng.poisson(1.0, 600),
                "c": rng.choice(list("xyz"), 600, p=[0.9, 0.08, 0.02]),
            }
        )
        said += words(judged(frame, domain))
    assert len(said) <= 2, said


def clinic(seed: int = 0) -> tuple[pd.DataFrame, Any, Any]:
    """Four hospitals: one records cholesterol as zero, three hardly ever count vessels."""
    rng = np.random.default_rng(seed)
    domain = sites(300, 290, 120, 200)
    n = len(domain)
    vessels = rng.integers(0, 4, n).astype(float)
    vessels[(domain != "A") & (rng.random(n) < 0.98)] = np.nan
    frame = pd.DataFrame(
        {
            "age": np.round(rng.normal(54, 9, n)) + 5.0 * (domain == "C"),
            "sex": rng.choice(["f", "m"], n, p=[0.3, 0.7]),
            "pressure": np.round(rng.normal(132, 17, n), -1),
            "cholesterol": np.where(domain == "C", 0.0, np.round(rng.normal(245, 50, n))),
            "sugar": (rng.random(n) < 0.15).astype(int),
            "depression": np.where(rng.random(n) < 0.4, 0.0, np.round(rng.exponential(1.4, n), 1)),
            "vessels": vessels,
        }
    )
    return frame, domain, rng.integers(0, 2, n)


def test_zeros_in_one_hospital_and_gaps_in_three_come_first() -> None:
    frame, domain, y = clinic()
    found = judged(frame, domain, y, "classification", "hospital")
    first, second = found.findings[:2]
    assert first.words == "Hospital C records cholesterol = 0 in all of its 120 rows; the other hospitals never do."
    assert (first.kind, first.column, first.domain, first.evidence["value"]) == ("filled", "cholesterol", "C", 0.0)
    assert second.kind == "missing"
    assert second.words.startswith("vessels is missing in 9")
    assert "of the rows of 3 of 4 hospitals (B, C, D), " in second.words
    assert second.evidence["domains"] == ["B", "C", "D"]
    assert not [other for other in found.findings[2:] if other.wrong]
    assert [finding.weight for finding in found.findings] == sorted((f.weight for f in found.findings), reverse=True)


def test_frames_are_by_domain_and_column() -> None:
    frame, domain, y = clinic()
    found = judged(frame, domain, y, "classification", "hospital")
    assert found.missing.loc["A", "vessels"] == 0
    assert found.missing.loc["B", "vessels"] == pytest.approx(frame["vessels"][domain == "B"].isna().mean())
    assert found.shift.loc["C", "age"] == pytest.approx(0.55, abs=0.2)
    assert found.shift.loc["C", "cholesterol"] < -5
    assert list(found.table["column"]) == list(frame)
    row = found.table.set_index("column").loc["cholesterol"]
    assert (row["kind"], row["most shifted"], row["findings"]) == ("number", "C", 1)
    target = found.target.set_index(["domain", "class"])
    assert target.loc[("D", "1"), "share"] == pytest.approx(y[domain == "D"].mean())
    assert target.loc[("D", "0"), "low"] < target.loc[("D", "0"), "share"] < target.loc[("D", "0"), "high"]


def test_a_shift_of_one_deviation_is_in_the_frame_and_is_not_wrong() -> None:
    rng = np.random.default_rng(0)
    domain = sites(*[400] * 6)
    shift = judged(pd.DataFrame({"x": rng.normal(size=2400) + 1.5 * (domain == "B")}), domain)
    assert shift.shift.loc["B", "x"] == pytest.approx(1.5, abs=0.2)
    (only,) = shift.findings
    assert (only.kind, only.wrong, only.domain) == ("shift", False, "B")
    assert only.words.startswith("x is 1.")


def test_one_wild_row_does_not_make_a_shift() -> None:
    x = np.random.default_rng(0).normal(size=600)
    domain = sites(200, 200, 200)
    calm = judged(pd.DataFrame({"x": x}), domain).shift
    x[5] = 1e9
    assert np.abs(judged(pd.DataFrame({"x": x}), domain).shift - calm).to_numpy().max() < 0.05


def test_regression_target_has_mean_deviation_and_interval() -> None:
    y = np.r_[np.arange(10.0), 5.0, 7.0, 7.0]
    target = judged(pd.DataFrame({"x": np.arange(13) % 4}), sites(10, 1, 2), y).target
    assert target["mean"].tolist() == [4.5, 5.0, 7.0]
    assert target["deviation"].iloc[0] == pytest.approx(np.arange(10).std(ddof=1))
    assert target.loc[0, "low"] < 4.5 < target.loc[0, "high"]
    assert np.isnan(target.loc[1, "low"])


@pytest.mark.parametrize(
    "value, stands", [(-9.0, "-9"), (999.0, "999"), (9.969209968386869e36, "9.969e+36"), (99999.0, "99999")]
)
def test_a_value_far_from_all_others_may_stand_for_a_missing_one(value: float, stands: str) -> None:
    rng = np.random.default_rng(1)
    x = np.round(rng.normal(70, 12, 800), 1).clip(20)
    x[rng.random(800) < 0.04] = value
    found = judged(pd.DataFrame({"weight": x}), np.tile(sites(1, 1, 1, 1), 200)).findings
    assert [finding.kind for finding in found] == ["sentinel"]
    assert f"{stands} may stand for a missing value" in found[0].words


def test_zeros_in_part_of_a_domain_are_named_where_others_measure() -> None:
    rng = np.random.default_rng(1)
    domain = sites(200, 200, 200)
    x = np.where((domain == "B") & (rng.random(600) < 0.3), 0.0, np.round(rng.normal(240, 40, 600)))
    (found,) = judged(pd.DataFrame({"cholesterol": x}), domain).findings
    assert (found.kind, found.domain, found.evidence["value"]) == ("sentinel", "B", 0.0)
    assert "all of them in site B" in found.words


def test_another_unit_of_measurement_is_outside_the_range() -> None:
    rng = np.random.default_rng(1)
    domain = sites(100, 300, 300, 300)
    pressure = rng.normal(130, 15, 1000)
    found = judged(pd.DataFrame({"pressure": np.where(domain == "A", pressure / 7.5, pressure)}), domain).findings
    assert [(one.kind, one.domain) for one in found] == [("outside", "A")]
    assert "of the rows of site A have a pressure far outside the range of the other sites" in found[0].words


def test_gaps_of_nearly_everybody() -> None:
    x = np.full(1000, np.nan)
    x[::20] = np.arange(50) % 7 + 0.5
    (found,) = judged(pd.DataFrame({"rare test": x, "age": np.arange(1000) % 37}), np.tile(sites(1, 1), 500)).findings
    assert found.words == "rare test is missing in 95 % of all 1,000 rows."


def test_the_one_domain_that_has_a_column_is_named() -> None:
    rng = np.random.default_rng(0)
    domain = np.sort(rng.integers(0, 12, 480)).astype(str)
    x = np.where((domain == "7") | (rng.random(480) < 0.03), rng.normal(size=480), np.nan)
    (found,) = judged(pd.DataFrame({"scan": x}), domain).findings
    assert (found.kind, found.domain) == ("missing", "7")
    assert found.words.startswith("scan is recorded in 100 % of the rows of site 7, but only in ")


def test_categories_that_no_other_domain_has() -> None:
    rng = np.random.default_rng(0)
    domain = sites(100, 100, 100)
    sex = rng.choice(["female", "male"], 300)
    sex = np.where(domain == "B", [text[0] for text in sex], sex)
    (found,) = judged(pd.DataFrame({"sex": sex}), domain).findings
    assert found.kind == "unseen"
    assert found.words.startswith("100 % of the rows of site B have sex = ")
    assert found.words.endswith(", which no other site has.")


def test_ids_codes_and_row_numbers_are_named_with_what_to_do() -> None:
    rng = np.random.default_rng(0)
    n = 400
    order = rng.permutation(n)
    frame = pd.DataFrame(
        {
            "number": np.arange(n)[order],
            "nr": (np.arange(n) // 4)[order] * 17 + 1000,
            "patient": np.array([f"P{k // 5:03d}" for k in range(n)])[order],
            "class": rng.choice([0, 1, 20, 31], n),
            "region": rng.integers(1, 6, n),
            "month": pd.Series(rng.choice(["01", "02", "11", "12"], n)),
            "visit": ["first"] * n,
            "age": rng.integers(20, 80, n),
        }
    )
    found = {finding.column: finding for finding in judged(frame, sites(100, 200, 100)).findings}
    kinds = {name: finding.kind for name, finding in found.items()}
    assert kinds == {
        "number": "row number",
        "nr": "unit",
        "patient": "unit",
        "class": "code",
        "region": "code",
        "month": "padded",
        "visit": "constant",
    }
    assert "--drop number (drop=['number'] in Python)" in found["number"].words
    assert "--unit patient (unit='patient' in Python)" in found["patient"].words
    assert "--category region (category=['region'] in Python)" in found["region"].words


def test_one_domain_has_nothing_to_be_compared_with() -> None:
    x = np.r_[np.zeros(30), np.random.default_rng(0).normal(50, 5, 70)]
    found = judged(pd.DataFrame({"x": x, "c": np.tile(list("ab"), 50)}), np.full(100, "all"))
    assert found.findings == []
    assert found.shift.isna().all(axis=None)
    assert found.target["n"].tolist() == [100]


def test_a_thousand_domains_and_domains_of_one_row() -> None:
    rng = np.random.default_rng(0)
    domain = np.r_[np.arange(1000), rng.integers(0, 500, 3000)]
    names = np.array([f"{k:04d}" for k in domain])
    frame = pd.DataFrame({"x": rng.normal(size=4000), "c": rng.choice(list("abc"), 4000)})
    found = judged(frame, names)
    assert found.findings == []
    assert found.shift.shape == (1000, 2)
    assert found.shift.loc["0999"].isna().all()


def test_a_column_that_is_missing_everywhere_but_in_one_domain_can_be_judged() -> None:
    rng = np.random.default_rng(0)
    domain = sites(60, 60, 60)
    frame = pd.DataFrame(
        {
            "x": np.where(domain == "A", rng.lognormal(size=180), np.nan),
            "c": pd.Series(np.where(domain == "A", "u", "v")).where(domain != "B"),
        }
    )
    found = judged(frame, domain)
    assert {(one.kind, one.column) for one in found.findings} == {("missing", "x"), ("missing", "c")}


def test_dates_are_written_as_dates() -> None:
    rng = np.random.default_rng(0)
    domain = sites(100, 100, 100)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 300), "D")
    seen = pd.Series(days).where(domain != "C", pd.Timestamp("1900-01-01"))
    (found,) = judged(pd.DataFrame({"seen": seen}), domain).findings
    assert found.words == "Site C records seen = 1900-01-01 in all of its 100 rows; the other sites never do."
