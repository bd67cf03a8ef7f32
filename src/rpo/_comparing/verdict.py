"""The verdict of a comparison, in plain words."""

import numpy as np
import pandas as pd

from rpo._comparing.table_learners import CONTROLS, QUALITY, STOCK
from rpo._io import p_equals
from rpo._models.table_model import OURS, PLAIN
from rpo._stats.significance import SURE, paired, paired_interval


def verdict(errors: pd.DataFrame) -> str:
    """Does judging the data help, against what people use; does RPO, against plain training; what is best of all.

    `errors` has a row for each held-out domain and a column for each method.

    >>> errors = pd.DataFrame({"quality": [0.5, 0.6, 0.4], "linear": [0.9, 1.1, 0.7], "trees": [1.0, 1.2, 0.9]})
    >>> verdict(errors).split(":")[0]
    'quality helps on this table'
    """
    mean = errors.mean()
    stock = str(mean[list(STOCK)].idxmin())
    sentences = [_against(errors, QUALITY, stock, "the better of linear and trees"), *_controls(errors)]
    if {OURS, PLAIN} <= set(errors.columns):
        sentences.append(_against(errors, OURS, PLAIN, "plain training of the same network"))
    best = str(mean.idxmin())
    if best not in (QUALITY, stock, *CONTROLS):
        p = paired(errors[best].to_numpy(), errors[QUALITY].to_numpy())
        how = "significantly below that of quality" if p is not None and p < SURE else "which may be chance"
        sentences.append(f"The smallest error is that of {best}, {mean[best]:.3g}, {how}.")
    base = "mean" if "mean" in mean else "majority"
    if base in mean and mean[best] >= mean[base]:
        sentences.append(f"No method is better than the {base} on unseen domains.")
    return " ".join(sentences)


def _against(errors: pd.DataFrame, one: str, other: str, who: str) -> str:
    """One method against another, with the interval of the difference over domains."""
    a, b = errors[one], errors[other]
    ours, theirs = float(a.mean()), float(b.mean())
    p = paired(a.to_numpy(), b.to_numpy())
    low, high = paired_interval(dict(enumerate(a)), dict(enumerate(b)))
    share = f"{100 * abs(theirs - ours) / theirs:.0f} % " if theirs > 0 else ""
    side = "lower" if ours <= theirs else "higher"
    how = (
        f"its error on held-out domains is {share}{side} than that of {other} ({who}), {ours:.3g} compared with "
        f"{theirs:.3g}, "
        f"difference {ours - theirs:.2g} ({low:.2g} to {high:.2g}), better in {int(np.sum(a < b))} of {len(a)} domains"
    )
    if p is None or not p < SURE:
        return f"{len(a)} domains cannot tell {one} from {other}: {how}" + ("." if p is None else f", {p_equals(p)}.")
    if ours < theirs:
        return f"{one} helps on this table: {how}, {p_equals(p)}."
    return f"{one} hurts on this table: {how}, {p_equals(p)}. Use {other}."


def _controls(errors: pd.DataFrame) -> list[str]:
    """Whether it matters which rows count less."""
    there = [name for name in CONTROLS if name in errors.columns]
    if not there:
        return []
    if all((errors[name] == errors[QUALITY]).all() for name in there):
        return ["No row gets less weight on this table, so the controls are identical to the model."]
    worse = [name for name in there if _surely_worse(errors, name)]
    if len(worse) == len(there):
        return ["Permuted or uniform weights are significantly worse: it matters which rows get less weight."]
    as_good = [name for name in there if name not in worse]
    return [f"{len(errors)} domains cannot tell its weights from those of {' and '.join(as_good)}."]


def _surely_worse(errors: pd.DataFrame, name: str) -> bool:
    p = paired(errors[name].to_numpy(), errors[QUALITY].to_numpy())
    return p is not None and p < SURE and float(errors[name].mean()) > float(errors[QUALITY].mean())
