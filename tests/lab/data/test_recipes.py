import re

import pytest

from rpo.exceptions import InputError
from rpo_lab.data.recipes import LICENCES, recipe_of, recipes


def test_there_are_the_sixteen_and_more_with_some_of_classes() -> None:
    names = [recipe.name for recipe in recipes()]
    assert len(names) == len(set(names)) >= 24
    assert {"hsb82", "exam", "scots", "bdf", "gcsemv", "contraception", "guimmun", "wvs"} <= set(names)
    assert {"crime", "produc", "males", "rice", "hedonic", "empluk", "radon", "insteval"} <= set(names)
    assert sum(recipe.task == "classification" for recipe in recipes()) >= 8


@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.name)
def test_a_recipe_is_complete_and_leaves_its_roles_in(recipe) -> None:
    assert re.fullmatch("[0-9a-f]{64}", recipe.sha256)
    assert recipe.package in LICENCES
    assert recipe.target != recipe.domain
    assert not {recipe.target, recipe.domain} & set(recipe.left_out)
    assert not set(recipe.left_out) & {*recipe.log, *recipe.log1p}
    assert not set(recipe.log) & set(recipe.log1p)
    smallest, largest = recipe.sizes
    assert 1 <= smallest <= largest
    assert recipe.domains * smallest <= recipe.rows <= recipe.domains * largest
    assert recipe.domains >= 3


def test_no_member_is_used_twice() -> None:
    assert len({recipe.member for recipe in recipes()}) == len(recipes())


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(InputError, match="no real table 'iris'; choose from hsb82, exam, "):
        recipe_of("iris")
