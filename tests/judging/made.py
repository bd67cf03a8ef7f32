"""Tables in which nothing is wrong, or one thing that is known."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, softmax

TRUTHS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear": lambda x: x[:, 0] + x[:, 1],
    "square": lambda x: x[:, 0] ** 2 + x[:, 1],
    "exp": lambda x: np.exp(0.7 * x[:, 0]) + x[:, 1],
    "sine": lambda x: 2 * np.sin(1.5 * x[:, 0]) + x[:, 1],
    "step": lambda x: 2.0 * (x[:, 0] > 0) + x[:, 1],
    "interaction": lambda x: x[:, 0] * x[:, 1] + x[:, 2],
}


def numbers(truth, seed, *, domains=None, rows=None, noise=0.3, columns=5, offset=0.0, bad=None, factor=2.0):
    """X, y, domain, and each domain's offset: 4 to 40 domains whose columns differ by a deviation, one noise for all.

    Domain `bad` has `factor` times the noise.
    """
    rng = np.random.default_rng([seed, list(TRUTHS).index(truth)])
    number = domains or int(rng.integers(4, 41))
    count = np.full(number, rows) if rows else rng.integers(30, 200, number)
    domain = np.repeat(np.arange(number), count)
    x = rng.normal(size=(number, columns))[domain] + rng.normal(size=(len(domain), columns))
    level = rng.normal(size=number) * offset
    scale = np.full(number, noise)
    if bad is not None:
        scale[bad] *= factor
    y = TRUTHS[truth](x) + level[domain] + rng.normal(size=len(domain)) * scale[domain]
    return x, y, domain, level


def labels(
    seed, *, classes=2, prevalence=None, intercept=0.0, domains=None, rows=None, bad=None, turned=0.4, steep=1.5
):
    """X, y, domain: two classes of any prevalence or three, straight or curved; log odds differ by `intercept`.

    Domain `bad` has a share `turned` of its labels turned.
    """
    rng = np.random.default_rng([seed, 77, classes])
    number = domains or int(rng.integers(4, 12))
    count = np.full(number, rows) if rows else rng.integers(60, 300, number)
    domain = np.repeat(np.arange(number), count)
    n = len(domain)
    x = 0.7 * rng.normal(size=(number, 4))[domain] + rng.normal(size=(n, 4))
    share = prevalence or float(np.exp(rng.uniform(np.log(0.05), np.log(0.5))))
    curved = bool(rng.integers(2))
    own = rng.uniform(-intercept, intercept, number)[domain]
    if classes == 2:
        score = steep * ((0.7 * x[:, 0] ** 2 if curved else x[:, 0]) + 0.5 * x[:, 1])
        shift = brentq(lambda b: expit(score + b).mean() - share, -60, 60)
        y = (rng.uniform(size=n) < expit(score + shift + own)).astype(int)
    else:
        scores = np.column_stack([np.zeros(n), steep * x[:, 0] + own, steep * x[:, 1] - 0.5 - 0.5 * own])
        y = (rng.uniform(size=(n, 1)) > softmax(scores, 1).cumsum(1)).sum(1).clip(0, 2)
    if bad is not None:
        hit = (domain == bad) & (rng.uniform(size=n) < turned)
        y = np.where(hit, (y + rng.integers(1, classes, n)) % classes, y)
    return x, y, domain


def many_labels(seed, *, classes=8, domains=6, rows=250, bad=None, turned=0.4):
    """X, y, domain: more classes than boosted trees are used for; their log odds differ by domain for odd seeds.

    Domain `bad` has a share `turned` of its labels turned.
    """
    rng = np.random.default_rng([seed, 88])
    domain = np.repeat(np.arange(domains), rows)
    n = len(domain)
    x = 0.7 * rng.normal(size=(domains, 6))[domain] + rng.normal(size=(n, 6))
    own = rng.uniform(-1.5, 1.5, (domains, classes))[domain] * (seed % 2)
    curved = np.concatenate([x[:, :3] ** 2, 2 * x[:, 3:]], 1)
    score = curved @ rng.normal(size=(6, classes)) + own
    y = (rng.uniform(size=(n, 1)) > softmax(score, 1).cumsum(1)).sum(1).clip(0, classes - 1)
    if bad is not None:
        hit = (domain == bad) & (rng.uniform(size=n) < turned)
        y = np.where(hit, (y + rng.integers(1, classes, n)) % classes, y)
    return x, y, domain
