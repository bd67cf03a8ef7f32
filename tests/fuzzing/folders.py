"""Model folders that somebody spoiled: damaged by accident, or changed on purpose with a manifest that fits.

What was damaged must be refused, or predict as before. What was changed on purpose must be refused, or be a model: it
may predict something else, but finite numbers, soon, and within the memory that its files need.
"""

import json
import os
import shutil
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

import rpo
from rpo._saving.folders import MANIFEST, make_manifest
from tests.fuzzing.cells import TEXTS, Rng, cell, damaged, one_of
from tests.fuzzing.harness import command, watched

ROWS = 60
OWN = 30  # bytes of memory for each byte of a folder
LONGEST = 300  # characters of a refusal, paths left out
SEALED_FILE = 1 << 24  # larger files are sparse: nobody computes their checksum
FIT = {  # folders of `rpo fit`: target, method
    "rpo": ("y", "rpo"),
    "rpo-classes": ("c3", "rpo"),
    "mtl": ("y", "mtl"),
    "har": ("c2", "har"),
    "auto": ("y", "auto"),
    "linear": ("c2", "linear"),
    "trees": ("c3", "trees"),
    "network": ("y", "network"),
}
SAVED = ("network-saved", "quality-saved")  # folders of `save`

_whole = Path()
_said: dict[str, Any] = {}


def table() -> pd.DataFrame:
    """Numbers, a category, a date, gaps; a number, two classes and three to predict."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=ROWS).round(3), "k": rng.choice(["u", "v", "w"], ROWS)})
    frame["t"] = (pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, ROWS), "D")).strftime("%Y-%m-%d")
    frame["g"] = np.where(rng.random(ROWS) < 0.2, np.nan, rng.exponential(size=ROWS).round(2))
    signal = frame["x"] + (frame["k"] == "u") + 0.3 * rng.normal(size=ROWS)
    frame["y"], frame["c2"] = signal.round(3), np.where(signal > 0.3, "yes", "no")
    frame["c3"] = np.array(["low", "mid", "top"])[np.digitize(signal, [0.0, 0.8])]
    frame["d"] = np.array(["a", "b", "c", "e"])[np.arange(ROWS) % 4]
    return frame


def prepare(folder: Path) -> None:
    """The whole folders, and what each says."""
    global _whole
    _whole = folder
    frame = table()
    frame.to_csv(folder / "t.csv", index=False)
    for name, (target, method) in FIT.items():
        others = [other for other in ("y", "c2", "c3") if other != target]
        steps = ["--steps", "5"] if method not in ("auto", "linear", "trees", "network") else []
        words = ["-t", target, "-d", "d", "-m", method, "--drop", ",".join(others), "-o", folder / name, *steps]
        ended = command(["fit", folder / "t.csv", *words])
        assert ended.code == 0, ended.err
        _said[name] = predicted(folder / name)
    X, site = frame[["x", "g"]].fillna(0).to_numpy(), frame["d"].to_numpy()
    rpo.DomainClassifier("rpo", hidden=(4,), steps=5).fit(X, frame["c3"], domains=site).save(folder / SAVED[0])
    rpo.QualityRegressor("trees").fit(X, frame["y"], domains=site).save(folder / SAVED[1])
    for name in SAVED:
        _said[name] = rpo.load(folder / name).predict(X).tolist()


class Spoiled(Exception):
    """There is nothing left to spoil in this way: an earlier change did."""


@dataclass(frozen=True)
class Case:
    """A folder, the seed of what is done to it, and whether its manifest is made to fit afterwards."""

    name: str
    seed: tuple[int, int]
    sealed: bool


def case(seed: int, number: int) -> Case:
    """The case of a number; the same for the same seed."""
    rng = np.random.default_rng([seed, number])
    return Case(one_of(rng, (*FIT, *SAVED)), (seed, number), bool(rng.random() < 0.7))


def attack(one: Case, folder: Path) -> list[str]:
    """Spoil a folder, read it, and say what must not be."""
    rng = np.random.default_rng([*one.seed, 1])
    model = folder / "model"
    shutil.copytree(_whole / one.name, model)
    if one.sealed:
        for _ in range(int(rng.integers(1, 4))):
            with suppress(Spoiled):
                one_of(rng, ON_PURPOSE)(rng, model)
        reseal(model)
    else:
        with suppress(Spoiled):
            one_of(rng, BY_ACCIDENT)(rng, model)
    own = OWN * sum(min(file.lstat().st_size, SEALED_FILE) for file in model.iterdir())
    return load_table(one, model, own) if one.name in FIT else load_saved(one, model, own)


def load_table(one: Case, model: Path, own: int) -> list[str]:
    """By `rpo predict`, and by `rpo.load`."""
    ended = command(["predict", model, _whole / "t.csv", "--json"])
    found = ended.problems(own)
    if ended.code == 2 and len(ended.err.replace(str(model), "")) > LONGEST:
        found.append(f"a refusal of {len(ended.err)} characters: {ended.err}")
    if ended.code == 0:
        said = [row["prediction"] for row in json.loads(ended.out)["predictions"]]
        found += differences(one, said)
    loaded = watched(lambda: _load(model))
    return found + [f"rpo.load: {problem}" for problem in loaded.problems(own)]


def load_saved(one: Case, model: Path, own: int) -> list[str]:
    """By `rpo.load`, and predictions of it."""
    said: list[Any] = []
    X = table()[["x", "g"]].fillna(0).to_numpy()
    ended = watched(lambda: said.extend(_load(model, X)))
    found = ended.problems(own)
    if ended.code == 2 and len(ended.err.replace(str(model), "")) > LONGEST:
        found.append(f"a refusal of {len(ended.err)} characters: {ended.err}")
    return found + (differences(one, said) if ended.code == 0 else [])


def _load(model: Path, X: Any = None) -> list[Any]:
    """Load, as a command would: a refusal is one line and exit code 2."""
    try:
        found = rpo.load(model)
        return [] if X is None else found.predict(X).tolist()
    except rpo.exceptions.RPOError as error:
        import sys

        print(f"rpo: {error}", file=sys.stderr)
        raise SystemExit(2) from None


def differences(one: Case, said: list[Any]) -> list[str]:
    """Predictions that cannot be, and for what was damaged by accident those that differ."""
    found = []
    if len(said) != ROWS or any(value is None or value != value or value in (np.inf, -np.inf) for value in said):
        found.append("a prediction is not finite")
    if not one.sealed and said != _said[one.name]:
        found.append("a silent difference: a damaged folder predicts something else")
    return found


def predicted(model: Path) -> list[Any]:
    """What a whole folder says."""
    ended = command(["predict", model, _whole / "t.csv", "--json"])
    assert ended.code == 0, ended.err
    return [row["prediction"] for row in json.loads(ended.out)["predictions"]]


def reseal(model: Path) -> None:
    """Make the manifest fit what is there now: what somebody would do who means harm."""
    files = {}
    for file in model.iterdir():
        if file.name != MANIFEST and not file.is_symlink() and file.is_file() and file.stat().st_size < SEALED_FILE:
            files[file.name] = file.read_bytes()
    there = model / MANIFEST
    if not there.exists() or (there.is_file() and not there.is_symlink()):  # else the manifest itself is the attack
        there.write_bytes(make_manifest(files))


# --- by accident ------------------------------------------------------------------------------------------------------


def some_file(rng: Rng, model: Path, ending: str = "") -> Path:
    """One of the files of a folder, if there is one that can still be spoiled."""
    there = (
        file for file in model.iterdir() if file.name.endswith(ending) and not file.is_symlink() and file.is_file()
    )
    whole = sorted(file for file in there if 0 < file.stat().st_size < SEALED_FILE)
    if not whole:
        raise Spoiled
    return Path(one_of(rng, whole))


def flip(rng: Rng, model: Path) -> None:
    """One bit."""
    file = some_file(rng, model)
    data = bytearray(file.read_bytes())
    data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    file.write_bytes(bytes(data))


def damage(rng: Rng, model: Path) -> None:
    """Several bytes."""
    file = some_file(rng, model)
    file.write_bytes(damaged(rng, file.read_bytes()))


def lose(rng: Rng, model: Path) -> None:
    """A file is gone."""
    some_file(rng, model).unlink()


def swap(rng: Rng, model: Path) -> None:
    """A file of another model."""
    other = _whole / one_of(rng, (*FIT, *SAVED))
    file = some_file(rng, other)
    if (model / file.name).is_symlink() or not (model / file.name).is_file():
        raise Spoiled
    shutil.copy(file, model / file.name)


def odd_kind(rng: Rng, model: Path) -> None:
    """A link, a FIFO, a folder or a device's name in place of a file."""
    file = some_file(rng, model)
    content = file.read_bytes()
    file.unlink()
    way = rng.integers(4)
    if way == 0:
        (model.parent / "elsewhere").write_bytes(content)
        file.symlink_to(model.parent / "elsewhere")
    elif way == 1:
        os.mkfifo(file)
    elif way == 2:
        file.mkdir()
    else:
        file.symlink_to("/dev/zero")


def sparse(rng: Rng, model: Path) -> None:
    """A file that says it is huge, and takes no room."""
    os.truncate(some_file(rng, model), int(rng.integers(1 << 20, 1 << 42)))


BY_ACCIDENT: tuple[Callable[[Rng, Path], None], ...] = (flip, flip, flip, damage, damage, lose, swap, odd_kind, sparse)

# --- on purpose -------------------------------------------------------------------------------------------------------

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 10**6, 10**9, 2**31, 2**63, 2**64, 10**30, -(10**30), 0.5, -0.5, 1e-300, 1e300,
    1e308, float("nan"), float("inf"), "", "a", "nan", "inf", "<U1000000000", "<U9", "|O", "O", "V8", "<f8", "<i1",
    "|b1", "M8[ns]", [], {}, [[]], [None], [0] * 1000, ["a"] * 1000, {"float": "nan"}, {"float": "inf"}, {"float": "x"},
    {"a": 1}, "x" * 100_000, "regression", "classification", "binary", "multiclass", "number", "category", "date",
    "rpo", "erm-l2", "mtl", "QualityRegressor", "RPOClassifier", "auto", "trees", "network", "forest", "line",
    "constant", [10**5, 10**5], [1] * 200,
)  # fmt: skip


def paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value."""
    found = [here] if here else []
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        found += paths(part, (*here, name))
    return found


def change_json(rng: Rng, model: Path) -> None:
    """A value of a card replaced, removed, doubled or put elsewhere."""
    file = some_file(rng, model, ".json")
    try:
        card = json.loads(file.read_bytes())
        places = paths(card)
        where = one_of(rng, places)
        inside = card
        for name in where[:-1]:
            inside = inside[name]
        old, way = inside[where[-1]], rng.integers(9)
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        raise Spoiled from None
    if way < 4:
        inside[where[-1]] = one_of(rng, VALUES)
    elif way == 4:
        del inside[where[-1]]
    elif way == 5 and isinstance(inside, list):
        inside.extend([old] * int(one_of(rng, (1, 10, 10_000))))
    elif way == 5:
        inside[str(one_of(rng, TEXTS))] = old
    elif way == 6:
        other = one_of(rng, places)
        donor = card
        for name in other:
            donor = donor[name]
        inside[where[-1]] = json.loads(json.dumps(donor))
    elif way == 7 and isinstance(old, int | float) and not isinstance(old, bool):
        inside[where[-1]] = old * float(one_of(rng, (-1, 0, 1e10, 1e100, 1e300, 1e-300)))
    else:
        inside[where[-1]] = cell(rng)
    file.write_text(json.dumps(card))


def change_array(rng: Rng, model: Path) -> None:
    """An array of another shape, type or value; one more, one less."""
    file = some_file(rng, model, ".safetensors")
    try:
        arrays = load_arrays(file.read_bytes())
    except Exception:
        raise Spoiled from None
    if not arrays:
        raise Spoiled
    name = one_of(rng, sorted(arrays))
    array, way = np.array(arrays[name]), rng.integers(9)
    if way == 0 and array.size:
        flat = array.reshape(-1)
        value = one_of(rng, (np.nan, np.inf, -np.inf, 1e308, -1e308, 0, -1, 2**31 - 1, 1e-320, 7))
        with np.errstate(all="ignore"):
            flat[int(rng.integers(len(flat)))] = np.asarray(value).astype(array.dtype)
    elif way == 1:
        with np.errstate(all="ignore"):
            array = array.astype(one_of(rng, (np.float16, np.float32, np.float64, np.int8, np.int64, np.uint64, bool)))
    elif way == 2:
        array = array.reshape(-1)[: int(rng.integers(array.size + 1))]
    elif way == 3:
        array = np.concatenate([array.reshape(-1)] * int(rng.integers(2, 50)))
    elif way == 4:
        array = array.reshape(one_of(rng, ((-1,), (1, -1), (-1, 1), (1, 1, -1))))
    elif way == 5:
        arrays[str(one_of(rng, ("weights/x", "state/x", "0/x", "9/left", "x", "state/kept", "state/weight")))] = array
    elif way == 6:
        arrays[f"state/{one_of(rng, ('big', 'kept', 'weight', 'eta'))}"] = np.zeros(int(one_of(rng, (1, 10, 10**6))))
    elif way == 7:
        with np.errstate(all="ignore"):
            array = (array * one_of(rng, (-1, 0, 1e30, 1e300, np.nan))).astype(array.dtype)
    arrays[name] = array
    if way == 8:
        del arrays[name]
    file.write_bytes(save_arrays({key: np.ascontiguousarray(value) for key, value in arrays.items()}))


def change_header(rng: Rng, model: Path) -> None:
    """A header of arrays that promises what is not there, or the same bytes many times over."""
    file = some_file(rng, model, ".safetensors")
    data = file.read_bytes()
    if len(data) < 8:
        raise Spoiled
    (length,) = struct.unpack("<Q", data[:8])
    try:
        header = json.loads(data[8 : 8 + length])
        entry = header[one_of(rng, sorted(header))]
        way = rng.integers(5)
        if way == 0:
            entry["shape"] = one_of(rng, ([2**40], [2**31, 2**31], [0], [-1], [1] * 100, [2**63, 2], []))
        elif way == 1:
            entry["dtype"] = one_of(rng, ("F64", "BF16", "F8_E4M3", "I8", "BOOL", "C64", "X"))
        elif way == 2:
            entry["data_offsets"] = one_of(rng, ([0, 2**50], [0, 8], [8, 0], [-8, 8]))
        elif way == 3:
            header.update({f"state/{k}": entry for k in range(20_000)})
        else:
            header["__metadata__"] = one_of(rng, ({"a": "b" * 10**6}, {"a": 1}, [], None))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Spoiled from None
    made = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(made)) + made + data[8 + length :])


def deep(rng: Rng, model: Path) -> None:
    """JSON that is deep, long or not JSON at all."""
    file = some_file(rng, model, ".json")
    many = int(rng.integers(1000, 200_000))
    bombs = (
        b"[" * many,
        b'{"a":' * many + b"1" + b"}" * many,
        b"1" * many,
        b'"' + b"a" * 40 * many + b'"',
        b"\xff" * 9,
        b"",
    )
    file.write_bytes(one_of(rng, bombs))


ON_PURPOSE: tuple[Callable[[Rng, Path], None], ...] = (
    *(change_json,) * 6, *(change_array,) * 5, *(change_header,) * 2, deep, damage, swap, lose, odd_kind, sparse,
)  # fmt: skip
