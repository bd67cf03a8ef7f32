"""`rpo.compare`: every domain is held out once, nothing leaks, it goes on where it stopped; the verdict is honest."""

import numpy as np
import pandas as pd
import pytest

import rpo
from rpo.exceptions import InputError
from rpo.frames import prepare
from rpo.studies.comparison import grid_of, study_rows, summarise
from rpo.studies.problems import load
from rpo.studies.specification import DataSpec
from rpo.studies.table_problem import Folds, use_folder, write_folds
from rpo.studies.verdict import verdict


def table_of(sizes, seed=0):
    rng = np.random.default_rng(seed)
    domain = np.repeat([f"d{i:02d}" for i in range(len(sizes))], sizes)
    x = rng.normal(size=(len(domain), 2))
    return pd.DataFrame({"x": x[:, 0], "z": x[:, 1], "d": domain, "y": x[:, 0] + 0.2 * rng.normal(size=len(domain))})


@pytest.mark.parametrize("sizes", [[20, 30, 25], [1, 2, 40, 5, 9, 12, 1, 30, 7, 6, 3, 20, 15]])
def test_every_domain_is_held_out_once_and_its_rows_are_seen_nowhere_else(sizes, tmp_path):
    ready = prepare(table_of(sizes), target="y", domain="d")
    folds = write_folds(ready, tmp_path, progress=False)
    assert sorted(name for held in folds.held_out for name in held) == sorted(set(ready.domains))
    assert len(folds.held_out) == min(len(sizes), 10)
    use_folder(tmp_path)
    for fold, held in enumerate(folds.held_out):
        found = load(DataSpec(name="table", options={"sha256": folds.sha256, "fold": fold}), seed=3)
        assert [len(part.y) for part in found.tests.values()] == [folds.rows[name] for name in held]
        inside = len(found.train.y) + len(found.validation.y)
        assert inside + sum(folds.rows[name] for name in held) == sum(sizes)
        assert found.train.n_domains == len(sizes) - len(held)
        assert found.train.x.mean(0).abs().max() < 1e-9  # scaled by its own rows, not by those held out
        assert 0 < len(found.validation.y) < 0.3 * inside


def test_it_goes_on_where_it_stopped_and_gives_the_same(tmp_path):
    frame = table_of([20, 20, 20])
    words = {"target": "y", "domain": "d", "methods": ["groupdro"], "seeds": 2, "steps": 20, "verbose": False}
    first = rpo.compare(frame, **words, out=tmp_path)
    kept = sorted((tmp_path / "runs").glob("*.json"))
    times = {path: path.stat().st_mtime_ns for path in kept}
    kept[0].unlink()
    again = rpo.compare(frame, **words, out=tmp_path)
    pd.testing.assert_frame_equal(first.methods, again.methods)
    assert sum(path.stat().st_mtime_ns != times[path] for path in kept) == 1
    assert list(first.domains["domain"]) == ["d00", "d01", "d02"]
    mean = first.methods.set_index("method")["error"]
    assert mean["erm-l2"] < mean["mean"]
    assert first.domains["erm-l2"].mean() == pytest.approx(mean["erm-l2"])
    assert first.figure().axes[0].patches


def test_classes_have_shares_of_wrong_ones():
    frame = table_of([20, 20, 20]).assign(y=lambda t: np.where(t["x"] > 0, "yes", "no"))
    found = rpo.compare(frame, target="y", domain="d", methods=["erm-l2"], seeds=2, steps=60, verbose=False)
    assert set(found.methods["method"]) == {"rpo", "rpo-permuted", "rpo-uniform", "erm-l2"}
    assert found.methods["error"].between(0, 0.3).all()


def errors(rpo_errors, erm_errors):
    names = [f"d{i}" for i in range(len(rpo_errors))]
    rng = np.random.default_rng(0)
    return {
        name: pd.DataFrame(np.array(values) + 0.001 * rng.normal(size=(3, len(names))), columns=names)
        for name, values in (("rpo", rpo_errors), ("erm-l2", erm_errors))
    }


@pytest.mark.parametrize(
    "rpo_errors, erm_errors, start",
    [
        ([0.5, 0.52, 0.48, 0.5], [0.9, 0.95, 0.88, 0.9], "RPO helps on this table"),
        ([0.9, 0.95, 0.88, 0.9], [0.5, 0.52, 0.48, 0.5], "RPO hurts on this table"),
        ([0.5, 0.9, 0.4, 0.7], [0.6, 0.8, 0.5, 0.6], "ERM is as good as RPO"),
    ],
)
def test_the_verdict_follows_the_held_out_domains(rpo_errors, erm_errors, start):
    ready = prepare(table_of([20, 20, 20]), target="y", domain="d")
    folds = Folds("", (("d0",), ("d1",), ("d2",), ("d3",)), {f"d{i}": 9 for i in range(4)})
    found = summarise(errors(rpo_errors, erm_errors), folds, ready, ())
    assert found.verdict.startswith(start)


def test_the_verdict_tells_of_a_better_method_and_of_controls():
    names = ["rpo", "erm-l2", "coral", "rpo-permuted"]
    table = pd.DataFrame({"method": names, "error": [0.5, 0.9, 0.3, 0.5], "p paired": [np.nan, 0.001, 0.01, 0.8]})
    words = verdict(table.assign(**{"worse in": 0.9}), 10)
    assert "RPO helps" in words
    assert "The smallest error of all is that of coral: 0.3 against 0.5, surely so" in words
    assert "rpo-permuted did as well" in words
    table.loc[3, ["error", "p paired"]] = 0.8, 0.01
    assert "it is where they are put that helps" in verdict(table.assign(**{"worse in": 0.9}), 10)


def test_every_method_that_fits_the_task_and_small_grids():
    ready = prepare(table_of([20, 20, 20]), target="y", domain="d")
    every = {row.method for row in study_rows(ready, ())}
    assert {method.name for method in rpo.methods.methods("regression")} | {"mean"} == every
    assert {row.method for row in study_rows(prepare(table_of([3] * 40), target="y", domain="d"), ())} == every
    assert all(1 <= len(grid_of(method.name)) <= 3 for method in rpo.methods.methods())


@pytest.mark.parametrize(
    "change, message",
    [
        ({"seeds": 1}, "give at least two"),
        ({"methods": ["magic"]}, "unknown method 'magic'"),
        ({"methods": ["rsc"]}, "has no regression"),
        ({"selection": "luck"}, "unknown selection rule"),
        ({"domain": "half"}, "three are needed"),
    ],
)
def test_bad_requests_are_one_line(change, message, tmp_path):
    frame = table_of([20, 20, 20]).assign(half=["a", "b"] * 30)
    with pytest.raises(InputError, match=message):
        rpo.compare(frame, **{"target": "y", "domain": "d", "out": tmp_path / "o", **change})
    assert not (tmp_path / "o").exists()
