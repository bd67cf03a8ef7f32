"""Columns as numbers: kinds, gaps, categories, and the same numbers after a trip through JSON."""

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from rpo._table import prepare
from rpo._table.columns import Column, LeftOut, learn, names_of, transform
from rpo._table.table import recognise
from rpo.exceptions import InputError


@pytest.mark.parametrize(
    "values, kind",
    [
        ([1, 2, 3], "number"),
        ([True, False, True], "number"),
        (["1", "2.5", "-3e2"], "number"),
        (["2020-01-01", "2020-02-01", "2021-01-01"], "date"),
        (["2020-01-01T10:00:00Z", "2020-02-01 11:30", "2020-02-02"], "date"),
        (pd.to_datetime(["2020-01-01", "2020-02-01"]), "date"),
        (["a", "b", "a"], "category"),
        (pd.Categorical([1, 2, 1]), "category"),
        (["1", "2", "x"], "category"),
    ],
)
def test_kinds(values, kind):
    assert learn(pd.Series(values), "c").kind == kind


@pytest.mark.parametrize(
    "values, reason",
    [
        (["a"] * 30, "the same in every row"),
        ([7] * 30, "the same in every row"),
        ([f"name {i}" for i in range(30)], "30 different texts in 30 rows"),
    ],
)
def test_columns_that_say_nothing_are_left_out(values, reason):
    found = learn(pd.Series(values), "c")
    assert isinstance(found, LeftOut)
    assert reason in found.reason


def test_twenty_categories_are_kept_and_the_rest_have_no_column():
    values = pd.Series([f"c{i // 3:03d}" for i in range(300)] + ["c000"])
    column = learn(values, "c")
    assert len(column.categories) == 20
    assert "c000" in column.categories
    rows = transform(pd.DataFrame({"c": ["c000", "new"]}), [column])
    assert rows.sum(axis=1).tolist() == [1, 0]


def test_numbers_are_the_same_after_json():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a": np.where(rng.random(50) < 0.2, np.nan, rng.normal(size=50)),
            "b__c": np.array(["x", "y", None], dtype=object)[rng.integers(0, 3, 50)],
            "d": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 99, 50), "h"),
        }
    )
    columns = [learn(frame[name], name) for name in frame]
    again = [Column.model_validate_json(column.model_dump_json()) for column in columns]
    assert again == columns
    np.testing.assert_array_equal(transform(frame, columns), transform(frame.iloc[::-1], again)[::-1])


def test_days_are_days_whatever_the_resolution():
    column = Column(name="d", kind="date")
    for unit in ("s", "ms", "ns"):
        frame = pd.DataFrame({"d": pd.to_datetime(["1970-01-03", None]).as_unit(unit)})
        assert transform(frame, [column]).ravel().tolist() == [2.0, 0.0]


@pytest.mark.parametrize(
    "values, task",
    [
        (np.linspace(0, 1, 30), "regression"),
        (np.arange(30), "regression"),
        ([0, 1] * 15, "classification"),
        ([0.5, 1.5] * 15, "classification"),
        ([1, 2, 3] * 10, "classification"),
        ([True, False] * 15, "classification"),
        (["a", "b", "c"] * 10, "classification"),
    ],
)
def test_the_task_is_recognised_and_said(values, task):
    found, words = recognise(pd.Series(values), "y")
    assert found == task
    assert f": {task}" in words


def test_rows_without_a_target_are_left_out_and_rows_keep_their_numbers():
    frame = pd.DataFrame({"x": np.arange(30.0), "y": np.arange(30.0), "d": ["a", "b"] * 15})
    frame.loc[:4, "y"] = np.nan
    ready = prepare(frame, target="y", domain="d")
    assert "5 rows without a target were dropped" in ready.notes
    assert ready.row.tolist() == list(range(6, 31))
    assert ready.X[:, 0].tolist() == ready.y.tolist()


def test_a_column_mostly_of_numbers_is_told_of_and_may_be_a_category():
    values = [str(i) for i in range(29)] + ["12 kg"]
    frame = pd.DataFrame({"y": np.arange(30.0), "w": values, "x": range(30)})
    with pytest.raises(InputError, match="numeric except for 1 of 30 values, such as '12 kg'"):
        prepare(frame, target="y")
    notes = prepare(frame, target="y", category=["w"]).notes
    assert any("column 'w' was dropped: 30 different texts" in note for note in notes)
    assert prepare(frame, target="y", drop=["w"]).names == ["x"]


def test_whole_numbers_with_gaps_name_the_same_domains():
    with_gaps = pd.DataFrame({"y": range(20), "x": range(20), "d": np.array([1.0, 2.0] * 10)})
    assert set(prepare(with_gaps, target="y", domain="d").domains) == {"1", "2"}


def test_a_class_that_is_a_null_character_keeps_a_name():
    """An array of text would take it for nothing."""
    table = pd.DataFrame({"x": range(40), "y": ["\0", "a", "b\0", "b"] * 10, "d": ["p", "q"] * 20})
    ready = prepare(table, target="y", domain="d")
    assert sorted(set(ready.y.tolist())) == ["a", "b", "b␀", "␀"]


def test_columns_become_what_scikit_learn_makes_of_them():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 20))).add_prefix("c")
    frame["c3"] = rng.choice(["a", "b", "c"], 30)
    frame.loc[::4, ["c7", "c9"]] = np.nan
    columns = [learn(frame[name], name) for name in frame]
    parts = []
    for column in columns:
        values = frame[[column.name]].to_numpy()
        if column.kind == "category":
            encoder = OneHotEncoder(categories=[list(column.categories)], handle_unknown="ignore", sparse_output=False)
            parts.append(encoder.fit_transform(values))
            continue
        parts.append(SimpleImputer(strategy="constant", fill_value=column.fill).fit_transform(values))
        parts += [MissingIndicator(features="all").fit_transform(values)] if column.gaps else []
    made = transform(frame, columns)
    assert made.shape == (30, len(names_of(columns)[0])) == (30, 24)
    np.testing.assert_array_equal(made, np.hstack(parts))
