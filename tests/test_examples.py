"""The larger examples run."""

import runpy
from pathlib import Path

import pytest

from rpo.exceptions import InputError
from rpo.paper.data.cifar import load_cifar

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.slow
def test_a_small_resnet_from_picture_files(tmp_path, registry, capsys):
    try:
        load_cifar()
    except InputError as error:
        pytest.skip(f"CIFAR-10: {error}")
    main = runpy.run_path(str(EXAMPLES / "photos.py"))["main"]
    found = main([str(tmp_path), "--rows", "200", "--steps", "60", "--workers", "1"])
    assert list(found) == ["ERM", "my V-REx", "RPO"]
    said = capsys.readouterr().out.splitlines()
    at_home = {line[:10].strip(): float(line.split("accuracy ")[1].split()[0]) for line in said if "at home" in line}
    assert at_home["ERM"] > 0.65
    assert all(0 <= accuracy <= 1 for accuracy in found.values())
    assert len(list(tmp_path.rglob("*.png"))) == 2 * 160 + 100


@pytest.mark.slow
def test_a_search_by_stacks(capsys):
    pytest.importorskip("optuna")
    found = runpy.run_path(str(EXAMPLES / "search.py"))["main"]()
    assert found["search"] < 1.5 * found["grid"]
    assert "4 rounds of 8" in capsys.readouterr().out
