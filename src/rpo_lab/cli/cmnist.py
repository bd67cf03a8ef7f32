"""`rpo bench cmnist`: all classification methods on Colored-MNIST."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from rpo_lab.cli.shared import Asked, command, show

Digits = Annotated[str, typer.Option(help="'mnist', or 'sklearn' for small digits that need no download.")]
FAMILY = {"mnist": "cmnist", "sklearn": "cdigits"}
RULE = "irm"  # validation risk prefers models that rely on colour


def family(own: Mapping[str, Any]) -> str:
    """Studies of the same digits share their runs."""
    return FAMILY.get(own["digits"], "cmnist")


@command(family=family, selection=RULE)
def cmnist(
    asked: Asked,
    settings: Annotated[str, typer.Option(help="Settings from 1 to 14, separated by commas, or 'all'.")] = "1,7,13",
    methods: Annotated[
        str, typer.Option(help="'all', or 'main' for ERM, IRM, V-REx, RPO, its halves and its controls.")
    ] = "all",
    digits: Digits = "mnist",
) -> None:
    """Compare accuracy and AUC on Colored-MNIST with uneven quality, as the paper does and with equal tuning for all.

    'quick' takes five minutes on two cores; 'paper' uses ten seeds of 500 steps and takes hours. Models are selected
    by the smallest IRM penalty on validation rows, because the validation risk prefers models that rely on colour.
    Each run is saved to --out when it finishes: the same command continues an interrupted study, and more --seeds add
    to it.

    [bold]Examples[/bold]

        rpo bench cmnist --digits sklearn

        rpo bench cmnist --profile quick --seeds 5

        rpo bench cmnist --settings all --methods main --selection oracle
    """
    from rpo_lab import cmnist as study

    views = study.cmnist(
        asked.profile,
        settings=settings,
        methods=methods,
        seeds=asked.seeds,
        leave_one_out=asked.leave_one_out,
        digits=digits,
    )
    show(asked, views)
