"""`python -m tests.fuzzing.kills FOLDER`: the process that gets killed.

For every line of standard input, a command, it forks, runs the command in the child, and says the child's number and
how it ended: one import of everything for many kills.
"""

import hashlib
import io
import json
import os
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rpo.cli import main
from rpo_lab.data import recipes
from tests.lab.data.small_wheel import SPECIFIED, WIDTHS, pickled

TABLES = 40


def table(folder: Path) -> Path:
    """A table to fit and to compare on."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=120), "z": rng.normal(size=120), "d": list("abcd" * 30)})
    frame["y"] = frame["x"] + 0.3 * rng.normal(size=120)
    frame.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def many_tables(folder: Path) -> Path:
    """A wheel of many small tables, and recipes that expect it."""
    specified, items = {}, {}
    for k in range(TABLES):
        items[f"Widths{k}"] = pickled(WIDTHS.assign(leaf=WIDTHS["leaf"] + k))
        checksum = hashlib.sha256(items[f"Widths{k}"]).hexdigest()
        specified[f"widths{k}"] = {**SPECIFIED["widths"], "item": f"Widths{k}", "sha256": checksum}
    (folder / "REAL.json").write_text(json.dumps(specified))
    recipes.FILE = folder / "REAL.json"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for recipe in recipes.recipes():
            archive.writestr(zipfile.ZipInfo(recipe.member), items[recipe.item])
    recipes.WHEEL_SHA256 = hashlib.sha256(buffer.getvalue()).hexdigest()
    (folder / recipes.WHEEL).write_bytes(buffer.getvalue())
    return folder / recipes.WHEEL


def two_models(folder: Path) -> list[Any]:
    """A network and trees."""
    import rpo

    frame = pd.read_csv(folder / "t.csv")
    X, options = frame[["x", "z"]].to_numpy(), {"domains": frame["d"].to_numpy()}
    network = rpo.DomainRegressor(hidden=(8,), steps=5).fit(X, frame["y"], **options)
    return [network, rpo.QualityRegressor("trees", weights="off", screen="off").fit(X, frame["y"], **options)]


def run(folder: Path, words: list[Any], models: list[Any]) -> None:
    """A command in this process, or the saving of models to one place in turn, until it is killed."""
    while words == ["save"]:
        for model in models:
            model.save(folder / "model")
    sys.argv = ["rpo", *words]
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (it ends with the process)
    main()


if __name__ == "__main__":
    place = Path(sys.argv[1])
    table(place)
    many_tables(place)

    made = two_models(place)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                run(place, json.loads(line), made)
                code = 0
            except SystemExit as stop:
                code = stop.code if isinstance(stop.code, int) else 0
            finally:
                os._exit(code)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
