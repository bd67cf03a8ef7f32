"""The public names, and what a first touch of the package loads."""

import doctest
import inspect
import json
import re
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest
import torch

import rpo
from rpo.exceptions import CollapseWarning, InputError, OneDomainWarning, OneRowWarning, RPOError, TrainingError


def modules_after(code: str) -> set[str]:
    """The modules that a fresh process has once it has done something."""
    script = f"import sys, json\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def command(*words: str) -> str:
    """Code that runs a command and lets its end pass."""
    return f"from rpo.cli import main\nsys.argv = {['rpo', *words]!r}\ntry:\n    main()\nexcept SystemExit:\n    pass"


def test_dir_shows_the_public_names_and_nothing_else():
    assert dir(rpo) == sorted(rpo.__all__)
    for name in rpo.__all__:
        assert getattr(rpo, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'studies_'"):
        _ = rpo.studies_


def test_every_public_name_is_in_the_reference():
    page = Path(__file__).parents[1] / "docs" / "reference.md"
    if not page.exists():
        pytest.skip("the documentation is not part of this copy")
    entries = set(re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), flags=re.M))
    named = {entry.split(".")[-1] for entry in entries}
    assert {*rpo.__all__} - named <= {"__version__", "functional"}  # the last by its parts
    assert "rpo.functional.lipirm_loss" in entries


def reference_entries():
    """Every function and class of the reference, by its address."""
    page = Path(__file__).parents[1] / "docs" / "reference.md"
    if not page.exists():
        return {}
    found = {}
    for address, rest in re.findall(
        r"^::: (\S+)\n((?:    .*\n)*)", page.read_text(encoding="utf-8") + "\n", flags=re.M
    ):
        home, _, name = address.rpartition(".")
        one = getattr(import_module(home), name) if home else import_module(address)
        members = re.search(r"members: \[(.*)\]", rest)
        if not isinstance(one, ModuleType):
            found[address] = one
        else:
            names = members[1].split(", ") if members else getattr(one, "__all__", ())
            found |= {f"{address}.{part}": getattr(one, part) for part in names}
    return {name: one for name, one in found.items() if callable(one) and not issubclass_of_error(one)}


def issubclass_of_error(one):
    return isinstance(one, type) and issubclass(one, BaseException)


# Of results and data that functions return, fields are described one by one where they are defined.
RETURNED = ("Check", "Comparison", "Quality", "Confounded", "Uneven", "Callback", "Table")


def test_every_entry_of_the_reference_names_its_parameters_and_has_an_example():
    """In the dialect of NumPy: sections `Parameters` and `Examples`."""
    entries = reference_entries()
    assert len(entries) > 30
    lacking = []
    for address, one in entries.items():
        text = inspect.getdoc(one) or ""
        if address.rpartition(".")[2] in RETURNED:
            continue
        if ">>>" not in text.partition("Examples\n--------")[2]:
            lacking.append(f"{address}: Examples")
        section = re.split(r"\n\w+\n-{4,}\n", text.partition("Parameters\n----------\n")[2])[0]
        words = set(re.findall(r"\w+", " ".join(re.findall(r"^(\S.*?)(?: :.*)?$", section, flags=re.M))))
        own = [name for name in inspect.signature(one).parameters if name not in ("self", "args")]
        above = " ".join(inspect.getdoc(parent) or "" for parent in getattr(one, "__mro__", ())[1:]) + text
        missing = [name for name in own if name not in words and f"{name} :" not in above and f"`{name}`" not in above]
        if missing and "as in `" not in text:
            lacking.append(f"{address}: {', '.join(missing)}")
    assert "\n".join(lacking) == ""


def test_every_method_of_a_class_in_the_reference_names_its_parameters():
    """Those that the page shows, sections `Parameters` and, if something is returned, `Returns`."""
    page = (Path(__file__).parents[1] / "docs" / "reference.md").read_text(encoding="utf-8")
    shown = re.findall(r"^::: rpo\.(\w+)\n    options:\n      members: \[(.*)\]$", page, flags=re.M)
    methods = [(getattr(rpo, name), part) for name, parts in shown for part in parts.split(", ")]
    methods += [(rpo.engine.Callback, name) for name in ("on_step", "on_evaluate", "on_end")]
    methods += [(rpo.Quality, name) for name in ("figure", "report")]
    lacking = []
    for home, part in methods:
        one = inspect.getattr_static(home, part)
        if not inspect.isfunction(one):  # a property, or a submodule's name
            continue
        text, signature = inspect.getdoc(one) or "", inspect.signature(one)
        parameters = text.partition("Parameters\n----------\n")[2].partition("Returns\n-------\n")[0]
        words = set(re.findall(r"\w+", " ".join(re.findall(r"^(\S.*?)(?: :.*)?$", parameters, flags=re.M))))
        missing = set(signature.parameters) - words - {"self"}
        if signature.return_annotation not in (None, "None") and "Returns\n-------\n" not in text:
            missing.add("Returns")
        if missing:
            lacking.append(f"{home.__name__}.{part}: {', '.join(sorted(missing))}")
    assert len(methods) > 25
    assert "\n".join(sorted(set(lacking))) == ""


@pytest.mark.slow
@pytest.mark.parametrize("address", sorted(reference_entries()))
def test_every_example_of_the_reference_can_be_pasted(address):
    """With nothing imported beforehand."""
    finder = doctest.DocTestFinder(recurse=False)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    runner = doctest.DocTestRunner(optionflags=flags)
    with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):  # a network of one's own draws from torch
        warnings.simplefilter("ignore")
        for test in finder.find(reference_entries()[address], address, globs={}):
            runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.parametrize("kind", [InputError, TrainingError, OneDomainWarning, OneRowWarning, CollapseWarning])
def test_one_base_class_above_all_errors_and_warnings(kind):
    assert issubclass(kind, RPOError)
    assert rpo.exceptions.RPOError is RPOError


@pytest.mark.parametrize(
    "code",
    [
        "import rpo; dir(rpo)",
        "import rpo.exceptions, rpo._io",
        *(
            command(*words, "--help")
            for words in ([], ["quality"], ["fit"], ["compare"], ["bench"], ["bench", "table1"])
        ),
    ],
)
def test_help_and_the_bare_import_load_no_torch(code):
    loaded = modules_after(code)
    assert "rpo" in loaded
    assert not {"torch", "sklearn", "pandas"} & loaded


def test_a_fit_loads_no_study_and_nothing_of_the_paper(tmp_path):
    table = pd.DataFrame({"x": range(40), "y": range(40), "d": ["a", "b"] * 20})
    table.to_csv(tmp_path / "table.csv", index=False)
    rest = ["-m", "rpo", "--steps", "2", "--out", str(tmp_path / "model")]
    loaded = modules_after(command("fit", str(tmp_path / "table.csv"), "-t", "y", "-d", "d", *rest))
    assert (tmp_path / "model").is_dir()
    assert "rpo._networks" in loaded
    loaded = {name for name in loaded if not name.startswith("rpo_lab.cli")}  # the commands' options, nothing they do
    assert not {name for name in loaded if name.startswith(("rpo_lab.", "rpo._report"))}


def test_a_fit_and_a_comparison_train_the_same_network_for_the_same_steps():
    from inspect import signature

    from rpo.cli import compare as compare_command
    from rpo.cli import fit as fit_command
    from rpo.engine.config import HIDDEN, STEPS

    for call in (rpo.RPORegressor, rpo.DomainClassifier, rpo.compare, compare_command.compare):
        assert signature(call).parameters["steps"].default == STEPS
    assert signature(fit_command.fit).parameters["steps"].default is None  # the estimator's own
    assert rpo.RPORegressor().hidden == rpo.DomainClassifier().hidden == HIDDEN


# At most so many files and functions: a little above what `python -m benchmarks.journeys` counts.
JOURNEYS = {
    "rpo quality": (56, 350),
    "rpo quality, streamed": (66, 420),
    "rpo fit": (52, 385),
    "rpo fit --method rpo": (48, 300),
    "rpo bench table1": (84, 600),
}


@pytest.mark.slow
def test_journeys_stay_short():
    root = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.journeys"], cwd=root, capture_output=True, text=True, check=True
    )
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert [*lines] == [*JOURNEYS, "only streamed"]
    for name, most in JOURNEYS.items():
        counts = tuple(int(number) for number in re.findall(r"\d+", lines[name])[:2])
        assert counts <= most, (name, counts)
        assert counts[1] <= most[1], (name, counts)
    assert int(re.findall(r"\d+", lines["only streamed"])[0]) <= 70
