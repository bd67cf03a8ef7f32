"""The roles of a table: unit, time, item, truth and weight travel with the rows, index and labels as they came."""

from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

import rpo
from rpo._quality import judge
from rpo._table import Table, prepare
from rpo._table.table import BY_ROW
from rpo.exceptions import InputError

ROLES = {"unit": "who", "time": "day", "item": "thing", "truth": "checked", "weight": "times"}


def homes(n=60):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n)}, index=pd.Index(range(500, 500 + n)))
    frame["y"] = frame["x"] + 0.1 * rng.normal(size=n)
    frame["site"] = pd.Categorical.from_codes(np.arange(n) % 3, ["north", "east", "south"])
    frame["who"] = [f"p{i // 2}" for i in range(n)]
    frame["day"] = pd.date_range("2020-01-01", periods=n)
    frame["thing"] = np.arange(n) // 3
    frame["checked"] = np.where(np.arange(n) % 10 == 0, frame["x"], np.nan)
    frame["times"] = rng.integers(1, 4, n)
    frame.loc[[503, 507], "y"] = np.nan
    return frame


def ready(**options):
    return prepare(homes(), target="y", domain="site", **ROLES, **options)


@pytest.mark.parametrize("role", ROLES)
def test_a_column_with_a_role_is_kept_as_it_came_and_is_no_feature(role):
    known = homes().dropna(subset="y")
    table = prepare(homes(), target="y", domain="site", **{role: ROLES[role]})
    column = known[ROLES[role]].to_numpy()
    values = getattr(table, role)
    assert values.dtype == (np.float64 if role == "weight" else column.dtype)
    np.testing.assert_array_equal(values, column)
    assert ROLES[role] not in [one.name for one in table.columns]
    assert all(getattr(table, other) is None for other in ROLES if other != role)


def test_without_roles_there_are_none():
    table = prepare(homes()[["x", "y"]], target="y")
    assert [getattr(table, role) for role in ROLES] == [None] * 5
    assert table.labels is None


def test_the_index_and_the_labels_of_domains_stay_as_they_came():
    table = ready()
    assert table.index.tolist() == [place for place in range(500, 560) if place not in (503, 507)]
    assert isinstance(table.labels.dtype, pd.CategoricalDtype)
    assert table.labels.astype(str).tolist() == table.domains.tolist()
    read_by_column = replace(table, frame=None)
    assert read_by_column.index.tolist() == (table.row - 1).tolist()
    numbers = homes().assign(site=np.arange(60) % 3)
    assert prepare(numbers, target="y", domain="site", drop=list(ROLES.values())).labels.dtype == np.int64


def test_some_rows_are_a_table_of_their_own():
    table = ready(strata=["z"])
    mask = np.arange(58) % 5 == 0
    for part, places in ((table.rows(np.array([7, 2])), [7, 2]), (table.rows(mask), np.flatnonzero(mask))):
        for name in BY_ROW:
            np.testing.assert_array_equal(getattr(part, name), getattr(table, name)[places])
        assert part.frame.equals(table.frame.iloc[places])
        assert part.index.equals(table.index[places])
        assert part.strata.labels.tolist() == table.strata.labels[places].tolist()
        assert part.strata.names == table.strata.names
        assert (part.columns, part.target, part.notes) == (table.columns, table.target, table.notes)
    every = {one.name for one in fields(Table)}
    assert {*BY_ROW, "frame", "strata"} == every - {"columns", "target", "domain", "task", "notes", "left_out"}


@pytest.mark.parametrize("role", ROLES)
def test_a_role_needs_a_column_that_is_not_the_target(role):
    with pytest.raises(InputError, match=rf"the table has no column 'sit' \(--{role}\): did you mean 'site'"):
        prepare(homes(), target="y", domain="site", **{role: "sit"})
    with pytest.raises(InputError, match=f"'y' is the target: it cannot also be the {role}"):
        prepare(homes(), target="y", domain="site", **{role: "y"})


@pytest.mark.parametrize(
    "weights, words", [([-1.0] + [1.0] * 59, "in 1 rows"), (["a"] * 60, "in 58 rows"), ([0] * 60, "zero in every row")]
)
def test_weights_that_count_nothing_are_refused(weights, words):
    with pytest.raises(InputError, match=f"the weight 'times' is .*{words}"):
        prepare(homes().assign(times=weights), target="y", domain="site", weight="times")


def test_a_judgement_heeds_unit_and_weight_of_its_table():
    frame = homes()
    options = {"estimator": "linear", "grouping": "none"}
    table = prepare(frame, target="y", domain="site", drop=["day", "thing", "checked"], unit="who", weight="times")
    found = judge(table, progress=False, **options)
    same = rpo.quality(
        frame.drop(columns=["day", "thing", "checked", "times"]),
        target="y",
        domain="site",
        unit="who",
        sample_weight=frame["times"],
        verbose=False,
        **options,
    )
    pd.testing.assert_frame_equal(found.domains, same.domains)
    np.testing.assert_array_equal(found.weight, same.weight[table.row - 1])
    without = judge(table.rows(np.ones(58, dtype=bool)), progress=False, **options)
    pd.testing.assert_frame_equal(found.domains, without.domains)
    assert found.domains["n"].sum() == frame["times"][table.index].sum()


def test_a_model_heeds_the_weights_of_its_table():
    table = prepare(homes(), target="y", domain="site", drop=["who", "day", "thing", "checked"], weight="times")
    bare = prepare(homes(), target="y", domain="site", drop=["who", "day", "thing", "checked", "times"])
    new = homes()[["x", "z"]]
    ours = rpo.QualityRegressor("linear", verbose=False).fit_prepared(table)
    same = rpo.QualityRegressor("linear", verbose=False).fit_prepared(bare, table.weight)
    other = rpo.QualityRegressor("linear", verbose=False).fit_prepared(bare)
    np.testing.assert_array_equal(ours.predict(new), same.predict(new))
    assert (ours.predict(new) != other.predict(new)).any()


def test_a_model_keeps_the_labels_of_its_domains():
    frame = homes().dropna(subset="y")
    model = rpo.QualityRegressor("linear", verbose=False)
    model.fit(frame[["x", "z", "site"]], frame["y"], domains="site")
    assert isinstance(model.quality_.table.labels.dtype, pd.CategoricalDtype)
    assert sorted(model.quality_.table.index) == sorted(frame.index)
