"""`rpo bench calibrated`: quality weights, every step off in turn, against their own controls."""

from typing import Annotated

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
    show,
)

Kinds = Annotated[str, typer.Option(help="Of corruption: some of before, plain, after, clean, radon, or 'all'.")]


def calibrated(
    kinds: Kinds = "all",
    profile: Profile = "quick",
    seeds: Seeds = None,
    jobs: Jobs = None,
    cluster: Cluster = None,
    out: Out = None,
    correction: Correction = "holm",
    dry_run: DryRun = False,
    figures: Figures = None,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Rows weighed by the quality of their cell: what each step is worth, and whether the place of the weights pays.

    Cigar and Wage with noise in the labels of 10, 30 and 50 % of the cells, before or after the confounders follow them
    or without any; the same clean; Radon with counties held out. 'quick' has the seeds that the scheme was chosen on,
    'paper' 30 others. Hyper-parameters are the same for all, so there is nothing to select.

    [bold]Examples[/bold]

        rpo bench calibrated --kinds plain

        rpo bench calibrated --profile paper --out out/calibrated
    """
    from rpo.experiments import calibrated as study

    asked = Asked(
        name="calibrated",
        profile=profile,
        seeds=seeds,
        jobs=jobs,
        cluster=cluster,
        out=out,
        selection="formula",
        usual_selection="formula",
        correction=correction,
        dry_run=dry_run,
        figures=figures,
        page=page,
        as_json=as_json,
        extra="" if kinds == "all" else f"--kinds {kinds}",
    )
    show(asked, study.calibrated(profile, seeds=seeds, kinds=kinds))
