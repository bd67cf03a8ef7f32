"""A saved model: the same predictions bit for bit, no pickle, and a clear word about anything that is off."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from torch import nn

import rpo
from rpo import DomainClassifier, DomainRegressor, RPOClassifier, RPORegressor
from rpo.exceptions import InputError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
TARGETS = {
    "number": X[:, 0] + 0.1 * RNG.normal(size=90),
    "flag": X[:, 0] > 0,
    "word": np.array(["low", "middle", "high"])[(X[:, 0] > 0).astype(int) + (X[:, 0] > 1)],
    "integer": (X[:, 0] > 0).astype(int) * 7,
}
DOMAINS = np.array(["Ü-land", "b c", "d"])[np.arange(90) % 3]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "kind, target",
    [
        (RPORegressor, "number"),
        (RPOClassifier, "flag"),
        (RPOClassifier, "word"),
        (DomainRegressor, "number"),
        (DomainClassifier, "integer"),
    ],
)
def test_predictions_after_load_are_those_before_save_bit_for_bit(kind, target, dtype, tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = kind(steps=30, dtype=dtype).fit(frame, TARGETS[target], domains=DOMAINS)
    model.save(tmp_path / "model")
    loaded = rpo.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    assert loaded.predict(frame).dtype == model.predict(frame).dtype
    assert loaded.get_params() == {**model.get_params(), "hidden": list(model.hidden)}
    assert list(loaded.domains_) == list(model.domains_)
    assert list(loaded.feature_names_in_) == ["a", "b", "c"]
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
    if hasattr(model, "quality_"):
        pd.testing.assert_frame_equal(loaded.quality_, model.quality_, check_dtype=False)
        pd.testing.assert_series_equal(loaded.penalties_.eta, model.penalties_.eta)
        assert loaded.penalties_.lam == model.penalties_.lam


@pytest.mark.parametrize("kind", [RPORegressor, DomainRegressor])
@pytest.mark.parametrize(
    "labels",
    [
        np.array([2**64 + 1, 2**70, 5], dtype=object),
        np.array([np.inf, -np.inf, 0.5]),
        np.array([0.1, 0.2, 0.3], dtype=np.float16),
        np.array([2**63 + 5, 2**63 + 6, 1], dtype=np.uint64),
        np.array(["001", "1", "1e5"]),
    ],
    ids=["beyond 64 bits", "infinite", "half precision", "unsigned", "codes"],
)
def test_whatever_domains_can_be_fitted_can_be_loaded(kind, labels, tmp_path):
    model = kind(steps=3).fit(X, TARGETS["number"], domains=labels[np.arange(90) % 3])
    model.save(tmp_path / "model")
    loaded = rpo.load(tmp_path / "model")
    assert loaded.domains_.tolist() == model.domains_.tolist()
    assert loaded.domains_.dtype == model.domains_.dtype
    if hasattr(model, "quality_"):
        pd.testing.assert_frame_equal(loaded.quality_, model.quality_, check_dtype=False)


@pytest.mark.filterwarnings("ignore::rpo.exceptions.CollapseWarning")
def test_an_estimator_refitted_with_another_method_is_that_method_alone(tmp_path):
    model = DomainRegressor("rpo", steps=3).fit(X, TARGETS["number"], domains=DOMAINS)
    assert hasattr(model, "quality_")
    model.set_params(method="erm-l2").fit(X, TARGETS["number"], domains=DOMAINS)
    assert not hasattr(model, "quality_")
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(rpo.load(tmp_path / "model").predict(X), model.predict(X))


@pytest.mark.parametrize("change", [{"hidden": (3,)}, {"method": "mtl"}])
def test_parameters_changed_since_the_fit_are_not_saved(change, tmp_path):
    model = DomainRegressor(steps=3).fit(X, TARGETS["number"], domains=DOMAINS).set_params(**change)
    with pytest.raises(InputError, match="changed since the fit"):
        model.save(tmp_path / "model")
    assert not any(tmp_path.iterdir())


def test_a_folder_of_three_files_without_pickle(tmp_path):
    RPORegressor(steps=5).fit(X, TARGETS["number"], domains=DOMAINS).save(tmp_path / "model")
    assert sorted(p.name for p in (tmp_path / "model").iterdir()) == [
        "manifest.json",
        "model.json",
        "weights.safetensors",
    ]
    assert [p.name for p in tmp_path.iterdir()] == ["model"]
    for file in (tmp_path / "model").iterdir():
        with pytest.raises((pickle.UnpicklingError, ValueError, KeyError, EOFError, IndexError)), file.open("rb") as f:
            pickle.load(f)


def test_a_network_of_ones_own_is_given_again(tmp_path):
    def network(shape, outputs):
        return nn.Sequential(nn.Linear(shape[0], 5), nn.Tanh(), nn.Linear(5, outputs))

    model = DomainRegressor("erm-lip", module=network, steps=20).fit(X, TARGETS["number"], domains=DOMAINS)
    model.save(tmp_path / "model")
    with pytest.raises(InputError, match="pass it to load"):
        rpo.load(tmp_path / "model")
    loaded = rpo.load(tmp_path / "model", module=network)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_saving_over_a_model_replaces_it_and_over_anything_else_is_refused(tmp_path):
    first = DomainRegressor(steps=5).fit(X, TARGETS["number"], domains=DOMAINS)
    second = DomainRegressor(steps=6).fit(X, TARGETS["number"], domains=DOMAINS)
    first.save(tmp_path / "model")
    second.save(tmp_path / "model")
    np.testing.assert_array_equal(rpo.load(tmp_path / "model").predict(X), second.predict(X))
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    with pytest.raises(InputError, match="holds chapter.txt, which is not part of a saved model"):
        first.save(tmp_path / "thesis")
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "years of work"


def alter_card(folder, change):
    card = json.loads((folder / "model.json").read_text())
    change(card)
    (folder / "model.json").write_text(json.dumps(card))


def truncate(folder, name):
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])


@pytest.mark.parametrize(
    "harm, message",
    [
        (lambda f: (f / "model.json").unlink(), "has no model.json"),
        (lambda f: (f / "weights.safetensors").unlink(), "has no weights"),
        (lambda f: truncate(f, "model.json"), "cannot be read"),
        (lambda f: truncate(f, "weights.safetensors"), "not a complete model"),
        (lambda f: (f / "model.json").write_text("[]"), "not a model card"),
        (lambda f: (f / "model.json").write_text("[" * 100_000), "cannot be read"),
        (lambda f: alter_card(f, lambda c: c.update({"format": 99})), "format 99"),
        (lambda f: alter_card(f, lambda c: c.update({"class": "os.system"})), "not one of RPORegressor"),
        (lambda f: alter_card(f, lambda c: c["parameters"].update({"hidden": [3]})), "do not fit the network"),
        (lambda f: alter_card(f, lambda c: c["parameters"].update({"evil": 1})), "not a complete model"),
        (lambda f: alter_card(f, lambda c: c["fitted"].pop("n_features_in_")), "not a complete model"),
        (lambda f: alter_card(f, lambda c: c["fitted"].update({"n_features_in_": 10**12})), "not a complete model"),
        (lambda f: alter_card(f, lambda c: c["fitted"].update({"task_": "binary"})), "0 classes"),
        (lambda f: alter_card(f, lambda c: c["labels"]["domains_"]["values"].append("d")), "has duplicates"),
        (lambda f: alter_card(f, lambda c: c["labels"]["domains_"].update({"values": [[1]]})), "not a complete model"),
        (lambda f: alter_card(f, lambda c: c["parameters"].update({"hidden": [2**40]})), "do not fit the network"),
    ],
)
def test_a_damaged_folder_is_one_clear_line(harm, message, tmp_path, reseal):
    DomainRegressor(steps=5).fit(X, TARGETS["number"], domains=DOMAINS).save(tmp_path / "model")
    harm(tmp_path / "model")
    reseal(tmp_path / "model")
    with pytest.raises(InputError, match=message) as caught:
        rpo.load(tmp_path / "model")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value).replace(str(tmp_path), "")) <= 300


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="is not a folder"):
        rpo.load(tmp_path / "nowhere")


def test_every_bit_counts(tmp_path):
    """One bit of any file turned: refused, whichever it is."""
    folder, rng = tmp_path / "model", np.random.default_rng(1)
    DomainRegressor(steps=5).fit(X, TARGETS["number"], domains=DOMAINS).save(folder)
    for name in ("model.json", "weights.safetensors"):
        whole = (folder / name).read_bytes()
        for place in rng.integers(len(whole), size=40):
            turned = bytes([whole[place] ^ 1 << rng.integers(8)])
            (folder / name).write_bytes(whole[:place] + turned + whole[place + 1 :])
            with pytest.raises(InputError, match="its checksum differs"):
                rpo.load(folder)
        (folder / name).write_bytes(whole)
    rpo.load(folder)


def test_a_folder_without_a_manifest_says_how_to_save_it_again(tmp_path):
    DomainRegressor(steps=5).fit(X, TARGETS["number"], domains=DOMAINS).save(tmp_path / "model")
    (tmp_path / "model" / "manifest.json").unlink()
    with pytest.raises(InputError, match="load it with the version that wrote it and save it with this one"):
        rpo.load(tmp_path / "model")
