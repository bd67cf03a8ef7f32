"""The larger examples run."""

import re
import runpy
from pathlib import Path

import pytest

from rpo.exceptions import InputError
from rpo_lab.data.cifar import load_cifar

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.long
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


@pytest.mark.long
def test_a_search_by_stacks(capsys):
    pytest.importorskip("optuna")
    found = runpy.run_path(str(EXAMPLES / "search.py"))["main"]()
    assert found["search"] < 1.5 * found["grid"]
    assert "4 rounds of 8" in capsys.readouterr().out


GALLERY = runpy.run_path(str(EXAMPLES / "gallery.py")) if EXAMPLES.exists() else {"SCRIPTS": {}}


@pytest.mark.parametrize("name", GALLERY["SCRIPTS"])
def test_the_page_of_examples_has_the_script_as_it_is(name):
    page = EXAMPLES.parent / "docs" / "examples.md"
    if not page.exists():
        pytest.skip("the documentation is not part of this copy")
    text = page.read_text(encoding="utf-8")
    said = text.split(f"## {GALLERY['SCRIPTS'][name]}\n")[1].split("```text\n")[1].split("\n```")[0]
    assert GALLERY["section"](name, said) in text, "run `make gallery`"
    assert (page.parent / "figures" / "examples" / f"{name}.png").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", GALLERY["SCRIPTS"])
def test_a_script_of_the_gallery_runs(name, tmp_path, registry):
    """What it prints begins as on the page, digits aside: figures and whole sentences may be another machine's."""
    said = GALLERY["printed"](name, tmp_path)
    shown = (EXAMPLES.parent / "docs" / "examples.md").read_text(encoding="utf-8")
    assert re.sub(r"\d[\d.]*", "#", said.splitlines()[0]) in re.sub(r"\d[\d.]*", "#", shown)
    assert (tmp_path / f"{name}.png").stat().st_size > 5_000
