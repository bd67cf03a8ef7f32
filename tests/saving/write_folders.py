"""`python -m tests.saving.write_folders FOLDER`: small models of the version installed, and what they predict.

`folders-0.2` was written by this with rpo 0.2.0. The models of the next version are added in the same way, once.
"""

import json
import subprocess
import sys
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

import rpo

ROWS = 60
INPUTS = ["x", "g"]  # of models fitted to arrays
TARGETS = ["y", "c2", "c3"]


def make_table() -> pd.DataFrame:
    """Return numbers, a category, a date and gaps; a number, two classes and three to predict."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"x": rng.normal(size=ROWS).round(2), "g": rng.exponential(size=ROWS).round(2)})
    signal = frame.x + np.sin(2 * frame.g) + 0.8 * ((frame.x > 0.3) & (frame.g > 1)) + 0.1 * rng.normal(size=ROWS)
    frame["kind"] = rng.choice(["u", "v", "w"], ROWS)
    frame["day"] = (pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, ROWS), "D")).strftime("%Y-%m-%d")
    frame["gaps"] = np.where(rng.random(ROWS) < 0.2, np.nan, rng.normal(size=ROWS).round(2))
    frame["y"], frame["c2"] = signal.round(3), np.where(signal > signal.median(), "yes", "no")
    frame["c3"] = np.array(["low", "mid", "top"])[np.digitize(signal, [0.0, 0.8])]
    return frame.assign(domain=np.array(["Ü-land", "b c", "d", "e"])[np.arange(ROWS) % 4])


def fit_models(frame: pd.DataFrame) -> dict[str, object]:
    """Return fitted models by name: every learner that a folder can hold is in one of them."""
    X, site = frame[INPUTS].to_numpy(), frame["domain"].to_numpy()
    quick, small = {"weights": "off", "screen": "off"}, {"hidden": (4,), "steps": 20}
    models = {
        "auto": rpo.QualityRegressor("auto").fit(X, frame["y"], domains=site),
        "auto-classes": rpo.QualityClassifier("auto").fit(X, frame["c2"], domains=site),
        "linear": rpo.QualityRegressor("linear").fit(frame.drop(columns=TARGETS), frame["y"], domains="domain"),
        "linear-classes": rpo.QualityClassifier("linear", class_weight={"low": 2.0}).fit(X, frame["c3"], domains=site),
        "anchor": rpo.QualityRegressor("anchor", **quick).fit(X, frame["y"], domains=site),
        "stack": add_learners(rpo.QualityRegressor("auto", **quick).fit(X, frame["y"], domains=site), X, frame["y"]),
        "stack-classes": add_learners(
            rpo.QualityClassifier("auto", **quick).fit(X, frame["c3"], domains=site),
            X,
            np.unique(frame["c3"], return_inverse=True)[1],
        ),
        "quality-network": rpo.QualityRegressor("erm-l2", **quick).fit(X, frame["y"], domains=site),
        "network": rpo.RPORegressor(dtype="float64", **small).fit(X, frame["y"], domains=site),
        "network-classes": rpo.DomainClassifier("erm-l2", dtype="float64", **small).fit(X, frame["c3"], domains=site),
    }
    models["adapted"] = models["auto"].adapt(X[:12], frame["y"][:12] + 1.0)
    return models


def add_learners(model, X, y):
    """Give a stack learners of the kinds that had no share in it, all with the same share."""
    classes = hasattr(model, "classes_")
    forest = (ExtraTreesClassifier if classes else ExtraTreesRegressor)(3, max_depth=4, random_state=0)
    trees = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
    trees = trees(n_estimators=3, min_child_samples=5, verbosity=-1)
    constant = DummyClassifier(strategy="prior") if classes else DummyRegressor()
    parts = dict(model.estimator_.parts)
    parts |= {"extra trees": forest.fit(X, y), "lightgbm": trees.fit(X, y), "constant": constant.fit(X, y)}
    model.shares_ = dict.fromkeys(parts, 1 / len(parts))
    model.estimator_ = type(model.estimator_)(parts, model.shares_, len(np.unique(y)) if classes else 0)
    return model


def predict(model, frame: pd.DataFrame) -> list:
    """Return probabilities of a classifier, numbers of a regressor."""
    X = frame.drop(columns=TARGETS) if hasattr(model, "feature_names_in_") else frame[INPUTS].to_numpy()
    return (model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)).tolist()


def main(place: Path) -> None:
    """Write the rows, the folders, `predictions.json`, and the predictions of `rpo predict` as CSV."""
    frame, predictions = make_table(), {}
    frame.to_csv(place / "rows.csv", index=False)
    for name, model in fit_models(frame).items():
        model.save(place / name)
        predictions[name] = predict(rpo.load(place / name), frame)
    for name, target, *options in (("fit", "c2", "-m", "auto"), ("fit-rpo", "y", "-m", "rpo", "--steps", "20")):
        drop = ",".join(other for other in TARGETS if other != target)
        files = [place / "rows.csv", "-t", target, "-d", "domain", "--drop", drop, "-o", place / name]
        subprocess.run([sys.executable, "-m", "rpo", "fit", *files, *options], check=True, capture_output=True)
        out = ["--out", place / f"{name}.csv"]
        command = [sys.executable, "-m", "rpo", "predict", place / name, place / "rows.csv", *out]
        subprocess.run(command, check=True, capture_output=True)
    (place / "predictions.json").write_text(json.dumps(predictions) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
