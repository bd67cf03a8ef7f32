"""One-dimensional regression problems, densities, noise and truth on a grid of [0, 1], and a catalogue of them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rpo.exceptions import InputError

Array = NDArray[np.float64]
Function = Callable[[Array], ArrayLike]


@dataclass(frozen=True, eq=False)
class Problem:
    r"""y = f_*(x) + ε_e(x), x ~ r_e on [0, 1], Var ε_e(x) = σ_e²(x), N_e samples in domain e.

    Attributes:
        name: what the problem is called in tables.
        x: the n nodes of a uniform grid from 0 to 1.
        truth: f_* at the nodes, of shape (n,).
        density: r_e at the nodes, of shape (E, n); each row integrates to one.
        noise: σ_e (a standard deviation) at the nodes, of shape (E, n).
        samples: N_e, of shape (E,).
        groups: number of equal intervals on which group-wise penalties are constant.

    Example:
        >>> line = make_problem("line", truth=lambda x: x, noise=[0.1], samples=[100], nodes=5)
        >>> line.truth
        array([0.  , 0.25, 0.5 , 0.75, 1.  ])
        >>> float(line.mass.sum())
        1.0
    """

    name: str
    x: Array
    truth: Array
    density: Array
    noise: Array
    samples: Array
    groups: int = 4

    @property
    def domains(self) -> int:
        """E, the number of domains."""
        return len(self.samples)

    @cached_property
    def weights(self) -> Array:
        """Trapezoidal weights: ∫ g dx = weights @ g."""
        weights = np.full(len(self.x), 1.0 / (len(self.x) - 1))
        weights[[0, -1]] /= 2
        return weights

    @cached_property
    def mass(self) -> Array:
        """r_e(x_i) times the weight of node i, of shape (E, n): the share of domain e's samples at node i."""
        return self.density * self.weights

    @cached_property
    def total_density(self) -> Array:
        """The density r = Σ_e r_e of the paper."""
        return np.asarray(self.density.sum(0), dtype=np.float64)

    @cached_property
    def label_variance(self) -> Array:
        """σ_e²/(N_e mass), of shape (E, n): the variance of the mean label of the samples at a node."""
        return self.noise**2 / (self.samples[:, None] * self.mass)

    @cached_property
    def group(self) -> NDArray[np.intp]:
        """The group k of every node."""
        return np.minimum((self.x * self.groups).astype(np.intp), self.groups - 1)

    def integral(self, values: Array) -> float:
        """Compute ∫ values dx over [0, 1]."""
        return float(self.weights @ values)

    def slope(self, values: Array) -> Array:
        """Compute the derivative of a function on the grid, to second order up to the ends."""
        # Less its first value, so that the derivative of a constant is exactly zero.
        return np.asarray(np.gradient(values - values[0], 1 / (len(self.x) - 1), edge_order=2), dtype=np.float64)

    def by_group(self, values: Array) -> Array:
        """Spread one value for each group over the nodes of the group."""
        return np.asarray(values, dtype=np.float64)[..., self.group]


def make_problem(
    name: str,
    *,
    truth: Function,
    noise: ArrayLike,
    samples: ArrayLike,
    density: Function | None = None,
    nodes: int = 2001,
    groups: int = 4,
) -> Problem:
    r"""Put a problem on a grid; every density is scaled so that ∫ r_e dx = 1.

    Args:
        name: what to call it.
        truth: f_*.
        noise: σ_e, of shape (E,) when constant or (E, groups) when constant on groups.
        samples: N_e, of shape (E,).
        density: r_e up to scale, from the nodes (n,) to (E, n); uniform when left out.
        nodes: number of nodes, at least 3.
        groups: number of equal intervals for group-wise quantities.

    Example:
        >>> two = make_problem("two", truth=lambda x: 2 + x, noise=[0.1, 0.4], samples=[100, 50], nodes=101)
        >>> two.density.shape, two.domains
        ((2, 101), 2)
    """
    if nodes < 3:
        raise InputError(f"a grid needs at least 3 nodes, got {nodes}")
    if groups < 1:
        raise InputError(f"groups must be at least 1, got {groups}")
    x = np.linspace(0.0, 1.0, nodes)
    counts = np.asarray(samples, dtype=np.float64)
    sigma = np.asarray(noise, dtype=np.float64)
    if counts.ndim != 1 or sigma.shape not in {(len(counts),), (len(counts), groups)}:
        raise InputError(
            f"{name}: noise must be of shape (E,) or (E, {groups}) for samples of shape (E,), "
            f"got {sigma.shape} and {counts.shape}"
        )
    bare = Problem(name, x, x, x[None], x[None], counts, groups)
    sigma = bare.by_group(sigma) if sigma.ndim == 2 else np.repeat(sigma[:, None], nodes, axis=1)
    r = np.ones_like(sigma) if density is None else np.asarray(density(x), dtype=np.float64)
    f = np.broadcast_to(np.asarray(truth(x), dtype=np.float64), x.shape).copy()
    if r.shape != sigma.shape:
        raise InputError(f"{name}: density must return shape {sigma.shape}, got {r.shape}")
    if not (np.isfinite(f).all() and (r > 0).all() and (counts > 0).all() and (sigma >= 0).all()):
        raise InputError(f"{name}: truth must be finite, density and samples positive, noise not negative")
    return Problem(name, x, f, r / (r @ bare.weights)[:, None], sigma, counts, groups)


def penalties(problem: Problem, eta: ArrayLike, lam: float, rho: ArrayLike) -> tuple[Array, Array]:
    """Check η, λ, ρ and spread them: η of shape (E,), ρ of shape (n,).

    Example:
        >>> p = make_problem("p", truth=lambda x: x, noise=[0.1], samples=[9], nodes=3)
        >>> penalties(p, 1, 0.1, 2)
        (array([1.]), array([2., 2., 2.]))
    """
    try:
        eta_e = np.broadcast_to(np.asarray(eta, dtype=np.float64), (problem.domains,)).copy()
        rho_x = np.broadcast_to(np.asarray(rho, dtype=np.float64), problem.x.shape).copy()
    except (TypeError, ValueError):
        raise InputError(
            f"eta must be a number or of shape ({problem.domains},), rho a number or of shape ({len(problem.x)},)"
        ) from None
    if not (np.isfinite(eta_e).all() and (eta_e >= 0).all()):
        raise InputError("eta must be finite and not negative")
    if not (np.isfinite(rho_x).all() and (rho_x > 0).all()):
        raise InputError("rho must be finite and positive")
    if not (np.isfinite(lam) and lam > 0):
        raise InputError(f"lam must be finite and positive, got {lam}")
    return eta_e, rho_x


class Entry(NamedTuple):
    """A problem of the catalogue: what it is for, and what it is made of; every domain has 2,000 samples."""

    words: str
    truth: Function
    noise: ArrayLike
    density: Function | None = None


def names() -> list[str]:
    """Return the names of the problems of the catalogue.

    Example:
        >>> "bad-second-domain" in names()
        True
    """
    return list(_CATALOGUE)


def get(name: str, nodes: int = 2001) -> Problem:
    """Return the named problem on a grid of that many nodes.

    Example:
        >>> get("cosine", nodes=101).truth.shape
        (101,)
    """
    entry = _entry(name)
    samples = [2000] * len(np.asarray(entry.noise))
    return make_problem(name, truth=entry.truth, noise=entry.noise, samples=samples, density=entry.density, nodes=nodes)


def describe(name: str) -> str:
    """Describe the named problem in one line.

    Example:
        >>> describe("noise-only")
        'Uniform density; one of four groups is six times noisier than the others.'
    """
    return _entry(name).words


def _entry(name: str) -> Entry:
    if name not in _CATALOGUE:
        raise InputError(f"no problem called {name!r}; there are {', '.join(names())}")
    return _CATALOGUE[name]


def _constant(x: Array) -> Array:
    return np.full_like(x, 2.0)


def _cosine(x: Array) -> Array:
    """Compute a truth whose slope vanishes at both ends: there is no boundary layer."""
    return 2 + np.cos(np.pi * x)


def _tilted(x: Array) -> Array:
    """Compute a truth with slope at the ends: boundary layers dominate the bias."""
    return 2 + x + 0.5 * np.sin(2 * np.pi * x + 0.5)


def _wave(x: Array) -> Array:
    """Compute four half-waves: each of four groups has the same curvature, and the slope vanishes at the ends."""
    return 2 + np.cos(4 * np.pi * x)


def _uneven(x: Array) -> Array:
    """Compute the density of one domain: five times higher in every second of four groups."""
    return np.array([[1.0, 5.0, 1.0, 5.0]])[:, np.minimum((x * 4).astype(int), 3)]


def _mirrored(x: Array) -> Array:
    """Compute the densities of two domains that mirror each other: one dense on the left, the other on the right."""
    return np.stack([1 + 0.6 * np.cos(np.pi * x), 1 - 0.6 * np.cos(np.pi * x)])


_CATALOGUE = {
    "constant": Entry("f_* ≡ 2: without noise the minimiser is f_* itself for every η, λ and ρ.", _constant, [0.3]),
    "cosine": Entry("f_*' = 0 at the ends, one domain: bias of order λ everywhere, best λ ∝ N^(−2/5).", _cosine, [0.3]),
    "tilted": Entry(
        "f_*' ≠ 0 at the ends, one domain: boundary layers of order √λ, best λ near N^(−1/2).", _tilted, [0.3]
    ),
    "cosine-two-domains": Entry(
        "f_*' = 0 at the ends, two domains whose densities mirror each other, the second noisier.",
        _cosine,
        [0.3, 0.6],
        _mirrored,
    ),
    "tilted-two-domains": Entry(
        "f_*' ≠ 0 at the ends, two domains whose densities mirror each other, the second noisier.",
        _tilted,
        [0.3, 0.6],
        _mirrored,
    ),
    "noise-only": Entry(
        "Uniform density; one of four groups is six times noisier than the others.", _wave, [[0.2, 0.2, 1.2, 0.2]]
    ),
    "noise-alternating": Entry(
        "Uniform density; every second group is five times noisier, so that half of the data is bad.",
        _wave,
        [[0.2, 1.0, 0.2, 1.0]],
    ),
    "density-only": Entry("Equal noise; the density differs between four groups.", _wave, [0.5], _uneven),
    "sparse-is-noisy": Entry("The groups of low density are the noisy ones.", _wave, [[1.0, 0.2, 1.0, 0.2]], _uneven),
    "dense-is-noisy": Entry("The groups of high density are the noisy ones.", _wave, [[0.2, 1.0, 0.2, 1.0]], _uneven),
    "bad-second-domain": Entry(
        "Two domains whose densities mirror each other; the second is five times noisier.",
        _cosine,
        [0.3, 1.5],
        _mirrored,
    ),
    "bad-domain-same-density": Entry(
        "Two domains of one and the same density; the second is five times noisier.", _cosine, [0.3, 1.5]
    ),
    "bad-second-domain-tilted": Entry(
        "As bad-second-domain, but with a truth that has slope at the ends.", _tilted, [0.3, 1.5], _mirrored
    ),
}
