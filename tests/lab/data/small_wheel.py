"""A wheel of two tiny tables in place of the true one."""

import hashlib
import io
import json
import lzma
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rpo.exceptions import InputError
from rpo_lab.data import fetching, recipes

WIDTHS = pd.DataFrame(
    {
        "rownames": [1, 2, 3, 4, 5],
        "leaf": [7, 8, 9, 10, 11],
        "width": [1.0, np.e, 4.0, np.nan, 2.0],
        "site": [1.0, 1.0, 2.0, 2.0, np.nan],
        "soil": ["clay", "sand", None, "clay", "sand"],
        "area": [0.0, 1.0, 2.0, 3.0, 4.0],
    }
)
VOTES = pd.DataFrame(
    {
        "rownames": [1, 2, 3],
        "vote": ["for", "against", "abstained"],
        "age": [30, 40, 50],
        "town": ["A", "B", "B"],
    }
)
SPECIFIED = {
    "widths": {
        "title": "Widths of leaves",
        "package": "nlme",
        "item": "Widths",
        "task": "regression",
        "target": "width",
        "domain": "site",
        "left_out": ["leaf"],
        "log": ["width"],
        "log1p": ["area"],
        "rows": 3,
        "domains": 2,
        "sizes": [1, 2],
    },
    "votes": {
        "title": "Votes",
        "package": "plm",
        "item": "Votes",
        "task": "classification",
        "target": "vote",
        "domain": "town",
        "against": "for",
        "rows": 3,
        "domains": 2,
        "sizes": [1, 2],
    },
}


def pickled(frame: pd.DataFrame) -> bytes:
    """As the wheel has it: text as Python objects, compressed."""
    plain = frame.astype({name: object for name in frame.columns if not pd.api.types.is_numeric_dtype(frame[name])})
    plain.columns = pd.Index(list(frame.columns), dtype=object)
    return lzma.compress(pickle.dumps(plain, protocol=4))


def pack(folder: Path, monkeypatch: pytest.MonkeyPatch, items: dict[str, bytes]) -> Path:
    """A wheel of these items in the folder `given`, and recipes that expect it."""
    specified = {
        name: {**fields, "sha256": hashlib.sha256(items[fields["item"]]).hexdigest()}
        for name, fields in SPECIFIED.items()
    }
    (folder / "REAL.json").write_text(json.dumps(specified))
    monkeypatch.setattr(recipes, "FILE", folder / "REAL.json")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for recipe in recipes.recipes():
            archive.writestr(recipe.member, items[recipe.item])
    path = folder / "given" / recipes.WHEEL
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(buffer.getvalue())
    monkeypatch.setattr(recipes, "WHEEL_SHA256", hashlib.sha256(buffer.getvalue()).hexdigest())
    return path


def small_wheel(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The wheel of the two tables; a cache of its own, and no pip."""
    monkeypatch.setenv("RPO_DATA", str(folder / "cache"))

    def refuse(requirement: str, folder: Path) -> Path:
        raise InputError("no pip here")

    monkeypatch.setattr(fetching, "pip_download", refuse)
    return pack(folder, monkeypatch, {"Widths": pickled(WIDTHS), "Votes": pickled(VOTES)})
