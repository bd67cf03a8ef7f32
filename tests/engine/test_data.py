"""Batches: balanced, of every domain whatever its size, and decided by seed and step alone."""

import itertools

import numpy as np
import torch

from rpo.engine.data import BLOCK, draw_rows, gather, make_data, stack_data


def uneven(sizes=(1, 5, 300)):
    domain = torch.tensor(np.repeat(np.arange(len(sizes)), sizes))
    x = torch.arange(len(domain), dtype=torch.float64)[:, None]
    return make_data(x, x[:, 0], domain, task="regression")


def take(data, seeds, size, steps, first=0):
    return list(itertools.islice(draw_rows(data, seeds, size, first), steps))


def test_every_domain_gives_a_whole_batch_even_a_single_row():
    data = uneven()
    for rows in take(data, [0], 64, 40):
        drawn = data.domain[rows[0]].reshape(3, 64)
        assert (drawn == torch.arange(3)[:, None]).all()
    assert len(set(torch.cat(take(data, [0], 64, 40), 1)[0].tolist())) == data.n_rows


def test_the_draw_depends_on_seed_and_step_alone():
    data = uneven()
    alone, together = take(data, [7], 8, 2 * BLOCK + 3), take(data, [1, 7, 3], 8, 2 * BLOCK + 3)
    for one, many in zip(alone, together, strict=True):
        assert torch.equal(one[0], many[1])
        assert not torch.equal(many[0], many[1])
    for start in (1, BLOCK - 1, BLOCK, BLOCK + 5):
        for later, whole in zip(take(data, [7], 8, 5, start), alone[start:], strict=False):
            assert torch.equal(later, whole)


def test_rows_of_weight_zero_are_never_drawn():
    data = uneven()
    weight = torch.ones(2, data.n_rows)
    weight[0, 6:] = 0  # the first model has no row of domain 2
    weight[1, 0] = 0  # the second none of domain 0
    rows = torch.stack(take(data.with_weight(weight), [0, 1], 16, 50))
    assert (rows[:, 0, 32:] == -1).all()
    assert (rows[:, 0, :32] < 6).all()
    assert (rows[:, 1, :16] == -1).all()
    batch = gather(data.with_weight(weight), rows[0])
    assert (batch["weight"][0, 32:] == 0).all()
    assert (batch["weight"][1, 16:] == 1).all()
    assert (batch["domain"][0].reshape(3, 16) == torch.arange(3)[:, None]).all()


def test_stacked_data_sets_are_padded_and_gathered_one_by_one():
    data = stack_data([uneven((2, 3)), uneven((4, 4))])
    assert data.size(2).tolist() == [[2, 3], [4, 4]]
    rows = take(data, [0, 0], 4, 1)[0]
    batch = gather(data, rows)
    for model in range(2):
        assert torch.equal(batch["x"][model], data.x[model, rows[model]])
    assert data.models(slice(1, 2)).size(1).tolist() == [[4, 4]]
    assert data.repeat(3).x.shape[0] == 6
    assert torch.equal(data.repeat(3).x[3], data.x[1])
