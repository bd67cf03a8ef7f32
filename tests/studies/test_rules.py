"""The fingerprint of the rules: it follows what judges and decides, down to its formulas, and nothing else."""

from pathlib import Path

import pytest

import rpo
from rpo.studies import rules

HOME = Path(rpo.__file__).parent


def names():
    return {path.relative_to(HOME).as_posix() for path in rules.rule_files(HOME)}


def test_formulas_that_the_judgement_imports_are_rules_and_networks_are_not():
    found = names()
    assert {"judging/quality.py", "judging/many/quick.py", "models/decision.py"} <= found
    # Imported by judging; and imported only by what judging imports.
    assert {"functional/heterogeneity.py", "functional/scale.py", "grouping/found.py", "grouping/cluster.py"} <= found
    assert not {"functional/lipirm.py", "functional/losses.py", "functional/slope.py"} & found
    assert not {name for name in found if name.startswith(("engine", "methods", "studies", "report"))}


@pytest.fixture
def other(tmp_path, monkeypatch):
    """A small tree of its own, and its fingerprint after a file was written anew."""
    files = {
        "judging/noise.py": "from rpo.functional.scale import usual\n\n\ndef noise(x):\n    return usual(x)\n",
        "models/quality.py": "LIMIT = 2\n",
        "functional/scale.py": "def usual(x):\n    'The median.'\n    return sorted(x)[len(x) // 2]\n",
        "functional/losses.py": "def loss(x):\n    return x * x\n",
        "studies/rules.py": "",
    }
    monkeypatch.setattr(rules, "__file__", str(tmp_path / "studies" / "rules.py"))

    def after(**changed):
        for name, text in {**files, **{key.replace("__", "/") + ".py": text for key, text in changed.items()}}.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        return rules.fingerprint.__wrapped__()

    return after


def test_another_formula_is_another_rule_and_other_words_are_not(other):
    usual = other()
    assert other(models__quality="LIMIT = 3\n") != usual
    assert other(functional__scale="def usual(x):\n    return min(x)\n") != usual
    assert other(functional__losses="def loss(x):\n    return abs(x)\n") == usual
    described = "def usual(x):\n    'The value in the middle.'\n\n    return sorted(x)[len(x) // 2]\n"
    assert other(functional__scale=described) == usual
