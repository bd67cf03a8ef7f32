"""A catalogue of one-dimensional problems with known properties, for tests, tables and figures."""

from collections.abc import Callable

import numpy as np

from rpo.exceptions import InputError
from rpo_lab.theory.problem import Array, Problem, make_problem

_CATALOGUE: dict[str, Callable[[int], Problem]] = {}


def _problem(build: Callable[[int], Problem]) -> Callable[[int], Problem]:
    _CATALOGUE[build.__name__.replace("_", "-")] = build
    return build


def names() -> list[str]:
    """The names of the problems.

    Example:
        >>> "bad-second-domain" in names()
        True
    """
    return list(_CATALOGUE)


def get(name: str, nodes: int = 2001) -> Problem:
    """The named problem on a grid of that many nodes.

    Example:
        >>> get("cosine", nodes=101).truth.shape
        (101,)
    """
    if name not in _CATALOGUE:
        raise InputError(f"no problem called {name!r}; there are {', '.join(names())}")
    return _CATALOGUE[name](nodes)


def describe(name: str) -> str:
    """What the named problem is for, in one line.

    Example:
        >>> describe("noise-only")
        'Uniform density; one of four groups is six times noisier than the others.'
    """
    get(name, nodes=51)
    return " ".join((_CATALOGUE[name].__doc__ or "").split())


def _cosine_truth(x: Array) -> Array:
    """Its slope vanishes at both ends, so there is no boundary layer."""
    return 2 + np.cos(np.pi * x)


def _tilted_truth(x: Array) -> Array:
    """Its slope does not vanish at the ends: boundary layers dominate the bias."""
    return 2 + x + 0.5 * np.sin(2 * np.pi * x + 0.5)


def _wave_truth(x: Array) -> Array:
    """Four half-waves: every one of four groups has the same curvature, and the slope vanishes at the ends."""
    return 2 + np.cos(4 * np.pi * x)


def _groups(*levels: tuple[float, ...]) -> Callable[[Array], Array]:
    """Densities constant on equal intervals, one tuple of levels for each domain."""

    def density(x: Array) -> Array:
        table = np.asarray(levels)
        count = table.shape[1]
        return np.asarray(table[:, np.minimum((x * count).astype(int), count - 1)], dtype=np.float64)

    return density


def _crossed(x: Array) -> Array:
    """Two domains that mirror each other: one dense on the left, the other on the right."""
    return np.stack([1 + 0.6 * np.cos(np.pi * x), 1 - 0.6 * np.cos(np.pi * x)])


@_problem
def constant(nodes: int = 2001) -> Problem:
    """f_* ≡ 2: without noise the minimiser is f_* itself for every η, λ and ρ."""
    return make_problem("constant", truth=lambda x: np.full_like(x, 2.0), noise=[0.3], samples=[2000], nodes=nodes)


@_problem
def cosine(nodes: int = 2001) -> Problem:
    """f_*' = 0 at the ends, one domain: bias of order λ everywhere, best λ ∝ N^(−2/5)."""
    return make_problem("cosine", truth=_cosine_truth, noise=[0.3], samples=[2000], nodes=nodes)


@_problem
def tilted(nodes: int = 2001) -> Problem:
    """f_*' ≠ 0 at the ends, one domain: boundary layers of order √λ, best λ near N^(−1/2)."""
    return make_problem("tilted", truth=_tilted_truth, noise=[0.3], samples=[2000], nodes=nodes)


@_problem
def cosine_two_domains(nodes: int = 2001) -> Problem:
    """f_*' = 0 at the ends, two domains whose densities mirror each other, the second noisier."""
    return make_problem(
        "cosine-two-domains",
        truth=_cosine_truth, density=_crossed, noise=[0.3, 0.6], samples=[2000, 2000], nodes=nodes,
    )  # fmt: skip


@_problem
def tilted_two_domains(nodes: int = 2001) -> Problem:
    """f_*' ≠ 0 at the ends, two domains whose densities mirror each other, the second noisier."""
    return make_problem(
        "tilted-two-domains",
        truth=_tilted_truth, density=_crossed, noise=[0.3, 0.6], samples=[2000, 2000], nodes=nodes,
    )  # fmt: skip


@_problem
def noise_only(nodes: int = 2001) -> Problem:
    """Uniform density; one of four groups is six times noisier than the others."""
    return make_problem("noise-only", truth=_wave_truth, noise=[[0.2, 0.2, 1.2, 0.2]], samples=[2000], nodes=nodes)


@_problem
def noise_alternating(nodes: int = 2001) -> Problem:
    """Uniform density; every second group is five times noisier, so that half of the data is bad."""
    return make_problem(
        "noise-alternating", truth=_wave_truth, noise=[[0.2, 1.0, 0.2, 1.0]], samples=[2000], nodes=nodes
    )


@_problem
def density_only(nodes: int = 2001) -> Problem:
    """Equal noise; the density differs between four groups."""
    return make_problem(
        "density-only",
        truth=_wave_truth, density=_groups((1.0, 5.0, 1.0, 5.0)), noise=[0.5], samples=[2000], nodes=nodes,
    )  # fmt: skip


@_problem
def sparse_is_noisy(nodes: int = 2001) -> Problem:
    """The groups of low density are the noisy ones."""
    return make_problem(
        "sparse-is-noisy",
        truth=_wave_truth, density=_groups((1.0, 5.0, 1.0, 5.0)), noise=[[1.0, 0.2, 1.0, 0.2]], samples=[2000],
        nodes=nodes,
    )  # fmt: skip


@_problem
def dense_is_noisy(nodes: int = 2001) -> Problem:
    """The groups of high density are the noisy ones."""
    return make_problem(
        "dense-is-noisy",
        truth=_wave_truth, density=_groups((1.0, 5.0, 1.0, 5.0)), noise=[[0.2, 1.0, 0.2, 1.0]], samples=[2000],
        nodes=nodes,
    )  # fmt: skip


@_problem
def bad_second_domain(nodes: int = 2001) -> Problem:
    """Two domains whose densities mirror each other; the second is five times noisier."""
    return make_problem(
        "bad-second-domain",
        truth=_cosine_truth, density=_crossed, noise=[0.3, 1.5], samples=[2000, 2000], nodes=nodes,
    )  # fmt: skip


@_problem
def bad_domain_same_density(nodes: int = 2001) -> Problem:
    """Two domains of one and the same density; the second is five times noisier."""
    return make_problem(
        "bad-domain-same-density", truth=_cosine_truth, noise=[0.3, 1.5], samples=[2000, 2000], nodes=nodes
    )


@_problem
def bad_second_domain_tilted(nodes: int = 2001) -> Problem:
    """As bad-second-domain, but with a truth that has slope at the ends."""
    return make_problem(
        "bad-second-domain-tilted",
        truth=_tilted_truth, density=_crossed, noise=[0.3, 1.5], samples=[2000, 2000], nodes=nodes,
    )  # fmt: skip
