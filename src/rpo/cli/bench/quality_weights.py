"""`rpo bench quality-weights`: quality weights, every step off in turn, against their own controls."""

from typing import Annotated

import typer

from rpo.cli.bench.shared import Asked, command, show

Kinds = Annotated[
    str,
    typer.Option(
        help="Kinds of corruption: some of before, plain, after, clean, radon, digits, fresh, new, natural; or 'all'."
    ),
]

Methods = Annotated[str, typer.Option(help="'all', or 'main' to leave out the rows with one step off.")]


@command(without=("selection", "add", "plugin"), selection="formula", correction="holm")
def quality_weights(asked: Asked, kinds: Kinds = "all", methods: Methods = "all") -> None:
    """Rows weighed by the quality of their cell: what each step is worth, and whether the place of the weights pays.

    Cigar and Wage with noise in the labels of 10, 30 and 50 % of the cells, before or after the confounders follow them
    or without any; the same clean; Radon with counties held out; coloured digits; settings not looked at before.
    'quick' has five of the seeds that the scheme was chosen on, 'paper' 40 others. There is nothing to select.

    [bold]Examples[/bold]

        rpo bench quality-weights --kinds plain

        rpo bench quality-weights --profile paper --out out/quality-weights
    """
    from rpo.paper import quality_weights as study

    show(asked, study.quality_weights(asked.profile, seeds=asked.seeds, kinds=kinds, methods=methods))
