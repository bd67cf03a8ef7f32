"""Coloured digits as a run needs them."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from rpo.engine import Data, make_data
from rpo.exceptions import InputError
from rpo.functional.statistics import Array
from rpo_lab.data.colored import ColoredDigits, colored_mnist
from rpo_lab.runner.problems import Problem, problem, same_options

VALIDATION = 0.2  # share of the rows of training domains of images that models are chosen by


@problem("colored")
@same_options(colored_mnist)
def colored(**options: Any) -> Problem:
    """Colored-MNIST (`rpo_lab.data.colored_mnist`), strata by digit; a fifth of the rows is for validation."""
    drawn = colored_mnist(**options)
    return _coloured(drawn, np.ones(len(drawn.y)), options["seed"])


@problem("colored-twice")
@same_options(colored_mnist)
def colored_twice(**options: Any) -> Problem:
    """Colored-MNIST with a second test domain, `clean`, whose labels are not turned; what is trained on is the same.

    Colours follow the label in it as it is, so that its pictures are others, too.
    """
    found = colored(**options)
    clean = colored(**{**options, "test_label_noise": 0.0})
    return replace(found, tests={**found.tests, "clean": clean.tests["test"]})


@problem("digits")
def digits(
    *,
    bad_share: float = 0.0,
    flip: float = 0.25,
    keep: float = 1.0,
    flip_after_colouring: bool = True,
    colours: str = "all",
    known_noise: bool = False,
    seed: int = 0,
) -> Problem:
    """scikit-learn's digits, coloured, labels flipped in a share of the cells (domain, digit), wherever they fall.

    `colours="chance"` draws colours by chance, so that nothing is spurious; with `known_noise` training rows weigh
    (1 − 2 flip)² in the bad cells, which nobody knows of real data.
    """
    if colours not in ("all", "chance"):
        raise InputError(f"colours must be 'all' or 'chance', got {colours!r}")
    chance = {"colour_flip": (0.5, 0.5, 0.5), "test_colour_flip": 0.5} if colours == "chance" else {}
    drawn = colored_mnist(
        digits="sklearn",
        bad_share=bad_share,
        flip=flip,
        keep=keep,
        flip_after_colouring=flip_after_colouring,
        seed=seed,
        **chance,  # type: ignore[arg-type]
    )
    bad = np.array([cell in drawn.setting.cells for cell in zip(drawn.domain, drawn.digit, strict=True)])
    return _coloured(drawn, np.where(bad & known_noise, (1 - 2 * flip) ** 2, 1.0), seed)


def _coloured(drawn: ColoredDigits, weight: Array, seed: int) -> Problem:
    mixed = np.random.default_rng([seed, 8]).permutation(drawn.train)
    cut = round(VALIDATION * len(mixed))

    def part(rows: np.ndarray[Any, Any], domain: np.ndarray[Any, Any]) -> Data:
        columns = (drawn.x(rows), drawn.y[rows].astype(np.float32), domain, drawn.digit[rows].astype(np.int64))
        x, y, domains, stratum = map(torch.from_numpy, columns)
        return make_data(x, y, domains, task="binary", stratum=stratum, weight=torch.from_numpy(weight[rows]))

    validation, train = (np.sort(rows) for rows in (mixed[:cut], mixed[cut:]))
    return Problem(
        part(train, drawn.domain[train].astype(np.int64)),
        part(validation, drawn.domain[validation].astype(np.int64)),
        {"test": part(drawn.test, np.zeros(len(drawn.test), dtype=np.int64))},
    )
