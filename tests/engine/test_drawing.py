"""torch's random numbers from a seed of our own."""

from threading import Thread

import pytest
import torch
from torch import nn

from rpo.engine.drawing import Seeded, Undrawn
from rpo.exceptions import InputError

LAYERS = {
    "linear": lambda: nn.Linear(3, 4),
    "convolution": lambda: nn.Conv2d(2, 3, 3),
    "lstm": lambda: nn.LSTM(3, 4),
    "embedding": lambda: nn.Embedding(4, 3),
    "attention": lambda: nn.MultiheadAttention(8, 2),
    "transformer": lambda: nn.TransformerEncoderLayer(8, 2),
}
DRAWS = {
    "orthogonal": lambda: nn.init.orthogonal_(torch.empty(5, 5)),
    "truncated": lambda: nn.init.trunc_normal_(torch.empty(5, 5)),
    "sparse": lambda: nn.init.sparse_(torch.empty(5, 5), 0.5),
    "randn": lambda: torch.randn(3, dtype=torch.float64),
    "rand": lambda: torch.rand(3),
    "randint": lambda: torch.randint(9, (4,)),
    "randint from": lambda: torch.randint(2, 9, (4,)),
    "randperm": lambda: torch.randperm(7),
    "normal": lambda: torch.normal(torch.zeros(3), 1.0),
    "bernoulli": lambda: torch.bernoulli(torch.full((9,), 0.5)),
    "multinomial": lambda: torch.multinomial(torch.ones(5), 3),
    "beta": lambda: torch.distributions.Beta(2.0, 3.0).sample((3,)),
    "dropout": lambda: nn.functional.dropout(torch.ones(9)),
}


def numbers(name, seed):
    with Seeded(seed):
        return list(LAYERS[name]().parameters()) if name in LAYERS else [DRAWS[name]()]


@pytest.mark.parametrize("name", [*LAYERS, *DRAWS])
def test_the_seed_alone_decides(name):
    first, again, other = (numbers(name, seed) for seed in (5, 5, 6))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(first, other, strict=True))


def test_the_numbers_are_those_that_torch_draws_from_the_seed():
    with Seeded(5):
        ours = torch.randn(3), torch.rand(2)
    generator = torch.Generator().manual_seed(5)
    assert torch.equal(ours[0], torch.randn(3, generator=generator))
    assert torch.equal(ours[1], torch.rand(2, generator=generator))


def test_a_generator_that_is_given_is_used():
    with Seeded(5):
        ours = torch.randn(3, generator=torch.Generator().manual_seed(7))
    assert torch.equal(ours, torch.randn(3, generator=torch.Generator().manual_seed(7)))


def test_another_thread_does_not_take_part():
    found = []
    with Seeded(5):
        first = torch.randn(2)
        other = Thread(target=lambda: found.append(numbers("randn", 8)[0]))
        other.start()
        other.join()
        second = torch.randn(2)
    generator = torch.Generator().manual_seed(5)
    assert torch.equal(first, torch.randn(2, generator=generator))
    assert torch.equal(second, torch.randn(2, generator=generator))
    assert torch.equal(found[0], torch.randn(3, dtype=torch.float64, generator=torch.Generator().manual_seed(8)))


@pytest.mark.parametrize("name", DRAWS)
def test_what_draws_is_refused_where_nothing_may(name):
    with pytest.raises(InputError, match="draws random numbers"), Undrawn():
        DRAWS[name]()
