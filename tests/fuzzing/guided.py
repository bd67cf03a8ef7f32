"""`python -m tests.fuzzing.guided tables|folders CORPUS [libFuzzer's options]`: the same, guided by coverage (atheris).

    pip install -c constraints.txt -e ".[fuzz]"
    python -m tests.fuzzing.guided tables corpus -max_total_time=600

An input is the content of a file: of a table, read and prepared; or of a card of a model folder, whose manifest is
made to fit. CORPUS is a folder, filled with whole and spoiled inputs if it is empty. Anything but an InputError is a
finding.
"""

import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import atheris

with atheris.instrument_imports(
    include=["rpo._table", "rpo._table", "rpo._saving.folders", "rpo._saving.card", "rpo._models.model_files"]
):
    from rpo._models.table_files import load_model
    from rpo._table import prepare
    from rpo._table.reading import read_table
    from rpo.exceptions import InputError

from tests.fuzzing import folders, tables

SEEDS = 200
NAMES = ("t.csv", "t.csv.gz", "t.parquet", "t.tsv")  # by the first byte of an input
CARDS = ("table.json", "model.json", "weights.safetensors", "manifest.json")


def read(folder: Path) -> Callable[[bytes], None]:
    """A table is read and prepared, or refused."""

    def one(data: bytes) -> None:
        file = folder / NAMES[data[0] % len(NAMES)] if data else folder / NAMES[0]
        file.write_bytes(data[1:])
        with suppress(InputError):
            prepare(read_table(file), target="y", domain="d")

    return one


def load(folder: Path) -> Callable[[bytes], None]:
    """A folder with one file replaced is loaded, or refused."""
    folders.prepare(folder)
    models = [folder / name for name in folders.FIT]

    def one(data: bytes) -> None:
        if len(data) < 2:
            return
        model, name = models[data[0] % len(models)], CARDS[data[1] % len(CARDS)]
        whole = {file: file.read_bytes() for file in model.iterdir()}
        try:
            (model / name).write_bytes(data[2:])
            if name != "manifest.json":
                folders.reseal(model)
            with suppress(InputError):
                load_model(model)
        finally:
            for file, content in whole.items():
                file.write_bytes(content)

    return one


def seeds(kind: str, corpus: Path, folder: Path) -> None:
    """Inputs to begin with."""
    if kind == "tables":
        for number in range(SEEDS):
            case = tables.case(0, number)
            (corpus / str(number)).write_bytes(bytes([NAMES.index(case.name)]) + case.content)
        return
    for place, name in enumerate(folders.FIT):
        for card in CARDS:
            head = bytes([place, CARDS.index(card)])
            (corpus / f"{name}-{card}").write_bytes(head + (folder / name / card).read_bytes())


if __name__ == "__main__":
    kind, corpus = sys.argv[1], Path(sys.argv[2])
    corpus.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        target = {"tables": read, "folders": load}[kind](Path(place))
        if not any(corpus.iterdir()):
            seeds(kind, corpus, Path(place))
        atheris.Setup([sys.argv[0], str(corpus), *sys.argv[3:]], target)
        atheris.Fuzz()
