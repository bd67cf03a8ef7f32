"""LightGBM on a real Dask cluster of two processes: what one process fits, whatever worker has which class or row."""

import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import lightgbm
import numpy as np
import pandas as pd
import pytest

from rpo._models import trees_on_cluster as all_rows
from rpo._models.table_files import load_model, save_model
from rpo._models.table_model import fit_table, predict_table
from rpo._models.trees_on_cluster import fit_to_all_rows, learning_of
from rpo._streaming import draw
from rpo._table.columns import transform
from rpo._table.dataset import open_dataset
from rpo._table.passes import Running
from rpo.exceptions import InputError, TrainingError
from tests.lab.runner import clusters

QUIET = Running(progress=False)


def _table(n, seed, task):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc")).assign(site=[f"s{k % 6}" for k in range(n)])
    frame["kind"] = np.array(["u", "v", None], dtype=object)[rng.integers(0, 3, n)]
    y = frame["a"] + np.sin(2 * frame["b"]) + (frame["kind"] == "u") + 0.3 * rng.normal(size=n)
    y += 3 * rng.normal(size=n) * (frame["site"] == "s1")
    frame["count"] = rng.integers(0, 3, n)
    return frame.assign(y=y if task == 0 else np.array(list("pqr"))[np.digitize(y, [-0.5, 1.5])])


def _sample(folder, task, rows=1_500, files=4):
    folder.mkdir()
    for k in range(files):
        part = _table(rows, k, task)
        if task:
            part = part[part["y"] != "pqr"[k % 3]]  # every file lacks a class
        part.to_parquet(folder / f"{k}.parquet", index=False)
    dataset = open_dataset(str(folder))
    return draw(dataset, target="y", domain="site", aside=["count"], rows=1_000, running=QUIET)


def test_every_row_is_taken_as_the_model_takes_it(tmp_path):
    sample = _sample(tmp_path / "visits", 0, rows=400)
    kept = np.array([0, 2, 3])
    judged = SimpleNamespace(kept_=kept, weight_=np.where(sample.ready.domains == "s1", 0.25, 1.0))
    work = learning_of(sample, judged, "count")
    X, y, weight = (np.concatenate(some) for some in zip(*map(work, sample.dataset.parts), strict=True))
    whole = pd.concat([_table(400, k, 0) for k in range(4)])
    np.testing.assert_array_equal(X, transform(whole, sample.ready.columns)[:, kept])
    np.testing.assert_array_equal(y, whole["y"])
    np.testing.assert_allclose(weight, np.where(whole["site"] == "s1", 0.25, 1.0) * whole["count"])
    whole.assign(count=-1).to_parquet(tmp_path / "visits" / "0.parquet", index=False)
    with pytest.raises(InputError, match=r"the weight 'count' is missing, negative or not a number in 1600 rows"):
        work(sample.dataset.parts[0])


@pytest.mark.slow
@pytest.mark.parametrize("task", [0, 3])
def test_two_workers_fit_what_one_process_fits(tmp_path, task):
    sample = _sample(tmp_path / "visits", task)
    model = fit_table(sample.ready, method="trees", grouping="none")
    before = predict_table(model, _table(500, 9, task))[0]
    work = learning_of(sample, model.estimator)
    with clusters.cluster(tmp_path / "cluster", workers=2) as running:
        found = fit_to_all_rows(model, sample, running.address)
    assert found.rows == sum(found.domains.values()) == sample.total > 3_000
    assert any("fitted to all" in note for note in found.notes)
    X, y, weight = (np.concatenate(some) for some in zip(*map(work, sample.dataset.parts), strict=True))
    kind = lightgbm.LGBMClassifier if task else lightgbm.LGBMRegressor
    alone = kind(n_jobs=1, verbosity=-1, deterministic=True, force_col_wise=True).fit(X, y, sample_weight=weight)
    new = _table(500, 9, task)
    save_model(found, tmp_path / "model")
    said = predict_table(load_model(tmp_path / "model"), new)[0]
    pd.testing.assert_frame_equal(said, predict_table(found, new)[0])
    features = found.estimator._features(new)
    columns = ["prediction"] if task == 0 else [name for name in said if name.startswith("probability")]
    theirs = alone.predict_proba(features) if task else alone.predict(features)[:, None]
    # Workers bin what they have, so that cuts differ a little: far less than a sample's model differs.
    off, sampled = (float(np.sqrt(np.mean((one[columns].to_numpy() - theirs) ** 2))) for one in (said, before))
    assert off < 0.5 * sampled


@pytest.mark.slow
def test_a_lost_worker_is_one_line(tmp_path, monkeypatch):
    sample = _sample(tmp_path / "visits", 0)
    model = fit_table(sample.ready, method="linear", grouping="none")
    monkeypatch.setattr(all_rows, "_train", lambda client, *_: time.sleep(60))
    with clusters.cluster(tmp_path / "cluster", workers=2) as running, ThreadPoolExecutor(1) as pool:
        done = pool.submit(fit_to_all_rows, model, sample, running.address)
        time.sleep(4)
        running.workers[0].kill()
        with pytest.raises(TrainingError, match="was lost while trees were fitted to all rows: start it again"):
            done.result(timeout=40)
