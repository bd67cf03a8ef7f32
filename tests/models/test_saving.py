"""Quality models in a folder: the same predictions, no pickle, and a clear word about anything that is off."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

import rpo
from rpo import QualityClassifier, QualityRegressor
from rpo._learners.learners import Additive, AdditiveClassifier, AnchorLine
from rpo._learners.stacking import constant, lightgbm, linear, trees
from rpo._models.model_files import encode_model
from rpo._saving.folders import write_folder
from rpo._saving.registry import decode, encode
from rpo.exceptions import InputError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3)) * [1.0, 10.0, 1e-3]
DOMAINS = np.array(["Ü-land", "b c", "d"])[np.arange(300) % 3]
NEW = RNG.normal(size=(500, 3)) * [3.0, 30.0, 3e-3]  # far beyond the rows that were fitted
NUMBER = X[:, 0] ** 2 + X[:, 0] * X[:, 1] + 0.1 * RNG.normal(size=300)
CLASSES = {
    2: np.array(["low", "high"])[(X[:, 0] + 0.5 * RNG.normal(size=300) > 0).astype(int)],
    3: np.digitize(X[:, 0] + 0.5 * RNG.normal(size=300), [-0.5, 0.5]) * 7,
}
QUICK = {"weights": "off", "screen": "off"}  # saving does not depend on the judgement


@pytest.mark.parametrize("name", ["auto", "linear", "trees"])
def test_a_regression_predicts_the_same_after_loading(name, tmp_path):
    model = QualityRegressor(name, **QUICK).fit(X, NUMBER, domains=DOMAINS)
    model.save(tmp_path / "model")
    loaded = rpo.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.predict(NEW), model.predict(NEW), rtol=1e-12)
    assert loaded.get_params() == model.get_params()
    assert loaded.domains_.tolist() == model.domains_.tolist()
    pd.testing.assert_frame_equal(loaded.decision_, model.decision_, check_dtype=False)
    pd.testing.assert_frame_equal(loaded.expected_error_, model.expected_error_, check_dtype=False)
    loaded.save(tmp_path / "again")
    np.testing.assert_array_equal(rpo.load(tmp_path / "again").predict(NEW), loaded.predict(NEW))


@pytest.mark.parametrize("classes", CLASSES)
@pytest.mark.parametrize("name", ["auto", "linear", "trees"])
def test_classes_have_the_same_probabilities_after_loading(name, classes, tmp_path):
    weight = dict.fromkeys(np.unique(CLASSES[classes]).tolist(), 2.0)
    model = QualityClassifier(name, class_weight=weight, **QUICK).fit(X, CLASSES[classes], domains=DOMAINS)
    model.save(tmp_path / "model")
    loaded = rpo.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.predict_proba(NEW), model.predict_proba(NEW), rtol=1e-10, atol=1e-15)
    np.testing.assert_array_equal(loaded.predict(NEW), model.predict(NEW))
    assert loaded.predict(NEW).dtype == model.predict(NEW).dtype
    assert loaded.class_weight == weight


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_every_learner_comes_back_as_it_was(n_classes):
    """Whatever its share in a stack: those of no share are not saved, so each is looked at by itself."""
    y = np.unique(CLASSES[n_classes], return_inverse=True)[1] if n_classes else NUMBER
    classes = n_classes > 0
    forest = ExtraTreesClassifier if classes else ExtraTreesRegressor
    every = [linear(classes), trees(classes, 0), lightgbm(classes, 0), forest(10, random_state=0), constant(classes)]
    every += [AdditiveClassifier()] if classes else [Additive(), Additive(trees=False), AnchorLine()]
    for learner in every:
        learner.fit(X, y)
        kind, arrays = encode(learner)
        back = decode(kind, arrays, X.shape[1])
        which = "predict_proba" if classes else "predict"
        np.testing.assert_allclose(getattr(back, which)(NEW), getattr(learner, which)(NEW), rtol=1e-12, atol=1e-15)
        again, same = encode(back)
        assert again == kind
        assert {name: values.tobytes() for name, values in same.items()} == {
            name: np.asarray(values).tobytes() for name, values in arrays.items()
        }


def test_lines_and_constants_come_back_as_scikit_learns_own():
    y = CLASSES[3] // 7
    back = decode(*encode(linear(True).fit(X, y)), X.shape[1])
    assert [type(step) for step in back] == [StandardScaler, LogisticRegression]
    assert type(decode(*encode(constant(True).fit(X, y)), X.shape[1])) is DummyClassifier


def test_frames_and_networks_come_back(tmp_path):
    frame = pd.DataFrame(X, columns=list("abc")).assign(kind=RNG.choice(["u", "v"], 300), site=DOMAINS)
    frame.loc[::7, "a"] = np.nan
    model = QualityRegressor("erm-l2", **QUICK)
    model.fit(frame, NUMBER, domains="site")
    model.save(tmp_path / "model")
    loaded = rpo.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    assert {path.name for path in (tmp_path / "model").iterdir()} == {
        "manifest.json", "model.json", "weights.safetensors", "network.json", "network.safetensors",
    }  # fmt: skip


def test_trees_are_read_without_torch(tmp_path):
    QualityRegressor("trees", **QUICK).fit(X, NUMBER, domains=DOMAINS).save(tmp_path / "model")
    use = f"rpo.load({str(tmp_path / 'model')!r}).predict([[0.0, 0.0, 0.0]])"
    code = f"import sys, rpo; {use}; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_estimator_of_ones_own_is_refused(tmp_path):
    model = QualityRegressor(Ridge(), **QUICK).fit(X, NUMBER, domains=DOMAINS)
    with pytest.raises(InputError, match="a Ridge cannot be saved without pickle"):
        model.save(tmp_path / "model")


@pytest.fixture(scope="module")
def files():
    return encode_model(QualityRegressor("auto", **QUICK).fit(X, NUMBER, domains=DOMAINS))


@pytest.fixture(scope="module")
def forest():
    """The files of a model that is trees alone."""
    return encode_model(QualityRegressor("trees", **QUICK).fit(X, NUMBER, domains=DOMAINS))


def _card(files, **changes):
    return {**files, "model.json": json.dumps({**json.loads(files["model.json"]), **changes}).encode()}


def _arrays(files, name, change, more=None):
    arrays = load_arrays(files["weights.safetensors"])
    arrays[name] = np.ascontiguousarray(change(arrays[name].copy()))
    return {**files, "weights.safetensors": save_arrays({**arrays, **(more or {})})}


def _without(files, prefix):
    arrays = load_arrays(files["weights.safetensors"])
    kept = {name: values for name, values in arrays.items() if not name.startswith(prefix)}
    return {**files, "weights.safetensors": save_arrays(kept)}


def _back(left):
    left[0] = 0
    return left


@pytest.mark.parametrize(
    "spoil, words",
    [
        (lambda f: _card(f, **{"class": "os.system"}), "not a model card"),
        (lambda f: _card(f, format=99), "has format 99"),
        (lambda f: _card(f, parts=[]), "the learners"),
        (lambda f: _card(f, parts=[{"name": "a", "kind": "pickle", "share": 1.0}]), "unknown kind of learner 'pickle'"),
        (lambda f: _card(f, columns=[{"name": "a", "kind": "code"}]), "not a complete model"),
        (lambda f: _card(f, columns=[dict.fromkeys(map(str, range(300_000)), 0)]), "columns.0.0: Extra inputs"),
        (
            lambda f: _card(f, columns=[{"name": "a", "kind": "category", "categories": [0] * 300_000}]),
            "a valid string",
        ),
        (lambda f: _card(f, n_features_in=None), "not a complete model"),
        (lambda f: _card(f, parameters={"estimator": "trees", "hook": "x"}), "not a complete model"),
        (lambda f: {**f, "model.json": b"[" * 100_000}, "cannot be read"),
        (lambda f: {**f, "weights.safetensors": pickle.dumps("code")}, "not a complete model"),
        (lambda f: _arrays(f, "kept", lambda a: a + 5), "the kept features"),
        (lambda f: _arrays(f, "0/left", _back), "has a cycle"),
        (lambda f: _arrays(f, "0/feature", lambda a: a + 100), "a column that does not exist"),
        (lambda f: _arrays(f, "0/value", lambda a: a * np.nan), "not finite"),
        (lambda f: _arrays(f, "0/root", lambda a: a[::-1].copy()), "has no root"),
        (lambda f: _arrays(f, "0/edge_count", lambda a: a * 0 + 2**40), "not a complete model"),
        (lambda f: _arrays(f, "reference/domain", lambda a: a + 7), "a domain that does not exist"),
        (lambda f: _arrays(f, "reference/domain", lambda a: a[:-1]), "has the wrong shape"),
        (lambda f: _arrays(f, "reference/value", lambda a: a * np.inf), "no number|not finite"),
        (lambda f: _arrays(f, "reference/scale", lambda a: a * 0), "is not valid"),
        (lambda f: _arrays(f, "reference/trust", lambda a: a + 7), "not between 0 and 1"),
        (lambda f: _arrays(f, "reference/error", lambda a: a - 1e6), "is negative"),
        (lambda f: _arrays(f, "reference/mean", lambda a: a[:, :1]), "has the wrong shape"),
        (lambda f: _arrays(f, "reference/beside", lambda a: a[:, :2]), "has the wrong shape"),
        (lambda f: _arrays(f, "reference/noise", lambda a: a + 7), "local noise"),
        (lambda f: _without(f, "reference/"), "not a complete model"),
        (lambda f: _arrays(f, "kept", lambda a: a, more={"adaptation/effect": np.zeros(2)}), "not a complete model"),
    ],
)
def test_a_spoiled_folder_is_refused_in_one_line(spoil, words, forest, tmp_path):
    write_folder(tmp_path / "model", spoil(forest))
    with pytest.raises(InputError, match=words) as error:
        rpo.load(tmp_path / "model")
    assert "\n" not in str(error.value)


def test_a_folder_changed_by_hand_is_refused(files, tmp_path):
    write_folder(tmp_path / "model", files)
    card = tmp_path / "model" / "model.json"
    card.write_text(card.read_text().replace("auto", "AUTO"))
    with pytest.raises(InputError, match="checksum differs"):
        rpo.load(tmp_path / "model")
