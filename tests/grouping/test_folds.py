"""Folds by content: duplicates stay together, order and weights do not matter."""

import torch

from rpo.engine.data import assign_folds


def test_folds_are_even_and_by_content():
    g = torch.Generator().manual_seed(0)
    x = torch.randn(103, 4, generator=g)
    fold = assign_folds(x, torch.ones(103), 4)
    assert torch.bincount(fold).tolist() == [26, 26, 26, 25]
    order = torch.randperm(103, generator=g)
    assert torch.equal(assign_folds(x[order], torch.ones(103), 4), fold[order])


def test_a_duplicate_never_leaves_its_twin():
    x = torch.randn(50, 3, generator=torch.Generator().manual_seed(1))
    twice = torch.cat([x, x])
    fold = assign_folds(twice, torch.ones(100), 5)
    assert torch.equal(fold[:50], fold[50:])
    assert torch.equal(fold[:50], assign_folds(x, 2 * torch.ones(50), 5))


def test_rows_of_weight_zero_change_nothing_for_the_others():
    x = torch.randn(60, 3, generator=torch.Generator().manual_seed(2))
    weight = (torch.arange(60) % 3 != 0).float()
    kept = weight > 0
    assert torch.equal(assign_folds(x, weight, 4)[kept], assign_folds(x[kept], torch.ones(40), 4))


def test_rounding_does_not_move_a_row():
    x = torch.randn(200, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    assert torch.equal(assign_folds(x, torch.ones(200), 4), assign_folds(x + 1e-13, torch.ones(200), 4))
