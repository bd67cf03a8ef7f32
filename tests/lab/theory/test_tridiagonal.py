import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rpo_lab.theory import tridiagonal


def system(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    off = -rng.uniform(0.1, 5.0, n - 1)
    ends = np.pad(-off, 1)
    diagonal = ends[1:] + ends[:-1] + rng.uniform(0.01, 2.0, n)
    return diagonal, off, np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1)


@settings(max_examples=25, deadline=None)
@given(n=st.integers(2, 40), seed=st.integers(0, 10_000))
def test_solve_and_variance_agree_with_dense_algebra(n: int, seed: int) -> None:
    diagonal, off, dense = system(n, seed)
    factor = tridiagonal.factorise(diagonal, off)
    assert factor is not None
    rng = np.random.default_rng(seed + 1)
    b, s = rng.normal(size=(3, n)), rng.uniform(size=n)
    inverse = np.linalg.inv(dense)
    np.testing.assert_allclose(tridiagonal.solve(factor, b), b @ inverse, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(tridiagonal.variance(factor, s), (inverse**2) @ s, rtol=1e-8)


@settings(max_examples=25, deadline=None)
@given(n=st.integers(3, 40), rank=st.integers(1, 3), seed=st.integers(0, 10_000))
def test_woodbury_agrees_with_dense_algebra(n: int, rank: int, seed: int) -> None:
    diagonal, off, dense = system(n, seed)
    factor = tridiagonal.factorise(diagonal, off)
    assert factor is not None
    rng = np.random.default_rng(seed + 1)
    u, c, b = rng.normal(size=(rank, n)), rng.uniform(0, 10, rank), rng.normal(size=(2, n))
    c[0] = 0.0
    expected = np.linalg.solve(dense + u.T @ np.diag(c) @ u, b.T).T
    fast = tridiagonal.solve_low_rank(tridiagonal.add_low_rank(factor, u, c), b)
    np.testing.assert_allclose(fast, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("diagonal", [[1.0, -1.0, 1.0], [1.0, 1.0, 1.0]])
def test_an_indefinite_matrix_is_told(diagonal: list[float]) -> None:
    assert tridiagonal.factorise(np.array(diagonal), np.array([-1.5, -1.5])) is None
