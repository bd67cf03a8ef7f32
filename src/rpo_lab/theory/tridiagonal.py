"""Symmetric positive tridiagonal systems, alone and with a low-rank addition, in time linear in their size."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_banded
from scipy.linalg.lapack import dpttrf, dpttrs

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Factor:
    """T = L D Lᵀ: `d` the diagonal of D, `l` the subdiagonal of L."""

    d: Array
    l: Array  # noqa: E741 - the letter of the factorisation


def factorise(diagonal: Array, off: Array) -> Factor | None:
    """Factorise T = L D Lᵀ; return None when T is not positive definite.

    Example:
        >>> factorise(np.array([2.0, 2.0]), np.array([-1.0]))
        Factor(d=array([2. , 1.5]), l=array([-0.5]))
        >>> factorise(np.array([1.0, 1.0]), np.array([-2.0])) is None
        True
    """
    d, lower, info = dpttrf(diagonal, off)
    return Factor(d, lower) if info == 0 else None


def solve(factor: Factor, b: Array, *, overwrite: bool = False) -> Array:
    """Compute T⁻¹ b for b of shape (n,), or for every row of b (..., n); in the memory of b if that may be lost.

    Example:
        >>> solve(factorise(np.array([2.0, 2.0]), np.array([-1.0])), np.array([[1.0, 1.0], [3.0, 0.0]]))
        array([[1., 1.],
               [2., 1.]])
    """
    # Rows in C order are the columns in Fortran order that LAPACK wants: nothing is copied but the result.
    x, _ = dpttrs(factor.d, factor.l, b.T, overwrite_b=overwrite)
    return np.asarray(x, dtype=np.float64).T


def variance(factor: Factor, s: Array) -> Array:
    r"""Compute diag(T⁻¹ diag(s) T⁻¹), the variances of T⁻¹ a for independent a with variances s.

    With z = diag(T⁻¹), (T⁻¹)_ij = z_j Π_{i≤k<j} (−l_k) for i ≤ j, so that the sums over j > i and over j < i
    each obey a first-order recurrence.

    Example:
        >>> T = np.array([[2.0, -1.0, 0.0], [-1.0, 3.0, -1.0], [0.0, -1.0, 2.0]])
        >>> inverse = np.linalg.inv(T)
        >>> s = np.array([1.0, 2.0, 3.0])
        >>> fast = variance(factorise(np.diag(T).copy(), np.diag(T, 1).copy()), s)
        >>> np.allclose(fast, np.diag(inverse @ np.diag(s) @ inverse))
        True
    """
    decay = factor.l**2
    z = _backward(decay, 1 / factor.d)
    above = _backward(decay, z**2 * s)
    below = _forward(decay, np.concatenate(([0.0], decay * s[:-1])))
    return above + z**2 * below


def _backward(decay: Array, c: Array) -> Array:
    """Solve u_i = c_i + decay_i u_{i+1}."""
    bands = np.ones((2, len(c)))
    bands[0, 1:] = -decay
    return np.asarray(solve_banded((0, 1), bands, c, check_finite=False), dtype=np.float64)


def _forward(decay: Array, c: Array) -> Array:
    """Solve u_{i+1} = c_{i+1} + decay_i u_i."""
    return _backward(decay[::-1], c[::-1])[::-1]


@dataclass(frozen=True)
class LowRank:
    """J = T + Uᵀ diag(c) U for U of shape (E, n), factorised by Woodbury's identity."""

    factor: Factor
    u: Array
    v: Array
    core: Array


def add_low_rank(factor: Factor, u: Array, c: Array) -> LowRank:
    """Prepare J⁻¹ = T⁻¹ − Vᵀ core V with V = U T⁻¹ and core = (I + diag(c) U Vᵀ)⁻¹ diag(c); c may hold zeros.

    Example:
        >>> T = factorise(np.array([2.0, 2.0]), np.array([-1.0]))
        >>> J = add_low_rank(T, np.array([[1.0, 2.0]]), np.array([10.0]))
        >>> dense = np.array([[2.0, -1.0], [-1.0, 2.0]]) + 10 * np.outer([1, 2], [1, 2])
        >>> np.allclose(solve_low_rank(J, np.array([1.0, 0.0])), np.linalg.solve(dense, [1.0, 0.0]))
        True
    """
    v = solve(factor, u)
    core = np.linalg.solve(np.eye(len(c)) + c[:, None] * (u @ v.T), np.diag(c))
    return LowRank(factor, u, v, np.asarray(core, dtype=np.float64))


def solve_low_rank(system: LowRank, b: Array) -> Array:
    """Compute J⁻¹ b for b of shape (n,), or for every row of b of shape (m, n).

    Example:
        >>> T = factorise(np.array([2.0, 2.0]), np.array([0.0]))
        >>> solve_low_rank(add_low_rank(T, np.ones((1, 2)), np.array([0.0])), np.array([2.0, 4.0]))
        array([1., 2.])
    """
    y = solve(system.factor, b)
    return y - (y @ system.u.T) @ system.core.T @ system.v
