"""`rpo bench cmnist`: all classification methods on Colored-MNIST."""

from typing import Annotated

import typer

from rpo.cli.bench.shared import (
    Asked,
    Correction,
    DryRun,
    Figures,
    Jobs,
    Json,
    Out,
    Page,
    Profile,
    Seeds,
    Selection,
    show,
)

Digits = Annotated[str, typer.Option(help="'mnist', or 'sklearn' for small digits that need no download.")]
FAMILY = {"mnist": "cmnist", "sklearn": "cdigits"}


def cmnist(
    settings: Annotated[str, typer.Option(help="Which of the settings 1 to 14, as 1,7,13; or all.")] = "1,7,13",
    methods: Annotated[str, typer.Option(help="'all', or 'main' for ERM, IRM, RPO and its controls.")] = "all",
    digits: Digits = "mnist",
    profile: Profile = "quick",
    seeds: Seeds = None,
    jobs: Jobs = None,
    out: Out = None,
    selection: Selection = "irm",
    correction: Correction = "none",
    dry_run: DryRun = False,
    figures: Figures = None,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Accuracy and AUC on Colored-MNIST with uneven quality, everybody tuned alike and to the paper's letter.

    'quick' takes five minutes on two cores; 'paper' has five seeds and all grids. Models are chosen by the smallest IRM
    penalty on validation rows, for validation risk prefers models that rely on colour. Every run is kept in --out as
    soon as it is done: the same command goes on where it stopped, and more --seeds add to what is there.

    [bold]Examples[/bold]

        rpo bench cmnist --digits sklearn

        rpo bench cmnist --profile paper --seeds 10

        rpo bench cmnist --profile paper --settings all --methods main --selection oracle
    """
    from rpo.experiments import cmnist as study

    extra = {"--settings": (settings, "1,7,13"), "--methods": (methods, "all"), "--digits": (digits, "mnist")}
    asked = Asked(
        "cmnist",
        profile,
        seeds,
        jobs,
        out,
        selection,
        study.RULE,
        correction,
        dry_run,
        figures,
        page,
        as_json,
        " ".join(f"{name} {value}" for name, (value, usual) in extra.items() if value != usual),
        FAMILY.get(digits, "cmnist"),
    )
    views = study.cmnist(
        profile, settings=settings, methods=methods, seeds=seeds, leave_one_out=asked.leave_one_out, digits=digits
    )
    show(asked, views)
