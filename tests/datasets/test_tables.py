import numpy as np
import pytest

from rpo.datasets import load_cigar, load_radon, load_wage


@pytest.mark.parametrize("load", [load_cigar, load_wage, load_radon])
def test_features_target_and_domain_are_whole_and_apart(load) -> None:
    table = load()
    assert table.target not in table.features
    assert np.isfinite(table.X.to_numpy(dtype=float)).all()
    assert np.isfinite(table.y.to_numpy(dtype=float)).all()
    assert table.y.std() > 0
    assert (table.X.std() > 0).all()
    assert len(table.X) == len(table.y) == len(table.domains)
    assert table.description
    assert table.source


def test_cigar_is_46_states_of_30_years_with_logarithms() -> None:
    cigar = load_cigar()
    assert cigar.domains.value_counts().unique().tolist() == [30]
    np.testing.assert_allclose(np.exp(cigar.X["log_pop16"]), cigar.frame["pop16"])


def test_wage_is_545_men_in_each_of_8_years() -> None:
    wage = load_wage()
    assert wage.domains.value_counts().tolist() == [545] * 8
    assert wage.frame["nr"].nunique() == 545
    assert (wage.X["expersq"] == wage.X["exper"] ** 2).all()


def test_radon_has_the_small_counties_it_is_here_for() -> None:
    radon = load_radon()
    homes = radon.domains.value_counts()
    assert (len(homes), homes.min(), homes.max(), (homes <= 5).sum()) == (85, 1, 116, 46)
    assert radon.frame["county"].nunique() == 85


def test_a_table_loaded_twice_is_not_shared() -> None:
    first = load_radon()
    first.frame.loc[0, "uranium"] = 99.0
    assert load_radon().frame.loc[0, "uranium"] != 99.0
