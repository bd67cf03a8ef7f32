"""Datasets in which nothing is wrong, judged by a sample and measured whole: hardly one is called noisy.

A sample's models misfit a little, and with all rows the misfit of a domain is known ever more surely: here it shows if
that passes for noise.
"""

import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rpo._quality import quality
from rpo._streaming import draw, judge_dataset
from rpo._table.dataset import open_dataset
from rpo._table.passes import Running

from . import parts

QUIET = Running(progress=False)
made = runpy.run_path(str(Path(__file__).parents[1] / "judging" / "made.py"))
NUMBERS = ("square", "exp", "sine", "interaction")
LABELS = {"alike": {}, "intercepts": {"intercept": 1.5}, "three": {"classes": 3}, "rare": {"prevalence": 0.05}}


def table(kind, seed, domains, rows, offset):
    """Nothing wrong: columns and intercepts differ between domains, the noise does not."""
    if kind in LABELS:
        x, y, domain = made["labels"](seed, domains=domains, rows=rows, **LABELS[kind])
        y = np.array(["p", "q", "r"])[y]
    else:
        x, y, domain, _ = made["numbers"](kind, seed, domains=domains, rows=rows, offset=offset)
    order = np.random.default_rng(seed).permutation(len(y))
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])]).assign(site=domain, y=y).iloc[order]


def streamed(frame, folder, rows, **options):
    sample = draw(
        open_dataset(str(parts.written(frame, folder, 3))), target="y", domain="site", rows=rows, running=QUIET
    )
    return judge_dataset(sample, running=QUIET, **options)


def claims(found):
    """Whether any domain or stratum is called noisier."""
    return bool(found.domains["noisy"].any() or found.strata["noisy"].any())


def test_hardly_a_table_with_nothing_wrong_is_claimed(tmp_path):
    simple = {"estimator": "linear", "grouping": "none"}
    tables = [table("linear", seed, 6, 1_500, offset=0.0) for seed in range(5)]
    found = [streamed(frame, tmp_path / str(k), 900, **simple) for k, frame in enumerate(tables)]
    assert all(one.scope.sample < 1_100 < one.scope.rows for one in found)
    assert sum(map(claims, found)) <= 1
    assert sum(bool(one.domains["shifted"].any()) for one in found) <= 1
    noisy = tables[0].assign(y=lambda frame: frame["y"] + (frame["site"] == 2) * np.sin(1e6 * frame["x3"]))
    assert claims(streamed(noisy, tmp_path / "noisy", 900, **simple))  # the same can claim


@pytest.mark.long
def test_of_forty_tables_with_nothing_wrong_two_are_claimed_at_most(tmp_path):
    claimed, shifted = [], []
    for kind in (*NUMBERS, *LABELS):
        for seed in range(3_000, 3_005):
            frame = table(kind, seed, 4 + seed % 5 * 3, 4_000, offset=0.0)
            found = streamed(frame, tmp_path / f"{kind}-{seed}", 2_500)
            claimed += [(kind, seed)] if claims(found) else []
            shifted += [(kind, seed)] if found.domains["shifted"].any() and kind != "intercepts" else []
    assert len(claimed) <= 2, claimed
    assert len(shifted) <= 2, shifted


@pytest.mark.long
@pytest.mark.parametrize("kind", [*NUMBERS, *LABELS])
def test_streamed_and_in_memory_the_same_is_claimed(tmp_path, kind):
    frame = table(kind, 7, 6, 300, offset=0.3)
    if kind in NUMBERS:
        frame.loc[frame["site"] == 3, "y"] += np.sin(1e6 * frame.loc[frame["site"] == 3, "x3"])
    found = streamed(frame, tmp_path / "parts", 10**6)
    whole = quality(found.table.frame, target="y", domain="site", verbose=False)
    columns = ["domain", "noisy", "judged", "shifted", "differs"]
    pd.testing.assert_frame_equal(found.domains[columns], whole.domains[columns])
    assert found.strata["noisy"].tolist() == whole.strata["noisy"].tolist()
    assert claims(found) == (kind in NUMBERS)
