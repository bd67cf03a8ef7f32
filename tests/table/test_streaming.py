"""The same table, cut into files in several ways, is judged the same, and as `rpo.quality` judges it."""

import numpy as np
import pandas as pd
import pytest

import rpo
from rpo._io import hold
from rpo._judging.measuring import Measuring
from rpo._streaming import draw, judge_dataset
from rpo._table import dataset as module
from rpo._table import passes
from rpo._table.dataset import open_dataset
from rpo._table.passes import Running
from rpo.exceptions import InputError

from . import parts

QUIET = Running(progress=False)
TABLES = ("domains", "strata", "cells", "features", "rows")
ROLES = {"target": "y", "domain": "site"}


def judged(given, rows=1_000, running=QUIET, estimator="linear", grouping="none", **roles):
    sample = draw(open_dataset(str(given)), **ROLES, **roles, rows=rows, running=running)
    return judge_dataset(sample, estimator=estimator, grouping=grouping, running=running)


def agree(one, other, places=("file", "row"), tolerance=1e-9):
    for name in TABLES:
        left, right = (getattr(found, name).drop(columns=list(places), errors="ignore") for found in (one, other))
        pd.testing.assert_frame_equal(left, right, rtol=tolerance, atol=1e-12, check_dtype=False, obj=name)
    for name in ("missing", "shift", "target", "table"):
        left, right = getattr(one.columns, name), getattr(other.columns, name)
        pd.testing.assert_frame_equal(left, right, rtol=tolerance, atol=1e-12, check_dtype=False, obj=name)
    assert one.summary == other.summary
    assert one.noise == pytest.approx(other.noise, rel=tolerance)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("numbers")
    frame = parts.table(1_400)
    parts.written(frame, folder / "one")
    return folder, frame


@pytest.mark.parametrize("classes", [False, True])
def test_however_it_is_cut_the_answer_is_the_same(tmp_path, monkeypatch, classes):
    frame = parts.table(1_800, classes=classes)
    frame = frame if classes else frame.drop(columns="day")  # searching groups is what takes the time
    one = judged(parts.written(frame, tmp_path / "one"), rows=700, grouping="auto")
    assert one.scope is not None
    assert one.scope.rows == frame["y"].notna().sum()
    assert 580 < one.scope.sample < 820
    monkeypatch.setattr(module, "PART_ROWS", 300)
    monkeypatch.setattr(module, "BATCH", 171)
    mixed = parts.written(frame.sample(frac=1, random_state=1), tmp_path / "mixed", 5, group=150)
    agree(one, judged(mixed, rows=700, grouping="auto"))
    assert one.domains["domain"].tolist()[0] == "s2"
    by_site = draw(open_dataset(str(parts.by_site(frame, tmp_path / "by-site"))), **ROLES, rows=500, running=QUIET)
    assert by_site.rows == dict(sorted(zip(one.domains["domain"], one.domains["n"], strict=True)))


def test_the_sample_is_the_same_to_the_last_bit_and_another_seed_draws_another(numbers, tmp_path):
    folder, frame = numbers
    mixed = parts.written(frame.sample(frac=1, random_state=3), tmp_path / "mixed", 7)
    one, other, third = (
        draw(open_dataset(str(given)), **ROLES, rows=600, seed=seed, running=QUIET)
        for given, seed in ((folder / "one", 0), (mixed, 0), (folder / "one", 1))
    )
    pd.testing.assert_frame_equal(one.ready.frame, other.ready.frame)
    np.testing.assert_array_equal(one.ready.X, other.ready.X)
    assert one.rows == other.rows == frame.dropna(subset="y")["site"].value_counts().sort_index().to_dict()
    assert not np.isin(one.ready.y, third.ready.y).all()
    drawn = pd.Series(one.ready.domains).value_counts()
    assert drawn.min() > 65  # of six sites, about 100 each


def test_a_sample_of_all_rows_gives_what_quality_gives_of_numbers(numbers):
    folder, frame = numbers
    found = judged(folder / "one", rows=10**6, grouping="auto")
    whole = rpo.quality(frame, **ROLES, estimator="linear", verbose=False)
    assert found.scope.sample == found.scope.rows == len(frame.dropna(subset="y"))
    exact = ["domain", "n", "offset", "relation", "novelty", "noisy", "judged", "shifted", "differs", "held_out"]
    pd.testing.assert_frame_equal(found.domains[exact], whole.domains[exact], rtol=1e-9, check_dtype=False)
    binned = ["noise", "low", "high", "ratio", "weight"]
    pd.testing.assert_frame_equal(found.domains[binned], whole.domains[binned], rtol=3e-4)
    by = {one: one.cells.set_index(["domain", "stratum"])["noise"] for one in (found, whole)}
    np.testing.assert_allclose(by[found], by[whole].loc[by[found].index], rtol=3e-3)
    pd.testing.assert_frame_equal(found.columns.missing, whole.columns.missing)
    pd.testing.assert_frame_equal(found.columns.shift, whole.columns.shift, rtol=1e-9)
    pd.testing.assert_frame_equal(found.columns.target, whole.columns.target, rtol=1e-9)
    assert found.summary == whole.summary
    assert found.overview == pytest.approx(whole.overview, rel=1e-3)
    np.testing.assert_allclose(found.rows["times"], whole.rows["times"], rtol=1e-9)


def test_and_of_classes_to_rounding(tmp_path):
    frame = parts.table(1_500, classes=True)
    folder = parts.written(frame, tmp_path / "data", 2)
    found = judged(folder, rows=10**6, grouping="auto")
    # Rows in the same order: logistic regressions end within their tolerance, not at one point.
    whole = rpo.quality(found.table.frame, **ROLES, estimator="linear", verbose=False)
    pd.testing.assert_frame_equal(found.domains, whole.domains, rtol=1e-9, check_dtype=False)
    pd.testing.assert_frame_equal(found.strata, whole.strata, rtol=1e-9, check_dtype=False)
    pd.testing.assert_frame_equal(found.cells, whole.cells, rtol=1e-9, check_dtype=False)
    pd.testing.assert_frame_equal(found.columns.target, whole.columns.target, rtol=1e-9)
    assert found.summary == whole.summary


def test_strata_of_columns_with_combinations_that_the_sample_lacks(tmp_path):
    frame = parts.table(4_000)
    frame["kind"] = np.where(np.arange(4_000) % 2, "x", "z")
    everything = judged(parts.written(frame, tmp_path / "a"), rows=10**6, strata=["kind"], grouping="auto")
    assert sorted(everything.strata["stratum"]) == ["kind x", "kind z"]
    frame.loc[frame.index[:1], "kind"] = "rare"
    sample = draw(open_dataset(str(parts.written(frame, tmp_path / "b"))), **ROLES, strata=["kind"], rows=500)
    if "rare" in set(sample.ready.frame["kind"]):
        pytest.skip("the one row was drawn")
    found = judge_dataset(sample, estimator="linear", running=QUIET)
    rest = found.strata.set_index("stratum").loc["other combinations"]
    assert rest["n"] == 1
    assert found.strata["n"].sum() == found.scope.rows


def test_groupings_of_classes_and_none(tmp_path):
    folder = parts.written(parts.table(1_500, classes=True), tmp_path / "data")
    assert judged(folder, rows=800, grouping="class").strata["n"].sum() == 1_500
    assert len(judged(folder, rows=800, grouping="none").strata) == 1


def test_finished_parts_are_not_read_again(tmp_path, monkeypatch):
    folder = parts.written(parts.table(3_000).drop(columns=["day", "colour"]), tmp_path / "data", 3)
    running = Running(progress=False, checkpoint=tmp_path / "kept")
    whole = judged(folder)
    real, seen = Measuring.__call__, []

    def stops(work, part):
        seen.append(part.file[-11:-8])
        if len(seen) == 3:
            raise KeyboardInterrupt
        return real(work, part)

    monkeypatch.setattr(Measuring, "__call__", stops)
    with pytest.raises(KeyboardInterrupt):
        judged(folder, running=running)
    agree(whole, judged(folder, running=running))
    assert seen == ["000", "001", "002", "002"]  # the one in which it was stopped, again
    for path in (tmp_path / "kept").rglob("*.npz"):  # damaged ones are made again
        path.write_bytes(path.read_bytes()[:100])
    agree(whole, judged(folder, running=running))
    assert seen[4:] == ["000", "001", "002"]
    judged(folder, rows=900, running=running)  # another sample: nothing of that serves
    assert seen[7:] == ["000", "001", "002"]
    with hold(tmp_path / "kept", "--checkpoint"):
        pass


def test_a_file_whose_rows_are_damaged_is_named_or_skipped(tmp_path):
    frame = parts.table(3_000)
    folder = parts.written(frame, tmp_path / "data", 3)
    bad = folder / "part-001.parquet"
    content = bytearray(bad.read_bytes())
    content[4:60] = b"\xff" * 56  # where the first column is described, which counting does not read
    bad.write_bytes(content)
    with pytest.raises(InputError, match="part-001.parquet cannot be read .*--skip-bad") as caught:
        judged(folder)
    assert "\n" not in str(caught.value)
    found = judged(folder, running=Running(progress=False, skip_bad=True))
    left = pd.concat([frame.iloc[:1_000], frame.iloc[2_000:]])
    agree(found, judged(parts.written(left, tmp_path / "left", 2)))
    assert any("part-001.parquet" in note for note in found.table.notes)


def test_what_cannot_be_judged_is_one_line(tmp_path):
    frame = parts.table(600)
    folder = parts.written(frame, tmp_path / "data", 2)
    with pytest.raises(InputError, match="has no column 'z'"):
        draw(open_dataset(str(folder)), target="z", running=QUIET)
    parts.written(frame.assign(site=frame["site"].mask(frame.index == 3)), tmp_path / "gaps")
    with pytest.raises(InputError, match="'site' is missing in 1 rows"):
        judged(tmp_path / "gaps")
    parts.written(frame.assign(y=np.nan), tmp_path / "none")
    with pytest.raises(InputError, match="has no values"):
        judged(tmp_path / "none")
    parts.written(parts.table(9_000).assign(site=np.arange(9_000) // 4), tmp_path / "sites")
    with pytest.raises(InputError, match="more than 2,000 values"):
        judged(tmp_path / "sites")
    late = parts.table(3_000)
    late.loc[2_999, "b"] = np.inf
    sample = draw(open_dataset(str(parts.written(late, tmp_path / "inf"))), **ROLES, rows=1_000, running=QUIET)
    if np.isfinite(sample.ready.X).all():
        with pytest.raises(InputError, match="column 'b' has values up to inf"):
            judge_dataset(sample, estimator="linear", running=QUIET)


def test_rows_of_a_class_that_the_sample_lacks_are_told(tmp_path):
    frame = parts.table(4_000, classes=True)
    frame.loc[0, "y"] = "perhaps"
    sample = draw(open_dataset(str(parts.written(frame, tmp_path / "data"))), **ROLES, rows=1_000, running=QUIET)
    if "perhaps" in sample.ready.y:
        pytest.skip("the one row was drawn")
    found = judge_dataset(sample, estimator="linear", running=QUIET)
    assert found.scope.rows == 3_999
    assert any(note.startswith("1 rows have a class that is not in the sample") for note in found.table.notes)


def test_parts_add_up_in_their_order_whoever_is_first(tmp_path):
    dataset = open_dataset(str(parts.written(parts.table(500), tmp_path / "data", 5)))

    def backwards(work, some):
        return ((place, work(some[place])) for place in reversed(range(len(some))))

    def add(whole, given):
        return [*whole, int(given["number"])]

    running = Running(backwards, progress=False)
    found, bad = passes.passed("test", _number, dataset, [], add, running)
    assert (found, bad) == ([0, 1, 2, 3, 4], [])


def _number(part):
    return {"number": np.array(int(part.file[-11:-8]))}
