"""Names beside lines, and files with nothing in them but the figure."""

import math

import pytest
from matplotlib.figure import Figure

from rpo_lab.runner.drawing import GAP, name_lines, save, spread


def test_labels_are_moved_apart_in_their_order():
    assert spread([0.3, 0.1, 0.31, 0.32], gap=0.05) == pytest.approx([0.26, 0.1, 0.31, 0.36])
    assert spread([], gap=1) == []


@pytest.mark.parametrize("scale, ends", [("linear", (25.0, 50.0)), ("log", (10.0, 100.0))])
def test_names_stand_where_lines_end(scale, ends):
    axis = Figure().subplots()
    axis.set_yscale(scale)
    axis.set_ylim(*((0.0, 100.0) if scale == "linear" else (1.0, 10_000.0)))
    name_lines(axis, [("low", "black", ends[0]), ("none", "black", math.nan), ("high", "black", ends[1])])
    assert [text.get_text() for text in axis.texts] == ["low", "high"]
    assert [text.xy[1] for text in axis.texts] == pytest.approx([0.25, 0.5])


def test_names_of_lines_that_end_together_do_not_overlap():
    axis = Figure().subplots()
    name_lines(axis, [("one", "black", 0.5), ("other", "black", 0.5)])
    low, high = (text.xy[1] for text in axis.texts)
    assert high - low == pytest.approx(GAP)


def test_a_file_has_nothing_in_it_but_the_figure(tmp_path):
    figure = Figure()
    figure.subplots().plot([1, 2])
    png, svg = save(figure, tmp_path, "line")
    for kind in (b"tEXt", b"iTXt", b"zTXt", b"eXIf", b"tIME"):
        assert kind not in png.read_bytes()
    for words in ("<metadata", "matplotlib.org"):
        assert words not in svg.read_text(encoding="utf-8")
    assert save(figure, tmp_path, "line", kinds=["svg"]) == [svg]
