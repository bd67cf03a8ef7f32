"""`rpo bench cmnist`: all classification methods on Colored-MNIST."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from rpo.cli.bench.shared import (
    Asked,
    Cluster,
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
RULE = "irm"  # validation risk prefers models that rely on colour


def asked_of(name: str, own: Mapping[str, tuple[str, str]], digits: str, **options: Any) -> Asked:
    """What was asked of a study of Colored-MNIST; `own` are its own options, each with the value it usually has."""
    extra = " ".join(f"{option} {value}" for option, (value, usual) in own.items() if value != usual)
    given = {"selection": RULE, **options}
    return Asked(name=name, usual_selection=RULE, extra=extra, family=FAMILY.get(digits, "cmnist"), **given)


def cmnist(
    settings: Annotated[str, typer.Option(help="Which of the settings 1 to 14, as 1,7,13; or all.")] = "1,7,13",
    methods: Annotated[str, typer.Option(help="'all', or 'main' for ERM, IRM, RPO and its controls.")] = "all",
    digits: Digits = "mnist",
    profile: Profile = "quick",
    seeds: Seeds = None,
    jobs: Jobs = None,
    cluster: Cluster = None,
    out: Out = None,
    selection: Selection = RULE,
    correction: Correction = "none",
    dry_run: DryRun = False,
    figures: Figures = None,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Accuracy and AUC on Colored-MNIST with uneven quality, everybody tuned alike and to the paper's letter.

    'quick' takes five minutes on two cores; 'paper' has ten seeds of 500 steps
    and takes hours. Models are chosen by the smallest IRM penalty on validation
    rows, for validation risk prefers models that rely on colour. Every run is
    kept in --out as soon as it is done: the same command goes on where it
    stopped, and more --seeds add to what is there.

    [bold]Examples[/bold]

        rpo bench cmnist --digits sklearn

        rpo bench cmnist --profile quick --seeds 5

        rpo bench cmnist --settings all --methods main --selection oracle
    """
    from rpo.experiments import cmnist as study

    asked = asked_of(
        "cmnist",
        {"--settings": (settings, "1,7,13"), "--methods": (methods, "all"), "--digits": (digits, "mnist")},
        digits,
        profile=profile,
        seeds=seeds,
        jobs=jobs,
        cluster=cluster,
        out=out,
        selection=selection,
        correction=correction,
        dry_run=dry_run,
        figures=figures,
        page=page,
        as_json=as_json,
    )
    views = study.cmnist(
        profile, settings=settings, methods=methods, seeds=seeds, leave_one_out=asked.leave_one_out, digits=digits
    )
    show(asked, views)
