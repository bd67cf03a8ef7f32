"""The house: what the tool knows of its laboratory (nothing), which rooms have doors, and how files are named."""

import ast
import os
import pickle
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

import rpo
from rpo._learners import NAMED
from rpo.cli import add_commands
from rpo.engine.plugins import GROUP

ROOT = Path(__file__).parents[1]
TOOL = Path(rpo.__file__).parent
PUBLIC = {"functional", "methods", "engine", "grouping", "datasets", "exceptions", "cli"}


def test_the_tool_never_names_the_laboratory():
    named = [path for path in TOOL.rglob("*") if path.is_file() and b"rpo_lab" in path.read_bytes()]
    assert [path for path in named if "__pycache__" not in path.parts] == []


def test_only_public_rooms_have_names_without_an_underscore():
    rooms = {path.stem for path in TOOL.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert {name for name in rooms if not name.startswith("_")} == PUBLIC


def test_no_two_files_have_one_name():
    names = Counter(path.name for path in TOOL.rglob("*.py") if "cli" not in path.parts and path.stem != "__init__")
    assert [name for name, number in names.items() if number > 1] == []


def test_no_string_points_up():
    """Names of modules in strings: only those of the lazy names of a package, which are its own or below it."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = [
        layer for contract in contracts["contracts"] for layer in contract["layers"] if contract.get("containers")
    ]
    height = {room.strip(): -place for place, layer in enumerate(layers) for room in layer.split("|")}
    up = []
    for path in TOOL.rglob("*.py"):
        room = path.relative_to(TOOL).parts[0].removesuffix(".py")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)} - {GROUP}
        for word in map(str, strings):
            named = re.fullmatch(r"rpo\.(\w+)[\w.]*", word)
            if named and room != "__init__" and height.get(named[1], -99) > height[room]:
                up.append(f"{path.relative_to(TOOL)}: {word}")
    assert up == []


@pytest.mark.parametrize("name", NAMED)
def test_every_learner_with_a_name_is_where_people_look(name):
    """Docstrings and guides cannot be made from the list, so they are compared with it."""
    for thing in (rpo.quality, rpo.QualityRegressor):
        assert f'"{name}"' in thing.__doc__, thing
    assert f"`{name}`" in (ROOT / "docs" / "learners.md").read_text(encoding="utf-8").replace('"', "")


@pytest.mark.parametrize("name", [name for name in rpo.__all__ if callable(getattr(rpo, name))])
def test_a_public_name_says_where_it_is_public(name):
    thing = getattr(rpo, name)
    assert f"{thing.__module__}.{thing.__qualname__}" == f"rpo.{name}"
    assert pickle.loads(pickle.dumps(thing)) is thing


@pytest.fixture(scope="session")
def without_laboratory(tmp_path_factory):
    """Run Python where the tool is a copy, and the laboratory is nowhere."""
    home = tmp_path_factory.mktemp("alone")
    shutil.copytree(TOOL, home / "rpo", ignore=shutil.ignore_patterns("__pycache__"))
    start = (
        "import sys; from pathlib import Path; "
        f"sys.path[:] = [{str(home)!r}, *(p for p in sys.path if not Path(p, 'rpo_lab').exists())]; "
    )

    def run(code):
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run([sys.executable, "-c", start + code], cwd=home, env=clean, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        return done

    frame = pd.DataFrame({"x": range(60), "d": list("abc") * 20})
    frame.assign(y=frame["x"] + frame["x"] % 7).to_csv(home / "table.csv", index=False)
    return run


COMMANDS = [
    ["--help"],
    ["quality", "table.csv", "-t", "y", "-d", "d", "--report", "page.html"],
    ["fit", "table.csv", "-t", "y", "-d", "d", "-m", "linear", "--out", "model"],
    ["predict", "model", "table.csv", "--out", "predictions.csv"],
    ["check", "model", "table.csv"],
    ["compare", "table.csv", "-t", "y", "-d", "d", "--seeds", "2", "--steps", "5", "--jobs", "1"],
    ["methods", "rpo"],
]


def test_the_tool_works_without_the_laboratory(without_laboratory):
    assert without_laboratory("import rpo; rpo.quality").stderr == ""
    for words in COMMANDS:
        done = without_laboratory(f"from rpo.cli import main; sys.argv = {['rpo', *words]!r}; main()")
        assert "cannot be loaded" not in done.stderr
        assert "bench" not in done.stdout, words


def test_commands_that_cannot_be_loaded_are_named_and_the_others_work(monkeypatch, capsys):
    class Broken:
        module = "rpo.cli"

        def load(self):
            raise RuntimeError("no\nluck")

    monkeypatch.setattr("rpo.cli.entry_points", lambda **_: [Broken()])
    add_commands()
    assert capsys.readouterr().err == "rpo: the commands of rpo.cli cannot be loaded: no luck\n"
