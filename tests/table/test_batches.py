import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpo._table.batches import check_finite, filled, keys, numbers_of, places
from rpo._table.columns import Column, learn, transform, typed
from rpo.exceptions import InputError

from . import parts

COLUMNS = {
    "number": st.one_of(st.none(), st.floats(-1e6, 1e6)),
    "whole": st.one_of(st.none(), st.integers(-100, 100)),
    "flag": st.booleans(),
    "text": st.sampled_from(["1", "2.5", "x", "", "ä"]),
    "gaps": st.one_of(st.none(), st.sampled_from(["u", "v"])),
    "written": st.sampled_from(["1", "2.5", "30"]),
    "day": st.dates(),
}


@given(st.data())
def test_columns_of_a_batch_are_those_of_a_frame(data):
    name = data.draw(st.sampled_from(list(COLUMNS)))
    values = data.draw(st.lists(COLUMNS[name], min_size=12, max_size=40))
    column = pa.array(values)
    if name in ("text", "gaps") and data.draw(st.booleans()):
        column = column.dictionary_encode()
    frame = pa.table({"a": column}).to_pandas(date_as_object=False)
    try:
        about = learn(frame["a"], "a", category=data.draw(st.booleans()))
    except InputError:
        return
    if not isinstance(about, Column):
        return
    number = numbers_of(column, about)
    np.testing.assert_array_equal(number, typed(frame["a"], about))
    np.testing.assert_array_equal(filled([number], [about]), transform(frame, [about]))


def test_a_key_depends_on_what_a_row_says_alone():
    frame = parts.table(500)
    batch = pa.RecordBatch.from_pandas(frame, preserve_index=False)
    whole = keys(batch, 0)
    assert len(np.unique(whole)) == 500
    halves = np.concatenate([keys(batch.slice(0, 200), 0), keys(batch.slice(200), 0)])
    np.testing.assert_array_equal(whole, halves)
    coded = batch.set_column(5, "site", batch.column("site").dictionary_encode())
    np.testing.assert_array_equal(whole, keys(coded, 0))
    assert not np.isin(keys(batch, 1), whole).any()


def test_keys_are_even_also_of_whole_numbers():
    batch = pa.record_batch({"a": np.arange(40_000), "b": np.zeros(40_000)})
    share = np.array([(keys(batch, seed) < 2.0**60).mean() for seed in range(5)])
    assert np.abs(share - 1 / 16).max() < 6 * np.sqrt(1 / 16 / 40_000)


def test_places_of_labels_and_gaps():
    column = pa.array(["u", None, "w", "v"])
    assert places(column, {"u": 0, "v": 1}).tolist() == [0, -2, -1, 1]
    assert places(pd_null(3), {}).tolist() == [-2, -2, -2]


def pd_null(rows):
    return pa.array(pd.Series([None] * rows, dtype=object), pa.string())


def test_numbers_that_sums_do_not_hold_are_one_line():
    check_finite(np.array([np.nan, 1.0]), "a")
    with pytest.raises(InputError, match="column 'a' has values up to 1e\\+300"):
        check_finite(np.array([np.nan, 1e300]), "a")
