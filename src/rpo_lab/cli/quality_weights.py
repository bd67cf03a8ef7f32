"""`rpo bench quality-weights`: rows weighted by their judged quality, and the controls of that."""

from typing import Annotated

import typer

from rpo_lab.cli.shared import Asked, command, show

Kinds = Annotated[
    str,
    typer.Option(
        help="Kinds of corruption, separated by commas: before, plain, after, clean, radon, digits, fresh, new, "
        "natural; or 'all'."
    ),
]

Noisy = Annotated[str, typer.Option(help="Percentages of noisy cells, separated by commas: 10, 30, 50; or 'all'.")]
Methods = Annotated[str, typer.Option(help="'all', or 'main' for quality weights, their controls and IRM + lip.")]
First = Annotated[int | None, typer.Option(help="First seed. (default: 0, or 500 for 'paper')")]


@command(without=("selection", "add", "plugin"), selection="formula", correction="holm")
def quality_weights(
    asked: Asked, kinds: Kinds = "all", noisy: Noisy = "all", methods: Methods = "all", first_seed: First = None
) -> None:
    """Compare quality weights with permuted and uniform ones: does it matter which rows count less?

    On Cigar and Wage with label noise in 10, 30 and 50 % of the cells (added before or after the confounders are built
    from the labels, or without confounders) and without noise; on Radon with counties held out; on coloured digits; and
    on settings that were kept for confirmation. 'quick' uses five seeds from development, 'paper' 30 fresh ones.

    [bold]Examples[/bold]

        rpo bench quality-weights --kinds plain --noisy 50

        rpo bench quality-weights --kinds before,plain --methods main --profile paper --out out/quality-weights
    """
    from rpo_lab import quality_weights as study

    views = study.quality_weights(
        asked.profile, seeds=asked.seeds, first_seed=first_seed, kinds=kinds, noisy=noisy, methods=methods
    )
    show(asked, views)
