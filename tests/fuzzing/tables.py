"""Tables that somebody spoiled: a case is a whole table after a few changes to cells, columns, rows or bytes."""

import gzip
import hashlib
import io
import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from rpo._models import table_files as tables_folder
from rpo._models.table_model import predict_table
from rpo._table.reading import read_table
from tests.fuzzing.cells import DATES, ENCODINGS, NAMES, NUMBERS, TEXTS, Rng, cell, damaged, one_of
from tests.fuzzing.harness import Ended, command, watched

OWN = 50  # bytes that a table may take in memory for each byte of its file
METHODS = ("linear", "trees", "auto", "rpo", "erm-l2", "rpo", "groupdro", "coral", "mixup", "anchor", "eqrm")
STEPS = "3"
COMPARED = 0.05  # of the comparisons, those that are carried out: each takes seconds


@dataclass(frozen=True)
class Case:
    """A file and what is done with it."""

    name: str
    content: bytes
    words: tuple[str, ...]


def whole(rng: Rng) -> pd.DataFrame:
    """A table of the ordinary kind, its cells as text: numbers, classes, a date, gaps; target y, domain d."""
    n = int(rng.integers(12, 90))
    d = rng.integers(0, int(rng.integers(1, 7)), n)
    frame = pd.DataFrame({"x": rng.normal(size=n).round(3)})
    if rng.random() < 0.7:
        frame["z"] = rng.integers(0, 9, n)
    if rng.random() < 0.5:
        frame["c"] = rng.choice(["u", "v", "w"], n)
    if rng.random() < 0.3:
        frame["t"] = (pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D")).strftime("%Y-%m-%d")
    if rng.random() < 0.3:
        frame["k"] = [f"{i:05d}" for i in rng.integers(0, 2000, n)]
    if rng.random() < 0.3:
        frame["g"] = np.where(rng.random(n) < 0.2, np.nan, rng.exponential(size=n).round(2))
    signal = frame["x"] + 0.5 * rng.normal(size=n) * (1 + 3 * (d == 0))
    kind = rng.integers(4)
    frame["y"] = signal.round(3) if kind < 2 else np.where(signal > 0, "yes", "no")
    if kind == 3:
        frame["y"] = np.digitize(signal, [-0.7, 0.7])
    frame["d"] = np.array(["a", "b", "c", "e", "f", "g"])[d] if rng.random() < 0.7 else d + 1
    return frame.astype(object).where(frame.notna(), "").map(str)


def spoiled(rng: Rng, frame: pd.DataFrame) -> pd.DataFrame:
    """The table after a few changes to what its cells say."""
    frame = frame.copy()
    for _ in range(int(rng.integers(0, 4))):
        names, n = list(frame.columns), len(frame)
        if not names or not n:
            return frame
        place = int(rng.integers(len(names)))
        way = rng.integers(16)
        if way < 5:
            frame.iat[int(rng.integers(n)), place] = cell(rng)
        elif way == 5:
            frame.iloc[:, place] = cell(rng)
        elif way == 6:
            some = one_of(rng, (NUMBERS, TEXTS, DATES))
            frame.isetitem(place, [str(one_of(rng, some)) for _ in range(n)])
        elif way == 7:
            pool = [cell(rng) for _ in range(int(rng.integers(1, 4)))]
            frame.isetitem(place, [str(one_of(rng, pool)) for _ in range(n)])
        elif way == 8:
            scale = float(f"1e{int(rng.integers(-320, 309))}")
            with np.errstate(over="ignore"):
                numbers = pd.to_numeric(frame.iloc[:, place], errors="coerce") * scale
            frame.isetitem(place, numbers.map(repr))
        elif way == 9:
            names[place] = one_of(rng, NAMES)
            frame = frame.set_axis(names, axis=1)
        elif way == 10:
            frame = frame.iloc[:, [k for k in range(len(names)) if k != place]]
        elif way == 11:
            frame = frame.iloc[rng.integers(0, n, int(rng.integers(1, 2 * n + 1)))]
        elif way == 12:
            frame = frame.iloc[np.argsort(frame.iloc[:, place].to_numpy(str), kind="stable")]
        elif way == 13:
            frame.isetitem(place, np.where(rng.random(n) < rng.random(), "", frame.iloc[:, place]))
        elif way == 14:
            frame.isetitem(place, frame.iloc[:, int(rng.integers(len(names)))])
        else:
            values = pd.to_numeric(frame.iloc[:, place], errors="coerce")
            frame.isetitem(place, (1.0 + values * 10.0 ** int(rng.integers(-18, -6))).map(repr))
    return frame


def typed(rng: Rng, frame: pd.DataFrame) -> pd.DataFrame:
    """Columns as numbers, dates or categories where they can be: Parquet has types."""
    made = {}
    for place, name in enumerate(frame.columns):
        values = frame.iloc[:, place].replace("", None)
        way = rng.integers(4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if way == 0:
                values = values.astype("category")
            elif way == 1 and str(name) == "t":
                values = pd.to_datetime(values, errors="coerce")
            else:
                numbers = pd.to_numeric(values, errors="coerce")
                values = numbers if numbers.notna().sum() > 0.5 * len(frame) else values
        if way == 3 and pd.api.types.is_float_dtype(values):
            values = values.astype(one_of(rng, (np.float32, np.float16, np.float64)))
        made[str(name)] = values.to_numpy() if way == 2 else values.array
    return pd.DataFrame(made)


def as_bytes(rng: Rng, frame: pd.DataFrame) -> tuple[str, bytes, str]:
    """A file of the table: name, content, and its encoding."""
    way = rng.integers(10)
    if way == 0:
        buffer = io.BytesIO()
        with np.errstate(all="ignore"):
            try:
                typed(rng, frame).to_parquet(buffer)
            except Exception:  # pyarrow cannot write every such table
                frame.astype(str).loc[:, ~frame.columns.duplicated()].to_parquet(buffer)
        content = buffer.getvalue()
        return "t.parquet", damaged(rng, content) if rng.random() < 0.4 else content, "utf-8"
    mark = one_of(rng, (",", ",", ",", ";", "\t", "|"))
    text = frame.to_csv(index=False, sep=mark, lineterminator=one_of(rng, ("\n", "\n", "\r\n")))
    encoding = one_of(rng, ENCODINGS) if rng.random() < 0.15 else "utf-8"
    try:
        content = text.encode(encoding, "replace")
    except (LookupError, UnicodeError, ValueError):
        content = text.encode()
    if rng.random() < 0.25:
        content = damaged(rng, content)
    if way == 1:
        content = gzip.compress(content, mtime=0)
        return "t.csv.gz", damaged(rng, content) if rng.random() < 0.4 else content, encoding
    said = one_of(rng, ENCODINGS) if rng.random() < 0.05 else encoding
    return "t.tsv" if mark == "\t" else "t.csv", content, said


def options(rng: Rng, frame: pd.DataFrame, fit: bool) -> list[str]:
    """Words that a command may be given besides."""
    some = [str(one_of(rng, list(frame.columns) or ["x"])) for _ in range(3)]
    offered = [
        ["--task", one_of(rng, ("auto", "regression", "classification"))],
        ["--grouping", one_of(rng, ("auto", "search", "class", "none"))],
        ["--strata", some[0]],
        ["--drop", some[1]],
        ["--category", some[2]],
        ["--seed", str(int(rng.integers(1000)))],
    ]
    if fit:
        offered += [["--weight", some[0]], ["--id", some[1]], ["--threshold", one_of(rng, ("0.2", "0.5", "1", "nan"))]]
    offered = [pair for pair in offered if not pair[1].startswith("-")]  # no value, but another option
    return [word for pair in offered if rng.random() < 0.12 for word in pair]


def case(seed: int, number: int) -> Case:
    """The case of a number; the same for the same seed."""
    rng = np.random.default_rng([seed, number])
    frame = spoiled(rng, whole(rng))
    name, content, encoding = as_bytes(rng, frame)
    roles = ["-t", "y", *(["-d", "d"] if rng.random() < 0.85 else [])]
    roles += ["--encoding", encoding] if encoding != "utf-8" else []
    way = rng.integers(10)
    if way < 4:
        words = [
            "quality",
            *roles,
            *options(rng, frame, False),
            *([["--json"], ["--report"], []][int(rng.integers(3))]),
        ]
    elif way < 9:
        method = one_of(rng, METHODS)
        words = ["fit", *roles, *options(rng, frame, True), "-m", method]
        words += ["--steps", STEPS] if method not in ("linear", "trees", "auto") else []
    else:
        words = ["compare", *roles, *(() if "-d" in roles else ("-d", "d"))]
        words += ["--seeds", "2", "--steps", "2", "-j", "1"] if rng.random() < COMPARED else ["--dry-run"]
    return Case(name, content, tuple(words))


def attack(one: Case, folder: Path) -> list[str]:
    """Run a case in a folder, and say what must not be."""
    file = folder / one.name
    file.write_bytes(one.content)
    command_name, *words = one.words
    if "--report" in words:
        words[words.index("--report") :] = ["--report", str(folder / "page.html")]
    if command_name == "fit":
        words += ["-o", str(folder / "model")]
    if command_name == "compare":
        words += ["-o", str(folder / "study")]
    own = OWN * len(one.content)
    with kept_in_memory() as models:
        ended = command([command_name, file, *words])
    found = ended.problems(own)
    if hashlib.sha256(file.read_bytes()).digest() != hashlib.sha256(one.content).digest():
        found.append("the table was changed")
    there = sorted(path.name for path in folder.iterdir() if path != file)
    if ended.code != 0 and there:
        found.append(f"left behind: {there}")
    if command_name == "fit" and ended.code == 0:
        encoding = words[words.index("--encoding") + 1] if "--encoding" in words else "utf-8"
        found += predictions(file, folder, models[0], encoding, own)
    if command_name == "quality" and ended.code == 0 and "--json" in words:
        found += finite_json(ended)
    return found


@contextmanager
def kept_in_memory() -> Iterator[list[Any]]:
    """The models that are saved meanwhile, as they were before."""
    models: list[Any] = []
    real = tables_folder.save_model

    def save(model: Any, path: Any) -> None:
        models.append(model)
        real(model, path)

    with patch.object(tables_folder, "save_model", save):
        yield models


def predictions(file: Path, folder: Path, fitted: Any, encoding: str, own: int) -> list[str]:
    """What is fitted can be loaded, predicts every row of its own table, and says what it said before it was saved."""
    ended = command(["predict", folder / "model", file, "--encoding", encoding, "--json"])
    found = [f"predict: {problem}" for problem in ended.problems(own)]
    if ended.code != 0:
        return [*found, f"what was fitted does not predict its own table: {ended.err}"]
    rows = json.loads(ended.out)["predictions"]
    if not rows or any(row["prediction"] in (None, "") for row in rows):
        found.append("a prediction is empty")
    said: list[list[Any]] = []

    def again() -> None:
        frame = read_table(file, encoding=encoding)
        said.append(predict_table(fitted, frame)[0]["prediction"].tolist())
        said.append(predict_table(tables_folder.load_model(folder / "model"), frame)[0]["prediction"].tolist())

    ended = watched(again)
    if ended.code != 0:
        return [*found, f"it predicts once and not twice: {ended.err}"]
    if len(rows) != len(said[0]) or not all(map(_alike, *said)):
        found.append("a silent difference: saved and read, the model predicts something else")
    return found


def _alike(before: Any, after: Any) -> bool:
    if isinstance(before, float):  # trees are summed in another order
        return bool(np.isclose(before, after, rtol=1e-9, atol=1e-12 * abs(before)))
    return bool(before == after)


def finite_json(ended: Ended) -> list[str]:
    """Results are JSON that every reader takes: no NaN, no infinity."""
    odd: list[str] = []
    json.loads(ended.out, parse_constant=odd.append)
    return [f"{odd[0]} in the JSON"] if odd else []


def prepare(folder: Path) -> None:
    """Everything imported and run once, so that memory and time are those of the cases."""
    rng = np.random.default_rng(0)
    file = folder / "t.csv"
    frame = pd.DataFrame({"x": rng.normal(size=60), "d": list("abc" * 20)})
    frame.assign(y=frame["x"] + rng.normal(size=60)).to_csv(file, index=False)
    for method in ("auto", "rpo"):
        steps = ["--steps", STEPS] if method == "rpo" else []
        assert command(["fit", file, "-t", "y", "-d", "d", "-m", method, "-o", folder / method, *steps]).code == 0
    assert command(["quality", file, "-t", "y", "-d", "d", "--report", folder / "page.html"]).code == 0
