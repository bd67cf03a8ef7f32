"""The verdict of a comparison, in plain words."""

import pandas as pd

from rpo.functional.significance import SURE
from rpo.io import p_equals
from rpo.tables.model import OURS, PLAIN

CONTROLS = ("rpo-permuted", "rpo-uniform")


def verdict(methods: pd.DataFrame, domains: int) -> str:
    """Does RPO help, by how much, how sure; what is best; and whether it is the placement that helps.

    >>> table = pd.DataFrame({"method": ["rpo", "erm-l2"], "error": [0.5, 1.0], "p paired": [None, 0.001],
    ...                       "worse in": [None, 0.9], "difference": [0.0, 0.5]})
    >>> verdict(table, 10).split(":")[0]
    'RPO helps on this table'
    """
    table = methods.set_index("method")
    error = table["error"]
    sentences = [_against_plain(table, domains)] if PLAIN in error.index else []
    best = str(error.idxmin())
    if best not in (OURS, PLAIN):
        p = table["p paired"][best]
        sure = "surely so" if p < SURE else "which may be chance"
        sentences.append(
            f"The smallest error of all is that of {best}: {error[best]:.3g} against {error[OURS]:.3g}, "
            f"{sure} ({p_equals(p)})."
        )
    controls = [name for name in CONTROLS if name in error.index]
    if controls and sentences and "helps" in sentences[0]:
        as_good = [name for name in controls if not (table["p paired"][name] < SURE and error[name] > error[OURS])]
        if as_good:
            names = " and ".join(as_good)
            sentences.append(f"{names} did as well: it is not where the penalties are put that helps.")
        else:
            sentences.append(
                "The same penalties permuted or made uniform did worse: it is where they are put that helps."
            )
    return " ".join(sentences)


def _against_plain(table: pd.DataFrame, domains: int) -> str:
    ours, plain = table["error"][OURS], table["error"][PLAIN]
    p, worse = table["p paired"][PLAIN], table["worse in"][PLAIN]
    share = abs(plain - ours) / plain if plain > 0 else 0.0
    side = "lower" if ours < plain else "higher"
    how = (
        f"{100 * share:.0f} % {side} than plain training's (ERM), better in {worse * domains:.0f} of {domains} domains"
    )
    if p < SURE and ours < plain:
        return f"RPO helps on this table: its error on held-out domains is {how}, {p_equals(p)}."
    if p < SURE:
        return f"RPO hurts on this table: its error on held-out domains is {how}, {p_equals(p)}. Use ERM."
    return (
        f"ERM is as good as RPO on this table, as far as {domains} domains can tell: RPO's error on those held out is "
        f"{how}, which chance explains ({p_equals(p)})."
    )
