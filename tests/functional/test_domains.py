"""Segment means against a loop over domains."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from rpo.functional.domains import domain_mean, domain_share, domain_sum, mean_over_domains


@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from([0.0, 0.5, 1.0, 3.0]), st.floats(-9, 9)), min_size=1),
)
def test_means_equal_a_loop(extra, rows):
    domain = torch.tensor([r[0] for r in rows])
    weight = torch.tensor([r[1] for r in rows], dtype=torch.float64)
    value = torch.tensor([r[2] for r in rows], dtype=torch.float64)
    n = 4 + extra
    mean = domain_mean(value, domain, weight, n)
    for e in range(n):
        mask = domain == e
        total = weight[mask].sum()
        expected = (weight[mask] * value[mask]).sum() / total if total > 0 else torch.zeros(())
        torch.testing.assert_close(mean[e], expected.double(), rtol=1e-9, atol=1e-9)


def test_sum_of_share_times_value_is_sum_of_means():
    domain, weight = torch.tensor([0, 0, 1, 2]), torch.tensor([1.0, 3.0, 2.0, 0.0])
    value = torch.tensor([1.0, 2.0, 3.0, 4.0])
    share = domain_share(weight, domain, 3)
    torch.testing.assert_close((share * value).sum(), domain_mean(value, domain, weight, 3).sum())


def test_matrix_values_and_absent_domains():
    values = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert domain_sum(values, torch.tensor([1, 1]), 3).tolist() == [[0, 0], [4, 6], [0, 0]]
    mean = domain_mean(values, torch.tensor([1, 1]), torch.ones(2), 3)
    assert mean.tolist() == [[0, 0], [2, 3], [0, 0]]
    assert mean_over_domains(mean[:, 0], torch.tensor([0.0, 2.0, 0.0])) == 2
