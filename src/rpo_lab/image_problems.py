"""Images for a run: coloured digits, and photos as features of a frozen backbone or as pixels."""

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from rpo.engine import Data, make_data
from rpo.exceptions import InputError
from rpo.functional.statistics import Array
from rpo_lab.data.colored import ColoredDigits, colored_mnist
from rpo_lab.data.nico import nico
from rpo_lab.data.photos import photos
from rpo_lab.data.tying import Part, Photos
from rpo_lab.features import extract
from rpo_lab.runner.problems import Problem, problem, same_options

VALIDATION = 0.2  # share of the rows of training domains of digits that models are chosen by

Inputs = Literal["features", "pixels"]
TESTS: dict[str, Part] = {"test": "test", "balanced": "balanced", "home": "validation"}


@problem("colored")
@same_options(colored_mnist)
def colored(**options: Any) -> Problem:
    """Draw Colored-MNIST (`rpo_lab.data.colored_mnist`), strata by digit; a fifth of the rows is for validation."""
    drawn = colored_mnist(**options)
    return _coloured(drawn, np.ones(len(drawn.y)), options["seed"])


@problem("colored-twice")
@same_options(colored_mnist)
def colored_twice(**options: Any) -> Problem:
    """Draw Colored-MNIST with a second test domain, `clean`, whose labels are not turned; training is on the same.

    Colours follow the label in it as it is, so that its pictures are others, too.
    """
    usual = colored(**options)
    clean = colored(**{**options, "test_label_noise": 0.0})
    return replace(usual, tests={**usual.tests, "clean": clean.tests["test"]})


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
    """Draw scikit-learn's digits, coloured, labels flipped in a share of the cells (domain, digit), wherever they fall.

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

    def part(rows: NDArray[np.intp], domain: NDArray[Any]) -> Data:
        return _data(drawn.x(rows), drawn.y[rows], domain, drawn.digit[rows], weight[rows])

    validation, train = (np.sort(rows) for rows in (mixed[:cut], mixed[cut:]))
    tests = {"test": part(drawn.test, np.zeros(len(drawn.test)))}
    return Problem(part(train, drawn.domain[train]), part(validation, drawn.domain[validation]), tests)


@problem("photos")
@same_options(photos, inputs="features", backbone="lite0", size=32)
def photo_problem(*, inputs: Inputs, backbone: str, size: int, **options: Any) -> Problem:
    """Draw the stand-in for NICO (`rpo_lab.data.photos`)."""
    return as_problem(photos(**options), inputs, backbone, size)


@problem("nico")
@same_options(nico, root="", inputs="features", backbone="lite0", size=32)
def nico_problem(*, root: str, inputs: Inputs, backbone: str, size: int, **options: Any) -> Problem:
    """Draw NICO from a folder (`rpo_lab.data.nico`)."""
    return as_problem(nico(root, **options), inputs, backbone, size)


def as_problem(data: Photos, inputs: Inputs, backbone: str, size: int) -> Problem:
    """Make a problem of photos, strata by kind × context; the test `home` is the validation rows with true labels."""
    x = _inputs(data, inputs, backbone, size)

    def part(rows: NDArray[np.intp], y: NDArray[np.int8], domain: NDArray[np.int8]) -> Data:
        return _data(x[rows], y[rows], domain[rows], data.stratum[rows], None)

    tests = {name: data.rows(rows) for name, rows in TESTS.items()}
    nowhere = np.zeros_like(data.domain)
    return Problem(
        part(data.rows("train"), data.y, data.domain),
        part(data.rows("validation"), data.y, data.domain),
        {name: part(rows, data.true_y, nowhere) for name, rows in tests.items() if len(rows)},
    )


def _inputs(data: Photos, inputs: Inputs, backbone: str, size: int) -> NDArray[np.float32]:
    if inputs == "features":
        train = data.rows("train")
        x = extract(data.album, data.picture, backbone=backbone, progress=False)
        standard: NDArray[np.float32] = (x - x[train].mean(axis=0)) / (x[train].std(axis=0) + 1e-6)
        return standard
    if inputs == "pixels":
        pixels = data.album.pixels(data.picture, size)
        return pixels.transpose(0, 3, 1, 2).astype(np.float32) / 127.5 - 1
    raise InputError(f"inputs must be 'features' or 'pixels', got {inputs!r}")


def _data(x: NDArray[Any], y: NDArray[Any], domain: NDArray[Any], stratum: NDArray[Any], weight: Array | None) -> Data:
    columns = (x, y.astype(np.float32), domain.astype(np.int64), stratum.astype(np.int64))
    inputs, label, domains, strata = map(torch.from_numpy, columns)
    weights = None if weight is None else torch.from_numpy(weight)
    return make_data(inputs, label, domains, task="binary", stratum=strata, weight=weights)
