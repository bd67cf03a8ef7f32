import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpo.exceptions import InputError
from rpo.grouping.strata import codes


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=40))
def test_codes_stand_for_the_sorted_labels(labels: list[str]) -> None:
    code, known = codes(labels)
    assert [known[c] for c in code] == labels
    assert known.tolist() == sorted(set(labels))


def test_a_table_or_another_number_of_rows_is_no_column_of_labels() -> None:
    with pytest.raises(InputError, match="one label per row, got shape"):
        codes(np.zeros((2, 2)))
    with pytest.raises(InputError, match=r"one label per row \(3\), got shape \(2,\)"):
        codes([0, 1], "domains", 3)


def test_kinds_that_cannot_be_sorted_are_kept_in_the_order_of_their_text() -> None:
    code, known = codes(np.array(["a", 1], dtype=object))
    assert (code.tolist(), known.tolist()) == ([1, 0], [1, "a"])


def test_a_missing_label_is_one_clear_line() -> None:
    with pytest.raises(InputError, match="domains is missing in 1 of 2 rows"):
        codes([None, "a"], "domains")
