"""`rpo.compare`: every domain is held out once, nothing leaks, it goes on where it stopped; the verdict is honest."""

import re
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rpo
from rpo._compare import network_names, verdict
from rpo._comparison import table_folds, table_networks
from rpo._comparison.table_folds import ResultFolder, fold_data, make_folds, strata_by_fold
from rpo._comparison.table_networks import RULES, choose, grid_of
from rpo._table import prepare
from rpo.exceptions import InputError

CLUSTERS = Path(__file__).parents[1] / "lab" / "runner" / "clusters.py"


def table_of(sizes, seed=0):
    rng = np.random.default_rng(seed)
    domain = np.repeat([f"d{i:02d}" for i in range(len(sizes))], sizes)
    x = rng.normal(size=(len(domain), 2))
    return pd.DataFrame({"x": x[:, 0], "z": x[:, 1], "d": domain, "y": x[:, 0] + 0.2 * rng.normal(size=len(domain))})


@pytest.mark.parametrize("sizes", [[20, 30, 25], [1, 2, 40, 5, 9, 12, 1, 30, 7, 6, 3, 20, 15]])
def test_every_domain_is_held_out_once_and_its_rows_are_seen_nowhere_else(sizes, tmp_path):
    ready = prepare(table_of(sizes), target="y", domain="d")
    folds = make_folds(ready)
    assert sorted(name for held in folds.held_out for name in held) == sorted(set(ready.domains))
    assert len(folds.held_out) == min(len(sizes), 10)
    strata = strata_by_fold(ready, folds, ResultFolder(tmp_path), False)
    for fold, held in enumerate(folds.held_out):
        found = fold_data(folds, strata, fold, seed=3)
        assert np.bincount(found.held.domain).tolist() == [folds.rows[name] for name in held]
        inside = len(found.train.y) + len(found.validation.y)
        assert inside + sum(folds.rows[name] for name in held) == sum(sizes)
        assert found.train.n_domains == len(sizes) - len(held)
        assert found.train.x.mean(0).abs().max() < 1e-9  # scaled by its own rows, not by those held out
        assert 0 < len(found.validation.y) < 0.3 * inside


def test_two_jobs_find_what_one_finds(tmp_path):
    """Workers that fitted the learners are taken again for the networks, and must hear of the table."""
    asked = {"target": "y", "domain": "d", "methods": ["irm-lip", "rpo-pen"], "seeds": 2, "steps": 2, "verbose": False}
    one, two = (
        rpo.compare(table_of([20, 30, 25]), jobs=jobs, out=tmp_path / str(jobs), **asked).methods for jobs in (1, 2)
    )
    assert {"irm-lip", "rpo-pen", "rpo"} <= set(one["method"])
    assert one["error"].notna().all()
    pd.testing.assert_frame_equal(one, two)


def test_strata_of_finished_folds_survive_a_kill(tmp_path, monkeypatch):
    """Killed after two folds of three: the third alone is searched for when it goes on."""
    ready = prepare(table_of([20, 30, 25]), target="y", domain="d")
    folds, killed = make_folds(ready), ResultFolder(tmp_path / "killed")
    undisturbed = strata_by_fold(ready, folds, ResultFolder(tmp_path / "undisturbed"), False)
    real, searched = table_folds.strata_of, []

    def search(*given):
        if len(searched) == 2:
            raise KeyboardInterrupt
        searched.append(1)
        return real(*given)

    monkeypatch.setattr(table_folds, "strata_of", search)
    with pytest.raises(KeyboardInterrupt):
        strata_by_fold(ready, folds, killed, False)
    assert len(list((tmp_path / "killed" / "tables").glob("*.strata"))) == 2
    searched.clear()
    np.testing.assert_array_equal(strata_by_fold(ready, folds, killed, False), undisturbed)
    assert len(searched) == 1
    first, second = (sorted((tmp_path / name / "tables").iterdir()) for name in ("killed", "undisturbed"))
    assert [path.name for path in first] == [path.name for path in second]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_a_flipped_bit_in_a_file_of_results_is_noticed_and_the_file_made_again(tmp_path):
    ready = prepare(table_of([20, 30, 25]), target="y", domain="d")
    folds, folder = make_folds(ready, "none"), ResultFolder(tmp_path)
    before = strata_by_fold(ready, folds, folder, False)
    path = next((tmp_path / "tables").iterdir())
    name, whole = f"tables/{path.name}", path.read_bytes()
    kept = folder.read(name)
    rng = np.random.default_rng(0)
    for _ in range(20):
        spoiled = bytearray(whole)
        spoiled[rng.integers(len(whole))] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(spoiled))
        assert folder.read(name) in (None, kept)
        np.testing.assert_array_equal(strata_by_fold(ready, folds, folder, False), before)
        assert folder.read(name) == kept
    path.write_bytes(whole[:100])
    assert folder.read(name) is None
    other = path.with_name("other.strata")
    other.write_bytes(whole)  # whole, but the result of something else
    assert folder.read("tables/other.strata") is None
    other.unlink()
    other.symlink_to(path)
    assert folder.read("tables/other.strata") is None


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
        measure = table_networks.run_stack

        def failing(stack, **rest):
            return {
                key: [{"failure": "a term is not finite"} for _ in results] if key[0] == "groupdro" else results
                for key, results in measure(stack, **rest).items()
            }

        broken.setattr(table_networks, "run_stack", failing)
        found = rpo.compare(frame, **WORDS, out=tmp_path / "failed")
    assert found.failed == ("groupdro failed in 18 of 18 trainings: a term is not finite",)
    assert "groupdro" not in set(found.methods["method"])
    again = rpo.compare(frame, **WORDS, out=tmp_path / "failed")
    assert again.failed == ()
    pd.testing.assert_frame_equal(again.methods, whole.methods)


def test_interrupted_it_says_what_is_known(tmp_path, monkeypatch):
    frame = table_of([20, 20, 20])

    def interrupted(stack, **_):
        raise KeyboardInterrupt

    with monkeypatch.context() as stopped:
        stopped.setattr(table_networks, "run_stack", interrupted)
        found = rpo.compare(frame, **WORDS, out=tmp_path)
    assert found.stopped
    assert set(found.methods["method"]) == {"mean", *ALWAYS} - {"erm-l2", "rpo"}
    assert found.verdict
    assert not rpo.compare(frame, **WORDS, out=tmp_path).stopped


def test_a_stopped_run_goes_on_without_repeating_finished_folds(tmp_path, monkeypatch):
    """Interrupted after the first stack: what it trained is read from its files, and the result is that of one go."""
    frame = table_of([20, 20, 20])
    whole = rpo.compare(frame, **WORDS, out=tmp_path / "whole")
    real, trained = table_networks.run_stack, []

    def counted(stack, **rest):
        outcomes = real(stack, **rest)
        trained.extend(outcomes)
        return outcomes

    def first(stack, **rest):
        if trained:
            raise KeyboardInterrupt
        return counted(stack, **rest)

    monkeypatch.setattr(table_networks, "STACK_ROWS", 100)  # a method, fold and seed a stack
    monkeypatch.setattr(table_networks, "run_stack", first)
    assert rpo.compare(frame, **WORDS, out=tmp_path / "stopped").stopped
    before, kept = list(trained), {path: path.stat().st_mtime_ns for path in tmp_path.glob("stopped/*/*")}
    assert len(before) == len(list(tmp_path.glob("stopped/runs/*.json"))) == 1
    monkeypatch.setattr(table_networks, "run_stack", counted)
    again = rpo.compare(frame, **WORDS, out=tmp_path / "stopped")
    assert len(trained) == len(set(trained)) == 18  # three methods on three folds with two seeds, each once
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())
    pd.testing.assert_frame_equal(again.methods, whole.methods)


def test_rpo_and_its_kin_share_their_first_stage(monkeypatch):
    """One of six models (three folds, two seeds) for RPO and RPO-Pen, one for HAR; RPO is the same without its kin."""
    frame, real, models = table_of([20, 20, 20]), table_networks.first_stage, []

    def counted(*given, seeds, **rest):
        models.append(len(seeds))
        return real(*given, seeds=seeds, **rest)

    monkeypatch.setattr(table_networks, "first_stage", counted)
    asked = {"target": "y", "domain": "d", "seeds": 2, "steps": 3, "verbose": False}
    together = rpo.compare(frame, methods=["rpo-pen", "har"], **asked).domains
    assert models == [6, 6]
    assert rpo.compare(frame, **asked).domains["rpo"].equals(together["rpo"])


def test_what_breaks_alone_fails_alone(tmp_path, monkeypatch):
    """One fold, seed and value of RPO that raises an error leaves all other networks of its stack."""
    frame, real = table_of([20, 20, 20]), table_networks._fit

    def fit(methods, seeds, sets, config):
        if any(values.get("strength") == 0.1 for own in methods for values in own.grid) and 1 in seeds:
            raise ValueError("too\nweak")
        return real(methods, seeds, sets, config)

    whole = rpo.compare(frame, **WORDS)
    monkeypatch.setattr(table_networks, "_fit", fit)
    found = rpo.compare(frame, **WORDS)
    assert found.failed == ("rpo failed in 3 of 18 trainings: ValueError: too weak",)
    error, before = (table.methods.set_index("method")["error"] for table in (found, whole))
    assert error.drop("rpo").equals(before[error.index].drop("rpo"))


@pytest.mark.parametrize(
    "rule, chosen", [("formula", 0), ("validation", 1), ("leave-one-out", 2), ("irm", 3), ("oracle", 4)]
)
def test_each_rule_takes_its_own(rule, chosen):
    names = ["validation", "leave-one-out", "irm"]
    scores = [[5.0, 5.0, 5.0], [1.0, 4.0, 4.0], [4.0, 1.0, 3.0], [3.0, 3.0, 0.5], [4.0, 4.0, 4.0]]
    grid = [
        {"scores": dict(zip(names, each, strict=True)), "errors": [error, 0.0]}
        for each, error in zip(scores, [5.0, 4.0, 4.0, 4.0, 1.0], strict=True)
    ]
    assert choose(rule, grid) is grid[chosen]
    assert rule == "formula" or choose(rule, grid[::-1]) is grid[chosen]
    broken = {"failure": "a term is not finite"}
    assert choose(rule, [broken]) is None
    assert choose(rule, []) is None
    assert choose(rule, [broken, grid[1]]) is (None if rule == "formula" else grid[1])
    grid[2]["scores"]["leave-one-out"] = None  # one of its trainings failed
    assert choose("leave-one-out", grid[1:]) is grid[3]


@pytest.mark.parametrize("selection", ["leave-one-out", "oracle"])
def test_other_rules_choose_among_the_same_networks(selection, tmp_path):
    frame = table_of([20, 20, 20])
    found = rpo.compare(frame, target="y", domain="d", seeds=2, steps=3, selection=selection, verbose=False)
    assert RULES[selection] in found.protocol[1]
    assert {"erm-l2", "rpo"} <= set(found.methods["method"])
    assert "36 of 36 trainings done, of which 0 failed" in found.protocol[0]


@pytest.mark.slow
def test_workers_of_a_cluster_find_the_same(tmp_path):
    clusters = runpy.run_path(str(CLUSTERS))
    asked = {**WORDS, "methods": ["coral"]}
    with clusters["cluster"](tmp_path / "cluster", workers=2) as running:
        found = rpo.compare(table_of([30, 30, 30]), cluster=running.address, out=tmp_path / "compared", **asked)
    pd.testing.assert_frame_equal(found.methods, rpo.compare(table_of([30, 30, 30]), **asked).methods)


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
    every = set(network_names(ready, (), every=True))
    assert {method.name for method in rpo.methods.methods("regression")} - {"mean"} == every
    assert network_names(ready, ["vrex", "coral", "trees"]) == ("vrex", "coral", "erm-l2", "rpo")
    assert all(1 <= len(grid_of(method.name)) <= 3 for method in rpo.methods.methods())


@pytest.mark.parametrize(
    "change, message",
    [
        ({"seeds": 1}, "seeds must be at least 2"),
        ({"methods": ["magic"]}, "unknown method 'magic'"),
        ({"methods": ["rsc"]}, "does not support regression"),
        ({"selection": "luck"}, "selection must be one of"),
        ({"domain": "half"}, "three are needed"),
        ({"jobs": 0}, "jobs must be at least 1"),
    ],
)
def test_bad_requests_are_one_line(change, message, tmp_path):
    frame = table_of([20, 20, 20]).assign(half=["a", "b"] * 30)
    with pytest.raises(InputError, match=message):
        rpo.compare(frame, **{"target": "y", "domain": "d", "out": tmp_path / "o", **change})
    assert not (tmp_path / "o").exists()
