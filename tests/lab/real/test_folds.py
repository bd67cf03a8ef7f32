"""Whole domains are held out, each once, and nothing is planted there."""

import numpy as np
import pytest

from rpo_lab.real.folds import held_out, make_fold, real_table, sampled
from rpo_lab.real.planting import CONFOUNDER, SETTINGS


def test_every_domain_is_held_out_once_and_seeds_deal_anew(small):
    ready = real_table("exam", 1_000)
    held = np.array([held_out(ready, fold, seed=0) for fold in range(5)])
    assert (held.sum(0) == 1).all()
    for rows in held:
        assert len(np.unique(ready.domains[rows])) == 2
        assert not set(ready.domains[rows]) & set(ready.domains[~rows])
    assert not np.array_equal(held[0], held_out(ready, 0, seed=1))


@pytest.mark.parametrize("setting", list(SETTINGS))
@pytest.mark.parametrize("table", ["exam", "contraception"])
def test_held_out_rows_are_the_tables_own(small, table, setting):
    fold = make_fold(table, setting, 1, 1_000, 3)
    ready = real_table(table, 1_000)
    held = held_out(ready, 1, 3)
    assert np.array_equal(fold.held.y, ready.y[held])
    assert np.array_equal(fold.held.X[:, : ready.X.shape[1]], ready.X[held])
    assert not set(fold.held.domains) & set(fold.train.domains)
    assert np.array_equal(fold.train.frame[fold.train.target], fold.train.y)
    assert fold.train.X.shape[1] == fold.held.X.shape[1] == len(fold.train.names)
    assert (CONFOUNDER in fold.train.frame) == (setting == "confounder")
    assert len(fold.clean) == len(fold.train.y) == len(fold.noise) == len(fold.bad)


def test_the_same_fold_twice_is_the_same(small):
    one = make_fold("exam", "cells-50", 0, 1_000, 0)
    make_fold.cache_clear()
    again = make_fold("exam", "cells-50", 0, 1_000, 0)
    assert one is not again
    assert np.array_equal(one.train.y, again.train.y)


def test_a_sample_keeps_domains_before_rows():
    few = np.repeat(np.arange(4), 500)  # four domains: of each its share
    assert np.bincount(few[sampled(few, 1_000)]).tolist() == [250] * 4
    many = np.repeat(np.arange(200), 50)  # 10,000 rows: forty domains, of each half
    kept = many[sampled(many, 1_000)]
    assert len(np.unique(kept)) == 40
    assert len(kept) == 1_000
    tiny = np.repeat(np.arange(900), 2)  # small domains are kept whole
    count = np.bincount(tiny[sampled(tiny, 1_000)])
    assert set(count) == {0, 2}
    assert count.sum() == 1_000
