import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpo.exceptions import InputError
from rpo.grouping import split_by_domain


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc")), min_size=1, max_size=40))
def test_every_row_lands_in_the_cell_of_its_own_pair(rows: list[tuple[int, str]]) -> None:
    cell, pairs = split_by_domain([s for s, _ in rows], [e for _, e in rows])
    assert [pairs[c] for c in cell] == [(e, s) for s, e in rows]
    assert pairs == sorted(set(pairs))
    assert set(cell.tolist()) == set(range(len(pairs)))


def test_unequal_lengths_are_one_clear_line() -> None:
    with pytest.raises(InputError, match="strata have 2 rows and domains 3"):
        split_by_domain([0, 1], [0, 0, 1])


def test_a_table_is_no_label() -> None:
    with pytest.raises(InputError, match="one column"):
        split_by_domain(np.zeros((2, 2)), [0, 1])


def test_kinds_that_cannot_be_sorted_are_kept_in_some_order() -> None:
    cell, pairs = split_by_domain(np.array(["a", 1], dtype=object), [0, 0])
    assert (cell.tolist(), pairs) == ([1, 0], [(0, 1), (0, "a")])


def test_a_missing_label_is_one_clear_line() -> None:
    with pytest.raises(InputError, match="domains is missing in 1 of 2 rows"):
        split_by_domain([0, 1], [None, "a"])
