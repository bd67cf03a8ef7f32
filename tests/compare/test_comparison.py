"""`rpo.compare`: every domain is held out once, nothing leaks, it goes on where it stopped; the verdict is honest."""

import re

import numpy as np
import pandas as pd
import pytest
from rpo._comparing import table_problem
from rpo._comparing.table_problem import use_folder, write_folds
from rpo._comparing.verdict import verdict

import rpo
from rpo._table import prepare
from rpo.exceptions import InputError
from rpo_lab.runner import runner, stacks
from rpo_lab.runner.problems import load
from rpo_lab.runner.specification import DataSpec
from rpo_lab.runner.store import Record


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


def test_two_jobs_find_what_one_finds(tmp_path):
    """Workers that fitted the learners are taken again for the networks, and must hear of the table."""
    asked = {"target": "y", "domain": "d", "methods": ["irm-lip"], "seeds": 2, "steps": 2, "verbose": False}
    one, two = (
        rpo.compare(table_of([20, 30, 25]), jobs=jobs, out=tmp_path / str(jobs), **asked).methods for jobs in (1, 2)
    )
    assert "irm-lip" in set(one["method"])
    assert one["error"].notna().all()
    pd.testing.assert_frame_equal(one, two)


def test_strata_of_finished_folds_survive_a_kill(tmp_path, monkeypatch):
    """Killed after two folds of three: the third alone is searched for when it goes on."""
    ready = prepare(table_of([20, 30, 25]), target="y", domain="d")
    folds = write_folds(ready, tmp_path / "undisturbed", progress=False)
    real, searched = table_problem.found_strata, []

    def search(*given):
        if len(searched) == 2:
            raise KeyboardInterrupt
        searched.append(1)
        return real(*given)

    monkeypatch.setattr(table_problem, "found_strata", search)
    with pytest.raises(KeyboardInterrupt):
        write_folds(ready, tmp_path / "killed", progress=False)
    assert len(list((tmp_path / "killed" / "tables").glob("*.strata"))) == 2
    searched.clear()
    write_folds(ready, tmp_path / "killed", progress=False)
    assert len(searched) == 1
    name = table_problem.table_file(folds.sha256)
    assert [path.name for path in (tmp_path / "killed" / "tables").iterdir()] == [name.name]
    assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "undisturbed" / name).read_bytes()


def test_a_flipped_bit_in_a_table_is_noticed_and_the_table_rebuilt(tmp_path):
    ready = prepare(table_of([20, 30, 25]), target="y", domain="d")
    folds = write_folds(ready, tmp_path, grouping="none", progress=False)
    path = tmp_path / table_problem.table_file(folds.sha256)
    whole, before = path.read_bytes(), table_problem.read_arrays(path)
    rng = np.random.default_rng(0)
    for _ in range(20):
        spoiled = bytearray(whole)
        spoiled[rng.integers(len(whole))] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(spoiled))
        found = table_problem.read_arrays(path)
        assert found is None or all(np.array_equal(found[name], array) for name, array in before.items())
        write_folds(ready, tmp_path, grouping="none", progress=False)
        assert table_problem.read_arrays(path) is not None
    path.write_bytes(whole[:100])
    use_folder(tmp_path)
    table_problem._arrays.cache_clear()
    with pytest.raises(InputError, match="is missing or has changed"):
        load(DataSpec(name="table", options={"sha256": folds.sha256, "fold": 0}), seed=0)


WORDS = {"target": "y", "domain": "d", "methods": ["groupdro"], "seeds": 2, "steps": 20, "verbose": False}
ALWAYS = {"linear", "trees", "quality", "quality-permuted", "quality-uniform", "erm-l2", "rpo"}


def test_it_goes_on_where_it_stopped_and_gives_the_same(tmp_path):
    frame = table_of([20, 20, 20])
    first = rpo.compare(frame, **WORDS, out=tmp_path)
    kept = sorted(tmp_path.glob("*/*.json"))
    assert len({path.parent.name for path in kept}) == 2  # networks and learners
    times = {path: path.stat().st_mtime_ns for path in kept}
    assert kept[0].parent.name == "learners"
    kept[0].write_text(kept[0].read_text().replace('": 0.', '": 1.', 1))  # another error than was found
    kept[-1].unlink()
    again = rpo.compare(frame, **WORDS, out=tmp_path)
    pd.testing.assert_frame_equal(first.methods, again.methods)
    assert sum(path.stat().st_mtime_ns != times[path] for path in kept) == 2
    assert list(first.domains["domain"]) == ["d00", "d01", "d02"]
    assert set(first.methods["method"]) == {"mean", "groupdro", *ALWAYS}
    mean = first.methods.set_index("method")["error"]
    assert mean["linear"] < mean["mean"]
    assert first.domains["erm-l2"].mean() == pytest.approx(mean["erm-l2"])
    assert first.figure().axes[0].patches
    assert first.failed == ()


def test_classes_have_shares_of_wrong_ones():
    frame = table_of([20, 20, 20]).assign(y=lambda t: np.where(t["x"] > 0, "yes", "no"))
    found = rpo.compare(frame, target="y", domain="d", seeds=2, steps=60, verbose=False)
    error = found.methods.set_index("method")["error"]
    assert set(error.index) == {"majority", *ALWAYS}
    assert error.drop("majority").between(0, 0.3).all()
    assert error["majority"] > 0.3


def test_what_failed_is_named_and_tried_again(tmp_path, monkeypatch):
    frame = table_of([20, 20, 20])
    whole = rpo.compare(frame, **WORDS, out=tmp_path / "whole")
    with monkeypatch.context() as broken:
        measure = stacks.run_stack

        def failing(stack, *rest):
            return [
                Record(run=one.run, status="failed", reason="a term is not finite", seconds=1.0, versions={})
                if one.run.method == "groupdro"
                else one
                for one in measure(stack, *rest)
            ]

        broken.setattr(runner, "run_stack", failing)
        found = rpo.compare(frame, **WORDS, out=tmp_path / "failed")
    assert found.failed == ("groupdro failed in 18 of 18 trainings: a term is not finite",)
    assert "groupdro" not in set(found.methods["method"])
    again = rpo.compare(frame, **WORDS, out=tmp_path / "failed")
    assert again.failed == ()
    pd.testing.assert_frame_equal(again.methods, whole.methods)


def test_interrupted_it_says_what_is_known(tmp_path, monkeypatch):
    frame = table_of([20, 20, 20])

    def interrupted(stack, *_):
        raise KeyboardInterrupt

    with monkeypatch.context() as stopped:
        stopped.setattr(runner, "run_stack", interrupted)
        found = rpo.compare(frame, **WORDS, out=tmp_path)
    assert found.stopped
    assert set(found.methods["method"]) == {"mean", *ALWAYS} - {"erm-l2", "rpo"}
    assert found.verdict
    assert not rpo.compare(frame, **WORDS, out=tmp_path).stopped


def errors(**methods):
    return pd.DataFrame(methods, index=[f"d{i}" for i in range(4)]).assign(mean=2.0)


@pytest.mark.parametrize(
    "ours, theirs, start",
    [
        ([0.5, 0.52, 0.48, 0.5], [0.9, 0.95, 0.88, 0.9], "quality helps on this table"),
        ([0.9, 0.95, 0.88, 0.9], [0.5, 0.52, 0.48, 0.5], "quality hurts on this table"),
        ([0.5, 0.9, 0.4, 0.7], [0.6, 0.8, 0.5, 0.6], "4 domains cannot tell quality from trees"),
    ],
)
def test_the_verdict_follows_the_held_out_domains(ours, theirs, start):
    words = verdict(errors(quality=ours, trees=theirs, linear=1.0))
    assert words.startswith(start)
    assert re.search(r"difference -?[0-9.e-]+ \(-?[0-9.e-]+ to -?[0-9.e-]+\)", words)
    assert ("Use trees" in words) == ("hurts" in words)


def test_the_verdict_tells_of_rpo_of_a_better_method_of_controls_and_of_the_mean():
    low, high = [0.5, 0.52, 0.48, 0.5], [0.9, 0.95, 0.88, 0.9]
    stock = {"quality": low, "trees": high, "linear": 1.0}
    words = verdict(errors(**stock, rpo=low, **{"erm-l2": high}, coral=[0.3, 0.32, 0.28, 0.3]))
    assert "rpo helps on this table" in words
    assert "The smallest error is that of coral, 0.3, significantly below that of quality." in words
    same = {"quality-permuted": low, "quality-uniform": low}
    assert "the controls are identical to the model" in verdict(errors(**stock, **same))
    worse = {"quality-permuted": high, "quality-uniform": high}
    assert "it matters which rows get less weight" in verdict(errors(**stock, **worse))
    assert "cannot tell its weights from those of quality-uniform" in verdict(
        errors(**stock, **{"quality-permuted": high, "quality-uniform": [0.4, 0.62, 0.5, 0.5]})
    )
    assert "No method is better than the mean" in verdict(errors(**stock).assign(mean=0.1))


def test_every_method_that_fits_the_task_and_small_grids():
    ready = prepare(table_of([20, 20, 20]), target="y", domain="d")
    every = {row.method for row in study_rows(ready, (), every=True)}
    assert {method.name for method in rpo.methods.methods("regression")} - {"mean"} == every
    assert [row.label for row in study_rows(ready, ["vrex", "coral", "trees"])] == ["vrex", "coral", "erm-l2", "rpo"]
    assert all(1 <= len(grid_of(method.name)) <= 3 for method in rpo.methods.methods())


@pytest.mark.parametrize(
    "change, message",
    [
        ({"seeds": 1}, "seeds must be at least 2"),
        ({"methods": ["magic"]}, "unknown method 'magic'"),
        ({"methods": ["rsc"]}, "does not support regression"),
        ({"selection": "luck"}, "selection must be one of"),
        ({"domain": "half"}, "three are needed"),
    ],
)
def test_bad_requests_are_one_line(change, message, tmp_path):
    frame = table_of([20, 20, 20]).assign(half=["a", "b"] * 30)
    with pytest.raises(InputError, match=message):
        rpo.compare(frame, **{"target": "y", "domain": "d", "out": tmp_path / "o", **change})
    assert not (tmp_path / "o").exists()
