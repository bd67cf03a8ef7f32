"""`rpo bench quality-weights`: weights by the quality of cells, found by the network or judged, and their controls."""

from typing import Annotated

import typer

from rpo.cli.bench.shared import Asked, command, show

Kinds = Annotated[
    str,
    typer.Option(
        help="Kinds of corruption: some of before, plain, after, clean, radon, digits, fresh, new, natural; or 'all'."
    ),
]

Noisy = Annotated[str, typer.Option(help="Share of noisy cells in per cent: some of 10, 30, 50; or 'all'.")]
Methods = Annotated[str, typer.Option(help="'all', or 'main' for quality weights, their controls and IRM + lip.")]
First = Annotated[int | None, typer.Option(help="The first of the seeds. (default: 0, in 'paper' 500)")]


@command(without=("selection", "add", "plugin"), selection="formula", correction="holm")
def quality_weights(
    asked: Asked, kinds: Kinds = "all", noisy: Noisy = "all", methods: Methods = "all", first_seed: First = None
) -> None:
    """Rows weighed by the quality of their cell, by a method of its own or by `rpo.quality`: does their place pay?

    Cigar and Wage with noise in the labels of 10, 30 and 50 % of the cells, before or after the confounders follow them
    or without any; the same clean; Radon with counties held out; coloured digits; settings not looked at before.
    'quick' has five seeds that were looked at, 'paper' 30 others. There is nothing to select.

    [bold]Examples[/bold]

        rpo bench quality-weights --kinds plain --noisy 50

        rpo bench quality-weights --kinds before,plain --methods main --profile paper --out out/quality-weights
    """
    from rpo.paper import quality_weights as study

    views = study.quality_weights(
        asked.profile, seeds=asked.seeds, first_seed=first_seed, kinds=kinds, noisy=noisy, methods=methods
    )
    show(asked, views)
