import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpo.exceptions import InputError
from rpo.grouping import strata_from_columns


def test_numbers_are_cut_into_bins_of_equal_weight() -> None:
    table = pd.DataFrame({"age": np.random.default_rng(0).normal(size=1000)})
    assert np.bincount(strata_from_columns(table, n_bins=5).labels).tolist() == [200] * 5


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 3)), min_size=1, max_size=30), st.integers(1, 4))
def test_a_weight_is_a_row_repeated(rows: list[tuple[int, int]], n_bins: int) -> None:
    values, weight = np.array(rows).T
    weighted = strata_from_columns(pd.DataFrame({"a": values}), n_bins=n_bins, sample_weight=weight)
    repeated = strata_from_columns(pd.DataFrame({"a": np.repeat(values, weight)}), n_bins=n_bins)
    assert np.repeat(weighted.labels, weight).tolist() == repeated.labels.tolist()
    assert weighted.names == repeated.names


def test_columns_are_combined_and_named_and_missing_is_its_own() -> None:
    table = pd.DataFrame(
        {"sex": ["f", "m", None, "f"], "union": [True, False, True, True], "score": [1.0, np.nan, 10.0, 1.0]}
    )
    strata = strata_from_columns(table)
    assert strata.labels.tolist() == [0, 1, 2, 0]
    assert strata.names == (
        "sex f, union True, score 1",
        "sex m, union False, score missing",
        "sex missing, union True, score 10",
    )


def test_bad_input_is_one_clear_line() -> None:
    with pytest.raises(InputError, match="at least one column"):
        strata_from_columns(pd.DataFrame(index=[0, 1]))
    with pytest.raises(InputError, match="n_bins must be at least 1, got 0"):
        strata_from_columns(pd.DataFrame({"a": [1]}), n_bins=0)
    with pytest.raises(InputError, match="one non-negative number per row"):
        strata_from_columns(pd.DataFrame({"a": [1, 2]}), sample_weight=[1.0])
